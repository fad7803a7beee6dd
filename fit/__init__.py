"""Layoutledger's fit."""
