"""Numbers that a report shows beside the recorded ones: counts, spreads, rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

from schemas import CellJudged, GateVerdict, Metrics
from tracker.certificate import certificate_name
from tracker.report._facts import FitFacts, ReportFacts

MEASURED = ("completed", "imported")

TERM_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "token_per_rank": ("computing a packed token", "token × layer ÷ (tp·cp)"),
        "token_cp_exchange": ("exchanging a token between context ranks", "token × layer × (cp−1) ÷ cp"),
        "token_tp_collective": ("collecting a token over tensor ranks", "token × layer × (tp−1) ÷ tp"),
        "gdn_token_per_rank": (
            "a packed token in a recurrent (GDN) layer",
            "token × GDN layer ÷ (tp·cp)",
        ),
        "attention_token_cp_exchange": (
            "exchanging a token in an attention layer",
            "token × attention layer × (cp−1) ÷ cp",
        ),
        "tiny_segment_per_layer": ("a segment below 128·cp tokens", "segment × layer"),
        "level_cp_per_layer": ("a further level, context ranks", "level × layer × (cp−1)"),
        "level_tp_per_layer": ("a further level, tensor ranks", "level × layer × (tp−1)"),
        "gdn_level": ("a further level in a recurrent (GDN) layer", "level × GDN layer"),
        "gdn_level_tp": ("the same, tensor ranks", "level × GDN layer × (tp−1)"),
    }
)
"""What a term prices, and its unit."""

GATE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "pairwise": "Pairs ordered right, ≥",
        "regret-median": "Median regret, ≤",
        "regret-p95": "p95 regret, ≤",
        "regret-max": "Largest regret, ≤",
        "clear-winner": "Largest regret where one clearly wins, ≤",
    }
)
"""What a gate limits, up to its limit."""


@dataclass(frozen=True, slots=True)
class CellRow:
    """A cell beside what follows from its candidates.

    Args:
        cell: as it was told.
        fastest: label of the fastest candidate, with its milliseconds; None where nothing was measured.
        slowest_pct: how far the slowest lies above it.
        spreads: median and largest spread of a candidate, percent.
        unusable: its samples that do not count, in words.
    """

    cell: CellJudged
    fastest: str | None
    fastest_ms: float | None
    slowest_pct: float | None
    spreads: tuple[float, float] | None
    unusable: str


def cell_rows(cells: Sequence[CellJudged]) -> list[CellRow]:
    """A row a cell, in the order of the cells."""
    return [_row(cell) for cell in cells]


def _row(cell: CellJudged) -> CellRow:
    unusable = ", ".join(f"{count} {reason}" for reason, count in sorted(cell.unusable.items()))
    if not cell.candidates:
        return CellRow(cell, None, None, None, None, unusable)
    ordered = sorted(cell.candidates, key=lambda each: (each.median_us, each.label))
    spreads = [each.spread_pct for each in cell.candidates]
    return CellRow(
        cell,
        ordered[0].label,
        ordered[0].median_us / 1000,
        (ordered[-1].median_us / ordered[0].median_us - 1) * 100 if ordered[0].median_us else 0.0,
        (median(spreads), max(spreads)),
        unusable,
    )


@dataclass(frozen=True, slots=True)
class Totals:
    """The campaign in numbers.

    Args:
        states: how many expected cells are in each state.
        expected, unexpected, held_out, measured, excluded: numbers of cells.
        candidates, usable: of the measured cells.
        unusable: samples that do not count, by reason.
        spread_pct: median spread over all candidates; None without any.
        failures: failed attempts, resolved ones too.
        steadiness_told: of how many cells it is known whether they drifted or stalled.
        drifting: cells whose times changed over their rounds by more than chance and a tie.
        stalls: usable samples far above their candidate's median.
    """

    states: Mapping[str, int]
    expected: int
    unexpected: int
    held_out: int
    measured: int
    excluded: int
    candidates: int
    usable: int
    unusable: Mapping[str, int]
    spread_pct: float | None
    failures: int
    steadiness_told: int
    drifting: int
    stalls: int

    @property
    def complete(self) -> bool:
        """Whether every expected cell is measured or excluded."""
        return self.measured + self.excluded == self.expected


def totals(cells: Sequence[CellJudged]) -> Totals:
    """Counts over the cells."""
    expected = [cell for cell in cells if cell.expected]
    states = Counter(str(cell.state) for cell in expected)
    unusable = Counter[str]()
    for cell in cells:
        unusable.update(cell.unusable)
    spreads = [each.spread_pct for cell in cells for each in cell.candidates]
    return Totals(
        states=dict(sorted(states.items())),
        expected=len(expected),
        unexpected=len(cells) - len(expected),
        held_out=sum(cell.held_out for cell in expected),
        measured=sum(states[state] for state in MEASURED),
        excluded=states["excluded"],
        candidates=sum(len(cell.candidates) for cell in cells),
        usable=sum(cell.usable for cell in cells),
        unusable=dict(sorted(unusable.items())),
        spread_pct=median(spreads) if spreads else None,
        failures=sum(len(cell.failures) for cell in cells),
        steadiness_told=sum(cell.drift_pct is not None for cell in cells),
        drifting=sum(bool(cell.drifting) for cell in cells),
        stalls=sum(cell.stalls or 0 for cell in cells),
    )


def devices(cells: Sequence[CellJudged]) -> list[tuple[str, str, str, int]]:
    """Device, its class, number type, and how many measured cells ran there."""
    found = Counter(
        (
            print_.device,
            f"{print_.device_class.capability}, {print_.device_class.memory}",
            print_.dtype,
        )
        for cell in cells
        if (print_ := cell.fingerprint) is not None
    )
    return [(*key, count) for key, count in sorted(found.items())]


def topology(cells: Sequence[CellJudged]) -> list[tuple[str, str, int, int, int, int]]:
    """Model, parallel shape, layers; expected, measured and held-out cells of each."""
    groups: dict[tuple[str, str, int], list[CellJudged]] = {}
    for cell in cells:
        if cell.identity is not None:
            key = (cell.identity.model, cell.identity.shape.label(), cell.identity.layers)
            groups.setdefault(key, []).append(cell)
    return [
        (
            *key,
            len(members),
            sum(cell.state in MEASURED for cell in members),
            sum(cell.held_out for cell in members),
        )
        for key, members in sorted(groups.items())
    ]


@dataclass(frozen=True, slots=True)
class GateGrid:
    """Gates across, groups downwards; None where a group lacks a gate."""

    gates: tuple[str, ...]
    limits: Mapping[str, float]
    rows: tuple[tuple[str, str, tuple[GateVerdict | None, ...]], ...]
    failed: tuple[GateVerdict, ...]


def gate_grid(verdicts: Sequence[GateVerdict]) -> GateGrid:
    """The verdicts as a table, groups in the order in which they were judged."""
    gates = tuple(dict.fromkeys(verdict.gate for verdict in verdicts))
    groups: dict[str, dict[str, GateVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.group, {})[verdict.gate] = verdict
    return GateGrid(
        gates,
        {verdict.gate: verdict.limit for verdict in verdicts},
        tuple(
            (group, next(iter(found.values())).detail, tuple(found.get(gate) for gate in gates))
            for group, found in groups.items()
        ),
        tuple(verdict for verdict in verdicts if not verdict.passed),
    )


def metric_rows(fit: FitFacts) -> list[tuple[str, Metrics]]:
    """Metrics by what they are over."""
    result = fit.result
    return [
        ("all cells", result.metrics["all"]),
        ("training cells", result.metrics["train"]),
        ("held-out cells", result.metrics["holdout"]),
        ("version 1 (hand-set), all cells", result.hand_set),
        *((f"model {name}", each) for name, each in sorted(result.by_model.items())),
        *((f"shape {name}", each) for name, each in sorted(result.by_shape.items())),
        *((f"family {name}", each) for name, each in sorted(result.by_family.items())),
    ]


def certificate_file(facts: ReportFacts) -> str | None:
    """The name of the certificate's file; None where the fit has none or it is not known."""
    analysed = facts.fit.analysed if facts.fit else None
    if analysed is None or analysed.certificate is None:
        return None
    return certificate_name(facts.campaign, analysed.certificate)
