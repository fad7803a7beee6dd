"""`python -m tracker` is the `layoutledger` program."""

from tracker.cli import main

main()
