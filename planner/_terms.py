"""The integer terms of the cost model, by name (design, section 6).

Every term counts work units of one quantity of a layout: ``quantity * numerator // denominator``, where the
fraction depends on the runtime's facts alone. A term is a function of features and facts; its parts are open
so that a table can be compiled once and then applied to many layouts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from planner._facts import LayoutFeatures, ScoringFacts

WORK_PER_US: Final = 1024
"""Work units in a microsecond."""

TABLE_WORK_PER_US: Final = WORK_PER_US * 1000
"""The same under a coefficient table, whose integers are milli-microseconds."""

TINY_TOKENS_PER_RANK: Final = 128
"""A segment shorter than this many tokens per context-parallel rank is tiny."""

Rate = Callable[[ScoringFacts], tuple[int, int]]


class Quantity(Enum):
    """What a term counts."""

    PACKED_TOKENS = "packed_tokens"
    TINY_SEGMENTS = "tiny_segments"
    LEVELS = "levels"

    def of(self, features: LayoutFeatures, facts: ScoringFacts) -> int:
        """The quantity's value for one layout."""
        match self:
            case Quantity.PACKED_TOKENS:
                return features.packed_tokens
            case Quantity.TINY_SEGMENTS:
                return features.below(tiny_length(facts))
            case Quantity.LEVELS:
                return features.levels


def tiny_length(facts: ScoringFacts) -> int:
    """Length in tokens below which a segment counts as tiny."""
    return TINY_TOKENS_PER_RANK * facts.cp_size


@dataclass(frozen=True, slots=True)
class Term:
    """One term: a quantity and its rate in work units, floored."""

    quantity: Quantity
    rate: Rate

    def __call__(self, features: LayoutFeatures, facts: ScoringFacts) -> int:
        """Work units of the layout, floored to an integer."""
        numerator, denominator = self.rate(facts)
        return self.quantity.of(features, facts) * numerator // denominator


def _token_per_rank(facts: ScoringFacts) -> tuple[int, int]:
    return facts.layers * WORK_PER_US, facts.tp_size * facts.cp_size


def _token_cp_exchange(facts: ScoringFacts) -> tuple[int, int]:
    return facts.layers * (facts.cp_size - 1) * WORK_PER_US, facts.cp_size


def _token_tp_collective(facts: ScoringFacts) -> tuple[int, int]:
    return facts.layers * (facts.tp_size - 1) * WORK_PER_US, facts.tp_size


def _gdn_token_per_rank(facts: ScoringFacts) -> tuple[int, int]:
    return facts.gdn_layers * WORK_PER_US, facts.tp_size * facts.cp_size


def _attention_token_cp_exchange(facts: ScoringFacts) -> tuple[int, int]:
    return facts.attention_layers * (facts.cp_size - 1) * WORK_PER_US, facts.cp_size


def _per_layer(facts: ScoringFacts) -> tuple[int, int]:
    return facts.layers * WORK_PER_US, 1


def _cp_per_layer(facts: ScoringFacts) -> tuple[int, int]:
    return facts.layers * (facts.cp_size - 1) * WORK_PER_US, 1


def _tp_per_layer(facts: ScoringFacts) -> tuple[int, int]:
    return facts.layers * (facts.tp_size - 1) * WORK_PER_US, 1


def _per_gdn_layer(facts: ScoringFacts) -> tuple[int, int]:
    return facts.gdn_layers * WORK_PER_US, 1


def _tp_per_gdn_layer(facts: ScoringFacts) -> tuple[int, int]:
    return facts.gdn_layers * (facts.tp_size - 1) * WORK_PER_US, 1


TERMS: Final[Mapping[str, Term]] = MappingProxyType(
    {
        "token_per_rank": Term(Quantity.PACKED_TOKENS, _token_per_rank),
        "token_cp_exchange": Term(Quantity.PACKED_TOKENS, _token_cp_exchange),
        "token_tp_collective": Term(Quantity.PACKED_TOKENS, _token_tp_collective),
        "gdn_token_per_rank": Term(Quantity.PACKED_TOKENS, _gdn_token_per_rank),
        "attention_token_cp_exchange": Term(Quantity.PACKED_TOKENS, _attention_token_cp_exchange),
        "tiny_segment_per_layer": Term(Quantity.TINY_SEGMENTS, _per_layer),
        "level_cp_per_layer": Term(Quantity.LEVELS, _cp_per_layer),
        "level_tp_per_layer": Term(Quantity.LEVELS, _tp_per_layer),
        "gdn_level": Term(Quantity.LEVELS, _per_gdn_layer),
        "gdn_level_tp": Term(Quantity.LEVELS, _tp_per_gdn_layer),
    }
)
"""The terms in their canonical order; a coefficient table names those that it uses."""
