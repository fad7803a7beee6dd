"""Layoutledger's harness."""
