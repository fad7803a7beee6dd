"""Layoutledger's planner."""
