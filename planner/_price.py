"""A table, or version 1, compiled for given facts: prices of many layouts by the same integers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner._facts import SEGMENT_THRESHOLDS, ScoringFacts, threshold_index
from planner._measure import Measures
from planner._score import Coefficients, check_coefficients, hand_set_rates
from planner._terms import TERMS, Quantity, tiny_length

LARGEST_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TokenRate:
    """``factor * ((packed_tokens * numerator + rounding) // denominator)``."""

    factor: int
    numerator: int
    denominator: int = 1
    rounding: int = 0

    def price(self, packed_tokens: Any) -> Any:
        """Work of so many packed tokens; an integer or an array of them."""
        return self.factor * ((packed_tokens * self.numerator + self.rounding) // self.denominator)


@dataclass(frozen=True, slots=True)
class Price:
    """The work of a layout as a function of its measures; every rate is an integer of 0 or more.

    Args:
        tokens: floored rates of packed tokens, added up.
        tiny: a segment shorter than ``tiny_below`` tokens.
        segment: any segment.
        decision: a shared decision.
        first_level: the first level past the roots'.
        further_level: each level past that.
        tiny_below: length in tokens.
    """

    tokens: tuple[TokenRate, ...]
    tiny: int
    segment: int
    decision: int
    first_level: int
    further_level: int
    tiny_below: int

    def work_of(self, packed: int, tiny: int, segments: int, depth: int, decisions: int) -> int:
        """Work of one layout, in Python integers."""
        return (
            sum(rate.price(packed) for rate in self.tokens)
            + self.tiny * tiny
            + self.segment * segments
            + self.decision * decisions
            + self.levels(depth)
        )

    def levels(self, depth: int) -> int:
        """Work of a layout's levels."""
        levels = max(0, depth - 1)
        return self.first_level * min(1, levels) + self.further_level * max(0, levels - 1)

    def work(self, measures: Measures) -> Any:
        """Work of many layouts: int64 where nothing can leave its range, else an array of Python integers."""
        columns: list[Any] = [getattr(measures, name) for name in Measures.__dataclass_fields__]
        if not self._fits_int64(*(int(column.max(initial=0)) for column in columns)):
            columns = [column.astype(object) for column in columns]
        packed, tiny, segments, depth, decisions = columns
        levels = np.maximum(depth - 1, 0)
        work = self.tiny * tiny + self.segment * segments + self.decision * decisions
        work += self.first_level * np.minimum(levels, 1) + self.further_level * np.maximum(levels - 1, 0)
        for rate in self.tokens:
            work += rate.price(packed)
        return work

    def _fits_int64(self, packed: int, tiny: int, segments: int, depth: int, decisions: int) -> bool:
        """Every rate is 0 or more, so the greatest measures bound every sum and product."""
        rates = (self.tiny, self.segment, self.decision, self.first_level, self.further_level)
        numerators = (rate.numerator * packed + rate.rounding for rate in self.tokens)
        bound = self.work_of(packed, tiny, segments, depth, decisions)
        return max(bound, *rates, *numerators, *(rate.factor for rate in self.tokens)) <= LARGEST_INT64


def compile_price(facts: ScoringFacts, coefficients: Coefficients | None) -> Price:
    """Compile a table, or version 1 for None.

    Raises:
        ValueError: a coefficient that is no term, negative or no integer.
    """
    tiny_below = SEGMENT_THRESHOLDS[threshold_index(tiny_length(facts))]
    if coefficients is None:
        rates = hand_set_rates(facts)
        tokens = (
            TokenRate(1, rates.token),
            TokenRate(rates.token_per_rank, 1, facts.cp_size, facts.cp_size - 1),
        )
        return Price(
            tokens, 0, rates.segment, rates.decision, rates.first_level, rates.further_level, tiny_below
        )
    check_coefficients(coefficients)
    tokens = ()
    whole = {Quantity.TINY_SEGMENTS: 0, Quantity.LEVELS: 0}
    for name, coefficient in coefficients.items():
        term = TERMS[name]
        numerator, denominator = term.rate(facts)
        if term.quantity is Quantity.PACKED_TOKENS:
            tokens += (TokenRate(coefficient, numerator, denominator),) if coefficient * numerator else ()
        elif denominator == 1:
            whole[term.quantity] += coefficient * numerator
        else:
            raise ValueError(f"term {name} has a fraction; only terms of packed tokens may")
    level = whole[Quantity.LEVELS]
    return Price(tokens, whole[Quantity.TINY_SEGMENTS], 0, 0, level, level, tiny_below)
