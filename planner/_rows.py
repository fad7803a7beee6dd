"""Rows as a caller has them, made into integer arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from planner._arrays import Numbers, Tokens


def _as_tokens(row: Any, index: int) -> Numbers:
    try:
        tokens = np.asarray(row)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"row {index} is no sequence of tokens on the CPU: {error}") from error
    if tokens.ndim != 1:
        raise ValueError(f"row {index} must have one dimension, got shape {tokens.shape}")
    if not tokens.size:
        raise ValueError(f"row {index} is empty; leave it out or give it at least one token")
    if tokens.dtype.kind not in "iu":
        raise ValueError(f"row {index} must hold integers, got {tokens.dtype}")
    return tokens


def _as_int64(tokens: Numbers, index: int) -> Tokens:
    if tokens.dtype == np.uint64 and int(tokens.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"row {index} holds a token above 2**63 - 1")
    return tokens.astype(np.int64, copy=False)


def token_rows(rows: Sequence[Any]) -> list[Tokens]:
    """One integer array a row, all of one type; numpy, CPU tensors and lists are taken, nothing is copied.

    Raises:
        ValueError: no rows, an empty row, a row of other than one dimension, or tokens that are no integers.
    """
    if not len(rows):
        raise ValueError("there are no rows; give at least one")
    arrays = [_as_tokens(row, index) for index, row in enumerate(rows)]
    kinds = {array.dtype for array in arrays}
    if len(kinds) == 1 and next(iter(kinds)).kind == "i":
        return arrays
    return [_as_int64(array, index) for index, array in enumerate(arrays)]
