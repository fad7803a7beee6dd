"""The command line: one file a group of verbs."""

from tracker.cli._main import cli, main

__all__ = ["cli", "main"]
