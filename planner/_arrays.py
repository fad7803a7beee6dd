"""Array types; spelled out, because ``numpy.typing`` takes as long to load as the rest of a floor."""

from typing import Any

import numpy as np

Integers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Tokens = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
Numbers = np.ndarray[Any, np.dtype[Any]]
"""64-bit integers, or Python integers in an array of objects."""
