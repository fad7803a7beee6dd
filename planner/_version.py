"""A coefficient version: certified tables, each with its domain; what a runtime is scored with."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner._domain import Domain, RuntimeFacts
from planner._facts import ScoringFacts
from planner._layout import Layout
from planner._score import Coefficients, hand_set_contributions, term_contributions
from planner._terms import TABLE_WORK_PER_US, WORK_PER_US

if TYPE_CHECKING:
    from planner.memory._learned import LearnedMemory

HAND_SET_TABLE = "hand-set"

_warned: set[tuple[str, RuntimeFacts]] = set()


class OutsideDomainWarning(UserWarning):
    """A runtime that no table of the loaded version was measured on; it is scored by version 1."""


@dataclass(frozen=True, slots=True)
class Table:
    """A certified coefficient table.

    Args:
        table_id: its name.
        coefficients: integer milli-microseconds per unit, by term name.
        digest: sha256 of the coefficients.
        domain: what it was measured on.
        certificate_digest: sha256 of the certificate's canonical JSON.
    """

    table_id: str
    coefficients: Coefficients
    digest: str
    domain: Domain
    certificate_digest: str


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a runtime's layouts are scored with.

    Args:
        table_id: the admitting table, ``hand-set`` for version 1.
        coefficients: the table's, None for version 1.
        facts: the runtime's.
        version: the number of the version that was asked, None for a file.
        version_digest: its digest.
        refusals: why each table did not admit the runtime, by table id; empty where one did.
    """

    table_id: str
    coefficients: Coefficients | None
    facts: ScoringFacts
    version: int | None
    version_digest: str
    refusals: tuple[tuple[str, str], ...] = ()

    def microseconds(self, work: int) -> float:
        """A score's work as microseconds."""
        return work / (WORK_PER_US if self.coefficients is None else TABLE_WORK_PER_US)

    def contributions_us(self, layout: Layout) -> dict[str, float]:
        """Predicted microseconds of a layout by term; version 1 has parts of its own."""
        if self.coefficients is None:
            works = hand_set_contributions(layout.features, self.facts, layout.mask.bit_count())
        else:
            works = term_contributions(layout.features, self.facts, self.coefficients)
        return {name: self.microseconds(work) for name, work in works.items()}

    def predicted_us(self, layout: Layout) -> float:
        """Predicted microseconds of a layout, as far as the terms count them."""
        return sum(self.contributions_us(layout).values())


@dataclass(frozen=True, slots=True)
class CoefficientVersion:
    """An immutable bundle of certified tables; without tables it is version 1, the hand-set score.

    Args:
        version: its number in the registry, None where it came from a file.
        digest: sha256 of the bundle's canonical JSON.
        tables: in the bundle's order.
        description: for people.
        source: where it was read from.
        memory: how it prices memory; None where it says nothing of it.
    """

    version: int | None
    digest: str
    tables: tuple[Table, ...]
    description: str
    source: str
    memory: "LearnedMemory | None" = None

    def select_scoring(self, runtime: RuntimeFacts) -> Scoring:
        """Return the first table that admits the runtime, else version 1.

        Falling back warns with ``OutsideDomainWarning``, once a process for each version and runtime.
        """
        refusals: list[tuple[str, str]] = []
        for table in self.tables:
            refusal = table.domain.refusal(runtime)
            if refusal is None:
                return Scoring(table.table_id, table.coefficients, runtime.scoring, self.version, self.digest)
            refusals.append((table.table_id, refusal))
        self._warn(runtime, refusals)
        return Scoring(HAND_SET_TABLE, None, runtime.scoring, self.version, self.digest, tuple(refusals))

    def _warn(self, runtime: RuntimeFacts, refusals: list[tuple[str, str]]) -> None:
        if not refusals or (self.digest, runtime) in _warned:
            return
        _warned.add((self.digest, runtime))
        why = "; ".join(f"{table}: {refusal}" for table, refusal in refusals)
        warnings.warn(
            f"{self.source}: outside every measured domain, so layouts are scored by version 1 ({why}); "
            "measure a campaign on this setting to get a table for it",
            OutsideDomainWarning,
            stacklevel=3,
        )
