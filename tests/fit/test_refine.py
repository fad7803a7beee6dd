"""The refinement against a plain one that scores every candidate anew with the planner's own score."""

import numpy as np
import pytest

from fit._cells import compile_cells
from fit._pairs import within_cells
from fit._refine import RegretLoss, refine
from fit._squares import least_squares
from planner import TERMS, WORK_PER_US, score_features


def naive_loss(cells, scores_of):
    regret, right, pairs = 0.0, 0, 0
    for cell in cells:
        scores = scores_of(cell)
        times = [c.median_ms for c in cell.candidates]
        regret += (times[scores.index(min(scores))] - min(times)) / min(times) * 100
        for i in range(len(times)):
            for j in range(i + 1, len(times)):
                if abs(times[i] - times[j]) / min(times[i], times[j]) * 100 > 3.0:
                    pairs += 1
                    right += (times[i] < times[j]) == (scores[i] < scores[j])
    return regret + (0.05 * (1 - right / pairs) * 100 if pairs else 0.0)


def naive_worse_loss(cells, terms, vector):
    table = {name: round(value * 1000) for name, value in zip(terms, vector, strict=True)}

    def integer_scores(cell):
        return [score_features(c.features, cell.facts, table) for c in cell.candidates]

    def predictions(cell):
        return [
            sum(
                v * (TERMS[n](c.features, cell.facts) / WORK_PER_US)
                for n, v in zip(terms, vector, strict=True)
            )
            for c in cell.candidates
        ]

    return max(naive_loss(cells, integer_scores), naive_loss(cells, predictions))


def naive_search(cells, terms, start, floor, order):
    best, best_loss = list(start), naive_worse_loss(cells, terms, start)
    for _ in range(12):
        before = best_loss
        for j in order:
            current = best[j]
            trials = [current * f for f in (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)] if current > 0 else []
            trials.append(0.0)
            trials += [floor * f for f in (1, 10, 100, 1000)] if current == 0 else []
            for trial in trials:
                if trial == current:
                    continue
                loss = naive_worse_loss(cells, terms, [*best[:j], trial, *best[j + 1 :]])
                if loss < best_loss - 1e-9:
                    best[j], best_loss = trial, loss
        if best_loss == before:
            break
    return best, best_loss


def naive_refine(cells, terms, start):
    floor = min(v for v in start if v > 0) * 1e-3
    found = []
    for scale in (1.0, 0.5, 2.0):
        for order in (range(len(start)), range(len(start))[::-1]):
            found.append(naive_search(cells, terms, [v * scale for v in start], floor, order))
    return min(found, key=lambda result: result[1])


TERMS_USED = ("token_per_rank", "tiny_segment_per_layer", "gdn_level", "level_cp_per_layer")
TRUTH = dict(zip(TERMS_USED, (2000, 4_000_000, 30_000_000, 9_000_000), strict=True))
MOSTLY_TOKENS = dict(zip(TERMS_USED, (2000, 40_000, 600_000, 90_000), strict=True))


# Of whole, of a hundred and of a few integers a token: rounding then matters more and more.
@pytest.mark.parametrize("device", [1.0, 0.05, 0.001])
@pytest.mark.parametrize("truth", [TRUTH, MOSTLY_TOKENS], ids=["dear-levels", "mostly-tokens"])
@pytest.mark.parametrize("seed", range(5))
def test_refinement_is_the_plain_one(make_cells, seed, device, truth):
    truth = {name: value * device for name, value in truth.items()}
    cells = make_cells(6, truth, seed=seed, noise=0.3, candidates=5)
    evidence = compile_cells(cells, TERMS_USED)
    start = least_squares(evidence, within_cells(evidence))
    expected, expected_loss = naive_refine(cells, TERMS_USED, start.tolist())
    found, loss = refine(RegretLoss.of(evidence), start)
    assert found.tolist() == expected
    assert loss == pytest.approx(expected_loss, abs=1e-9)


@pytest.mark.parametrize("absent", range(4))
def test_a_term_that_the_start_lacks_enters_as_in_the_plain_search(make_cells, absent):
    cells = make_cells(6, TRUTH, seed=absent, noise=0.05, candidates=5)
    evidence = compile_cells(cells, TERMS_USED)
    start = least_squares(evidence, within_cells(evidence))
    start[absent] = 0.0
    expected, _ = naive_refine(cells, TERMS_USED, start.tolist())
    assert refine(RegretLoss.of(evidence), start)[0].tolist() == expected


def test_refinement_never_ends_above_its_start(make_cells):
    for seed in range(5):
        evidence = compile_cells(make_cells(8, TRUTH, seed=seed, noise=0.2), TERMS_USED)
        start = least_squares(evidence, within_cells(evidence))
        loss = RegretLoss.of(evidence)
        units = evidence.units
        assert refine(loss, start)[1] <= max(
            loss((units @ start)[:, None])[0], loss(np.rint(units @ np.rint(start * 1000))[:, None])[0]
        )


def test_a_start_of_zeros_is_still_searched(make_cells):
    evidence = compile_cells(make_cells(4, TRUTH), TERMS_USED)
    found, _ = refine(RegretLoss.of(evidence), np.zeros(4))
    assert (found >= 0).all()
