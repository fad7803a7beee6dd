"""Is the promoted version still good: its tables on the later evidence, by the registered gates."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields

from fit import FitCell, gate_verdicts, judge, judge_hand_set
from planner import (
    Coefficients,
    CoefficientVersion,
    DeviceClass,
    ModelGeometry,
    OutsideDomainWarning,
    ParallelShape,
    RuntimeFacts,
)
from schemas import CertifiedCell, Gates, GateVerdict, IncompleteEvidenceError, Metrics, NotFoundError
from tracker._fitting import fit_cells
from tracker._ledger import Ledger
from tracker._versions import load_version
from tracker.mlflow_store import open_existing, tracking_uri

CHAMPION = "champion"


@dataclass(frozen=True, slots=True)
class TableVerdict:
    """One table of a version on the cells of its domain.

    Args:
        table_id: its name; `hand-set` for version 1 and for cells outside every table's domain.
        cells: keys of the cells that it scores.
        before: its metrics on the earlier evidence of those cells; None where there is none.
        after: its metrics on the later evidence.
        gates: the later campaign's gates, on its held-out cells among these, on all where none is held out;
            none for cells outside every domain, for which no version vouches.
        outside: why each table refused the cells; empty where this one is in charge of them.
    """

    table_id: str
    cells: tuple[str, ...]
    before: Metrics | None
    after: Metrics
    gates: tuple[GateVerdict, ...]
    outside: str = ""

    @property
    def passed(self) -> bool:
        """Whether every gate passed."""
        return all(gate.passed for gate in self.gates)


@dataclass(frozen=True, slots=True)
class VersionVerdict:
    """A version on the later evidence.

    Args:
        version: its number.
        alias: by which it was found; None where it was named by its number.
        tables: each table that scores one of the cells.
    """

    version: int
    alias: str | None
    tables: tuple[TableVerdict, ...]

    @property
    def passed(self) -> bool:
        """Whether at least one table was judged, and every judged one passed its gates."""
        judged = [table for table in self.tables if table.gates]
        return bool(judged) and all(table.passed for table in judged)


def promoted_version(ledger: Ledger) -> CoefficientVersion | None:
    """The version that the alias `champion` names; None where nothing was promoted.

    Raises:
        StoreUnavailableError: the registry does not answer.
        CorruptionError: a digest in it does not agree.
    """
    if open_existing(tracking_uri(ledger.store)) is None:
        return None
    try:
        return load_version(ledger, alias=CHAMPION)
    except NotFoundError:
        return None


def judge_version(
    version: CoefficientVersion,
    alias: str | None,
    before: Sequence[CertifiedCell],
    after: Sequence[CertifiedCell],
    gates: Gates,
) -> VersionVerdict:
    """Judge every table of a version by the production score.

    Args:
        version: what a trainer would load.
        alias: by which it was found.
        before: the earlier evidence.
        after: the later evidence.
        gates: the later campaign's limits.

    Raises:
        IncompleteEvidenceError: there is no later cell.
    """
    if not after:
        raise IncompleteEvidenceError("the later campaign has no measured cell; there is nothing to judge by")
    groups: dict[tuple[str, str], list[CertifiedCell]] = {}
    tables: dict[str, Coefficients | None] = {}
    for cell in after:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideDomainWarning)
            scoring = version.select_scoring(runtime_facts(cell))
        tables[scoring.table_id] = scoring.coefficients
        why = "; ".join(f"{table}: {refusal}" for table, refusal in scoring.refusals)
        groups.setdefault((scoring.table_id, why), []).append(cell)
    earlier = {cell.key: cell for cell in fit_cells(before)}
    return VersionVerdict(
        version=version.version or 0,
        alias=alias,
        tables=tuple(
            _judge(table_id, why, cells, tables[table_id], earlier, gates)
            for (table_id, why), cells in sorted(groups.items())
        ),
    )


def runtime_facts(cell: CertifiedCell) -> RuntimeFacts:
    """The running model that a measured cell was."""
    shape, print_ = cell.identity.shape, cell.fingerprint
    return RuntimeFacts(
        device=DeviceClass(print_.device_class.capability, print_.device_class.memory),
        dtype=print_.dtype,
        geometry=ModelGeometry(
            **{field.name: getattr(print_.geometry, field.name) for field in fields(ModelGeometry)}
        ),
        shape=ParallelShape(shape.tp, shape.cp, shape.ep, shape.etp),
        layers=cell.facts.layers,
        gdn_layers=cell.facts.gdn_layers,
    )


def _judge(
    table_id: str,
    why: str,
    cells: Sequence[CertifiedCell],
    coefficients: Coefficients | None,
    earlier: dict[str, FitCell],
    gates: Gates,
) -> TableVerdict:
    later = fit_cells(cells)
    held = tuple(fitted for fitted, cell in zip(later, cells, strict=True) if cell.held_out)
    before = [earlier[cell.key] for cell in later if cell.key in earlier]
    return TableVerdict(
        table_id=table_id,
        cells=tuple(cell.key for cell in later),
        before=_metrics(before, coefficients) if before else None,
        after=_metrics(later, coefficients),
        gates=() if why else gate_verdicts(held or later, coefficients, gates),
        outside=why,
    )


def _metrics(cells: Sequence[FitCell], coefficients: Coefficients | None) -> Metrics:
    return judge_hand_set(cells) if coefficients is None else judge(cells, coefficients)
