"""Layoutledger's tracker."""
