"""The production score: the integer that layouts are ordered by, and version 1, the hand-set fallback."""

from collections.abc import Mapping
from dataclasses import dataclass

from planner._facts import LayoutFeatures, ScoringFacts
from planner._terms import TERMS, WORK_PER_US

Coefficients = Mapping[str, int]
"""Milli-microseconds per unit, by term name."""

Score = tuple[int, int, int, int]
"""Work, packed tokens, segments, levels; compared as a tuple, the least is best."""

Found = tuple[int, Score]
"""What a search returns: the mask of the shared decisions, and its score."""


def check_coefficients(coefficients: Coefficients) -> None:
    """Refuse a table that no score can be computed from.

    Raises:
        ValueError: a name that is no term, or a coefficient that is negative or no integer.
        TypeError: what is no mapping.
    """
    try:
        entries = coefficients.items()
    except AttributeError as error:
        raise TypeError(f"coefficients map terms to integers, got {coefficients!r:.80}") from error
    for name, value in entries:
        if name not in TERMS:
            raise ValueError(f"{name!r} is no term; the terms are {', '.join(TERMS)}")
        if type(value) is not int or value < 0:
            raise ValueError(f"coefficient {name} must be an integer of 0 or more, got {value!r}")


def term_contributions(
    features: LayoutFeatures, facts: ScoringFacts, coefficients: Coefficients
) -> dict[str, int]:
    """Work of each term that the table uses, in 1/1024 milli-microseconds; their sum is the layout's work."""
    return {
        name: coefficients[name] * term(features, facts)
        for name, term in TERMS.items()
        if name in coefficients
    }


@dataclass(frozen=True, slots=True)
class HandSetRates:
    """The rates of version 1 in 1/1024 microseconds; ``token_per_rank`` is of a rank's tokens, rounded up."""

    token: int
    token_per_rank: int
    segment: int
    decision: int
    first_level: int
    further_level: int


def hand_set_rates(facts: ScoringFacts) -> HandSetRates:
    """Return the rates of version 1 (design, section 6: kept exactly, blind to tensor parallelism)."""
    per_segment = 96 + 32 * facts.cp_size
    level_layers = facts.layers if facts.uses_gdn else 0
    return HandSetRates(
        token=facts.layers * WORK_PER_US,
        token_per_rank=per_segment,
        segment=per_segment * WORK_PER_US,
        decision=(64 + 32 * facts.cp_size) * WORK_PER_US,
        first_level=level_layers * 768 * WORK_PER_US,
        further_level=level_layers * 256 * WORK_PER_US,
    )


def hand_set_contributions(
    features: LayoutFeatures, facts: ScoringFacts, shared_decisions: int
) -> dict[str, int]:
    """Parts of the version-1 work by name, in 1/1024 microseconds."""
    rates = hand_set_rates(facts)
    return {
        "token": rates.token * features.packed_tokens,
        "token_per_rank": rates.token_per_rank * -(-features.packed_tokens // facts.cp_size),
        "segment": rates.segment * features.segment_count,
        "decision": rates.decision * shared_decisions,
        "first_level": rates.first_level * min(1, features.levels),
        "further_level": rates.further_level * max(0, features.levels - 1),
    }


def hand_set_work(features: LayoutFeatures, facts: ScoringFacts, shared_decisions: int) -> int:
    """Version-1 work of a layout, in 1/1024 microseconds.

    Args:
        features: the layout's features.
        facts: the runtime; tensor parallelism and the number of GDN layers play no part.
        shared_decisions: how many decisions the layout shares. Where a record does not list them, it is
            the layout's ``segment_count`` less that of ``no_sharing``, provided every row keeps a tail.
    """
    return sum(hand_set_contributions(features, facts, shared_decisions).values())


def score_features(
    features: LayoutFeatures,
    facts: ScoringFacts,
    coefficients: Coefficients | None,
    *,
    shared_decisions: int | None = None,
) -> Score:
    """The production score of a layout from its features alone.

    Args:
        features: the layout's features.
        facts: the runtime.
        coefficients: integer milli-microseconds per unit by term name, or None for version 1.
        shared_decisions: needed by version 1, read by no fitted term.

    Returns:
        ``(work, packed_tokens, segment_count, max_depth)``. Work is in 1/1024 milli-microseconds under a
        table and in 1/1024 microseconds under version 1: scores of different tables do not compare.

    Raises:
        ValueError: version 1 without the number of shared decisions, or a term that does not exist.
    """
    if coefficients is None:
        if shared_decisions is None:
            raise ValueError("version 1 needs shared_decisions, the number of shared decisions")
        work = hand_set_work(features, facts, shared_decisions)
    else:
        work = sum(_work(name, value, features, facts) for name, value in coefficients.items())
    return work, features.packed_tokens, features.segment_count, features.max_depth


def _work(name: str, coefficient: int, features: LayoutFeatures, facts: ScoringFacts) -> int:
    try:
        return coefficient * TERMS[name](features, facts)
    except KeyError:
        raise ValueError(f"{name!r} is no term; the terms are {', '.join(TERMS)}") from None
