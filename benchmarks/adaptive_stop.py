"""Replay a recorded campaign's rounds through the adaptive rule: rounds it would have run, and what it picks.

    python benchmarks/adaptive_stop.py STORE CAMPAIGN [--least 3] [--tie 3.0] [--error 5.0]

`adaptive_rounds.toml` beside this file is a campaign of ten cells with rounds enough to save some.
The recorded rounds of a cell's attempt are the budget; the rule sees them in their order. Compared with all
rounds, by the median of usable samples: the fastest candidate, and what a table fitted on the shortened
evidence selects in each cell, in all rounds' times. `--resample 20` draws that many of a cell's rounds with
replacement (seed 0): the savings at a larger budget under the gaps and the noise that were recorded, not a
measurement.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

from fit import FitCell, fit_table, judge_cells
from harness._stopping import Stopping
from schemas import AdaptiveStop, FitArguments, Protocol, SampleRecorded
from tracker._fitting import fit_cells
from tracker._ledger import Ledger

SAMPLES = """
SELECT samples.* FROM samples JOIN attempts
    ON attempts.campaign = samples.campaign AND attempts.cell = samples.cell
    AND attempts.attempt = samples.attempt AND attempts.counts
WHERE samples.role = 'measured' ORDER BY samples.cell, samples.seq
"""


@dataclass(frozen=True)
class Replayed:
    """A cell: rounds recorded and run, and its usable times by candidate under both."""

    cell: str
    recorded: int
    used: int
    reason: str
    everything: dict[str, list[float]]
    shortened: dict[str, list[float]]

    def behind_pct(self, label: str) -> float:
        """How far the candidate lies above the fastest in all rounds, percent."""
        medians = {name: median(times) for name, times in self.everything.items()}
        return (medians[label] / min(medians.values()) - 1) * 100

    @property
    def picks(self) -> tuple[str, str]:
        """The fastest after the rounds that were run, and after all."""
        first, second = (
            min(times, key=lambda name: median(times[name])) for times in (self.shortened, self.everything)
        )
        return first, second


def replay(samples: Sequence[SampleRecorded], least: int, rule: AdaptiveStop) -> Replayed:
    """Feed one attempt's measured samples round by round until the rule ends them."""
    names = tuple(dict.fromkeys(sample.candidate for sample in samples))
    recorded = max(sample.round for sample in samples) + 1
    protocol = Protocol(rounds=recorded, required=least, adaptive=rule)
    stopping = Stopping(protocol, names)
    kept: list[SampleRecorded] = []
    for number in range(recorded):
        if stopping.reason() is not None:
            break
        for sample in samples:
            if sample.round == number:
                stopping.take(sample)
                kept.append(sample)
    reason = stopping.reason() or "incomplete"
    return Replayed(samples[0].cell, recorded, stopping.rounds, reason, times(samples), times(kept))


def resampled(samples: Sequence[SampleRecorded], rounds: int, draw: Random) -> list[SampleRecorded]:
    """So many whole rounds of the attempt, drawn with replacement."""
    numbers = sorted({sample.round for sample in samples})
    return [
        sample.model_copy(update={"round": place})
        for place in range(rounds)
        for drawn in [draw.choice(numbers)]
        for sample in samples
        if sample.round == drawn
    ]


def times(samples: Sequence[SampleRecorded]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for sample in samples:
        if sample.usable:
            found.setdefault(sample.candidate, []).append(sample.ms)
    return found


def shortened_cells(cells: Sequence[FitCell], replayed: Mapping[str, Replayed]) -> list[FitCell]:
    """The fit's cells with medians, counts and spreads of the rounds that were run."""
    found: list[FitCell] = []
    for cell in cells:
        own = replayed[cell.key].shortened
        candidates = []
        for candidate in cell.candidates:
            ms = own[candidate.label]
            spread = (max(ms) - min(ms)) / median(ms) * 100
            candidates.append(replace(candidate, median_ms=median(ms), n=len(ms), spread_pct=spread))
        found.append(replace(cell, candidates=tuple(candidates)))
    return found


def records(ledger: Ledger, campaign: str) -> dict[str, list[SampleRecorded]]:
    found: dict[str, list[SampleRecorded]] = {}
    fields = SampleRecorded.model_fields
    for row in ledger.warehouse.query(SAMPLES).records():
        if row["campaign"] == campaign:
            sample = SampleRecorded.parse({name: row[name] for name in fields}, where=row["cell"])
            found.setdefault(sample.cell, []).append(sample)
    return found


def print_cells(replayed: Sequence[Replayed], tie_pct: float) -> None:
    print(f"{'cell':44} {'rounds':>7} {'used':>5}  {'ended by':10} fastest, beside that of all rounds")
    for one in replayed:
        picked, best = one.picks
        behind = one.behind_pct(picked)
        same = (
            "same" if picked == best else f"{behind:.1f}% behind" + (", a tie" if behind <= tie_pct else "")
        )
        print(f"{one.cell:44} {one.recorded:7} {one.used:5}  {one.reason:10} {same}")
    behind = [one.behind_pct(one.picks[0]) for one in replayed]
    print(
        f"\n{sum(one.used for one in replayed)} of {sum(one.recorded for one in replayed)} rounds "
        f"({mean(one.used / one.recorded for one in replayed):.0%} a cell); fastest the same in "
        f"{sum(one.picks[0] == one.picks[1] for one in replayed)} of {len(replayed)} cells, within "
        f"{tie_pct:g}% in {sum(each <= tie_pct for each in behind)}, at most {max(behind):.1f}% behind"
    )


def print_fit(cells: Sequence[FitCell], shortened: Sequence[FitCell], held: Any, fit: FitArguments) -> None:
    """Both tables judged on all cells in all rounds' times."""
    tables = [
        fit_table([cell for cell in which if not held(cell.key)], fit).coefficients
        for which in (shortened, cells)
    ]
    ours, theirs = (judge_cells(cells, table) for table in tables)
    same = sum(one.selected == two.selected for one, two in zip(ours, theirs, strict=True))
    regrets = [[verdict.regret_pct for verdict in verdicts] for verdicts in (ours, theirs)]
    print(
        f"fitted tables select alike in {same} of {len(cells)} cells; mean regret {mean(regrets[0]):.2f}% "
        f"(all rounds {mean(regrets[1]):.2f}%), largest {max(regrets[0]):.1f}% ({max(regrets[1]):.1f}%)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("campaign")
    parser.add_argument("--least", type=int, default=3, help="usable samples before the rule may end a cell")
    parser.add_argument("--tie", type=float, default=3.0)
    parser.add_argument("--error", type=float, default=5.0)
    parser.add_argument("--resample", type=int, metavar="ROUNDS")
    given = parser.parse_args()
    ledger = Ledger(given.store)
    manifest = ledger.manifest(given.campaign)
    rule = AdaptiveStop(tie_pct=given.tie, error_pct=given.error)
    recorded, draw = records(ledger, given.campaign), Random(0)
    if given.resample:
        recorded = {cell: resampled(own, given.resample, draw) for cell, own in recorded.items()}
    replayed = {cell: replay(samples, given.least, rule) for cell, samples in recorded.items()}
    print_cells(list(replayed.values()), given.tie)
    cells = fit_cells(ledger.certified_cells(given.campaign))
    print_fit(cells, shortened_cells(cells, replayed), manifest.holdout.holds_out, manifest.fit)


if __name__ == "__main__":
    main()
