"""Make again what a fit recorded beside its table: the numbers that its figures and report show."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeGuard

from schemas import CellJudged, Event, FitAnalysed, FitCompleted
from tracker._analysis import Registered, analyse_fit, judge_told
from tracker._ledger import Ledger
from tracker._story import tell_cells
from tracker.certificate import Check
from tracker.log import read_segment

NAME = "recorded analysis"
SLACK = 2e-4
"""Refits on another machine may differ in a last bit: percentages, recorded to four digits, may differ by two
units of the last."""
INTERVAL_SLACK = 1
"""Likewise the ends of an interval, whole milli-microseconds; all else has to be the same."""
SHOWN = 5
STEADINESS = ("stalls", "drift_pct", "drifting")
"""What fits recorded later than the rest of a cell."""

Plain = Mapping[Any, Any]


def check_analysis(ledger: Ledger, campaign: str, fit: str) -> Check:
    """Repeat the analysis of a fit from the evidence that it stands on; skipped where none was recorded.

    It is some two hundred refits: seconds.

    Raises:
        NotFoundError: the log lacks the campaign or the fit.
    """
    events = read_segment(ledger.log.find(fit).path)
    recorded = [FitAnalysed.parse(event.data, where=_where(event)) for event in _of(events, "fit.analysed")]
    if not recorded:
        return Check(NAME, True, "this fit was recorded without intervals and ablations", skipped=True)
    cells = [CellJudged.parse(event.data, where=_where(event)) for event in _of(events, "fit.cell_judged")]
    analysed, judged = _repeat(ledger, campaign, ledger.fit(campaign, fit))
    differing = [
        *_differences(
            recorded[-1].plain(),
            analysed.model_copy(update={"certificate": recorded[-1].certificate}).plain(),
        ),
        *_differences(_by_key(cells), _by_key(judged)),
    ]
    detail = "; ".join(islice(differing, SHOWN))
    if len(differing) > SHOWN:
        detail += f"; and {len(differing) - SHOWN} more"
    told = f"intervals, {len(analysed.ablations)} ablations and {len(cells)} cells, made again"
    return Check(NAME, not differing, detail or told)


def _repeat(ledger: Ledger, campaign: str, result: FitCompleted) -> tuple[FitAnalysed, Sequence[CellJudged]]:
    segments = result.evidence.segments
    cells = ledger.certified_cells(campaign, segments)
    registered = Registered(ledger.opened(campaign), ledger.first_sample(campaign))
    analysed, unseen = analyse_fit(ledger.manifest(campaign), registered, cells, result)
    return analysed, judge_told(tell_cells(ledger, campaign, segments), cells, result.table, unseen)


def _by_key(cells: Sequence[CellJudged]) -> Plain:
    return {cell.cell: cell.plain() for cell in cells}


def _differences(recorded: Plain, again: Plain, path: str = "") -> Iterator[str]:
    """Each place where two records differ, as plain values, beyond the slack of its kind."""
    for key in sorted({*recorded, *again}):
        one, other = recorded.get(key), again.get(key)
        where = f"{path}{key}"
        if key in STEADINESS and one is None:
            continue
        if _is_record(one) and _is_record(other):
            yield from _differences(one, other, f"{where}.")
        elif _is_list(one) and _is_list(other):
            yield from _differences(dict(enumerate(one)), dict(enumerate(other)), f"{where}.")
        elif not _alike(one, other, where):
            yield f"{where}: {one} recorded, {other} made again"


def _is_record(value: Any) -> TypeGuard[Plain]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _alike(recorded: Any, again: Any, path: str) -> bool:
    if recorded == again:
        return True
    if isinstance(recorded, bool) or not (
        isinstance(recorded, (int, float)) and isinstance(again, (int, float))
    ):
        return False
    if path.startswith("intervals."):
        return abs(recorded - again) <= INTERVAL_SLACK
    return isinstance(recorded, float) and abs(recorded - again) <= SLACK


def _of(events: Sequence[Event], name: str) -> list[Event]:
    return [event for event in events if event.type == name]


def _where(event: Event) -> str:
    return f"event {event.id} ({event.type})"
