"""How long fitting and comparing take, and how that grows with the cells.

    OMP_NUM_THREADS=1 python benchmarks/fit_speed.py [CERTIFICATE.json]

With a certificate of the origin project, its cells are fitted and compared too. Medians of processor time,
so that what else runs on the machine counts little.
"""

import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

from fit_devices import GPU, measured_cells

from fit import METHODS, FitCell, compare, fit_table, judge
from fit._cells import compile_cells
from fit._pairs import within_cells
from planner import TERMS
from schemas import CertifiedCandidate, CertifiedCell, FitArguments
from tracker._fitting import fit_cells
from tracker.importers import read_art_certificate

SIZES = (58, 250, 1000, 2000)


def seconds(work: Callable[[], object], runs: int = 5) -> float:
    taken: list[float] = []
    for _ in range(runs):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return statistics.median(taken)


def report(title: str, cells: Sequence[FitCell], runs: int) -> None:
    evidence = compile_cells(cells, tuple(TERMS))
    pairs = len(within_cells(evidence))
    print(f"{title}: {len(cells)} cells, {len(evidence.ms)} candidates, {pairs} pairs")
    for method in METHODS:
        arguments = FitArguments(method=method, terms=tuple(TERMS))
        table = fit_table(cells, arguments).coefficients
        fitting = seconds(lambda a=arguments: fit_table(cells, a), runs)
        judging = seconds(lambda t=table: judge(cells, t), runs)
        print(f"  {method:12} fit {fitting:7.3f} s   metrics {judging:7.3f} s", flush=True)


def certified_cells(path: Path) -> tuple[FitCell, ...]:
    imported = read_art_certificate(path)
    return fit_cells(
        [
            CertifiedCell(
                cell=cell.cell,
                identity=cell.identity,
                facts=cell.facts,
                fingerprint=cell.fingerprint,
                held_out=False,
                candidates=tuple(CertifiedCandidate(**dict(each)) for each in cell.candidates),
            )
            for cell in imported.cells
        ]
    )


def main() -> None:
    if len(sys.argv) > 1:
        cells = certified_cells(Path(sys.argv[1]))
        report("certificate", cells, 9)
        taken = seconds(lambda: compare(cells, tuple(TERMS)), 1)
        print(f"  comparison of {len(METHODS)} methods with every leave-out: {taken:.1f} s", flush=True)
    for size in SIZES:
        report("simulated", measured_cells(GPU, 0, size), 5 if size < 1000 else 1)


if __name__ == "__main__":
    main()
