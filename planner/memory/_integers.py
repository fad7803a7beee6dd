"""Whole-number arithmetic that never rounds a byte away."""


def ceil_div(number: int, divisor: int) -> int:
    """`number / divisor` rounded up; the divisor is positive."""
    return -(-number // divisor)


def with_margin(count: int) -> int:
    """A count and a tenth, rounded up."""
    return ceil_div(count * 11, 10)
