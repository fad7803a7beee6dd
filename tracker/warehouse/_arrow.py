"""pyarrow, which has no type stubs: the one place where its names enter."""

from typing import Any

import pyarrow  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

arrow: Any = pyarrow
parquet: Any = pyarrow.parquet

Table = Any
"""A `pyarrow.Table`."""
