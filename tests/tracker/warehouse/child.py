"""Refreshes the warehouse of the ledger named on its command line; the test has it killed on the way."""

import sys
from pathlib import Path

from tracker.warehouse import Warehouse

print(Warehouse(Path(sys.argv[1])).refresh())
