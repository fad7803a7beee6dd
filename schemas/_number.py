"""Numbers in what people write: `true` is none, though Python counts it as 1."""

from typing import Annotated, Any

from pydantic import BeforeValidator


def _no_truth(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a number is needed, not true or false")
    return value


NO_TRUTH = BeforeValidator(_no_truth)
Integer = Annotated[int, NO_TRUTH]
Number = Annotated[float, NO_TRUTH]
