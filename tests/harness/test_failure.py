import pytest

from harness._failure import (
    NonFiniteLossError,
    RankFailure,
    TooFewUsableError,
    WarmupNeverQuietError,
    explain_error,
    judge,
)
from schemas import NotFoundError

OWN = RankFailure("exception", "ValueError: own", False)
LOST = RankFailure("exception", "RuntimeError: connection closed by peer", True)


class MemoryBudgetError(RuntimeError):
    """Stands for the planner's refusal, which is known by name."""


@pytest.mark.parametrize(
    ("error", "kind", "consequence"),
    [
        (ValueError("x"), "exception", False),
        (RuntimeError("[gloo] Connection closed by peer [127.0.0.1]:1"), "exception", True),
        (RuntimeError("Timed out waiting 1000ms for recv operation"), "exception", True),
        (MemoryError(), "out_of_memory", False),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "out_of_memory", False),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out_of_memory", False),
        (NonFiniteLossError("nan"), "non_finite_loss", False),
        (WarmupNeverQuietError("w"), "warmup_never_quiet", False),
        (TooFewUsableError("t"), "incomplete", False),
        (NotFoundError("f"), "missing_corpus", False),
        (MemoryBudgetError("m"), "admission_refused", False),
    ],
)
def test_an_error_has_the_kind_of_what_went_wrong(error: Exception, kind: str, consequence: bool) -> None:
    found = explain_error(error)
    assert (found.kind, found.consequence) == (kind, consequence)
    assert found.message


@pytest.mark.parametrize(
    ("codes", "failures", "reports", "started", "missing", "kind", "words"),
    [
        ([1, 1], {0: LOST, 1: OWN}, 0, True, "", "exception", "rank 1: ValueError: own"),
        ([1, -9], {0: LOST}, 0, True, "", "killed", "rank 1 was ended by SIGKILL"),
        ([1, -6], {1: OWN}, 0, True, "", "exception", "rank 1: ValueError"),
        ([1, 0], {0: LOST}, 1, True, "", "exception", "rank 0: RuntimeError"),
        ([1, None], {}, 0, False, "", "launch", "[1, None]"),
        ([0, 3], {}, 1, True, "", "exception", "rank 1 ended with exit code 3"),
        ([0, None], {}, 1, True, "", "exception", "rank 1 did not end"),
        ([0, 0], {}, 1, True, "", "false_success", "1 of 2"),
        ([0, 0], {}, 2, True, "samples are missing", "false_success", "but samples are missing"),
        ([0, 0], {}, 0, False, "not described", "false_success", "0 of 2 sent an end report; not described"),
        ([0, 3], {}, 2, True, "", "exception", "rank 1 ended with exit code 3 after its end report"),
    ],
)
def test_the_verdict_names_the_cause_not_its_consequences(
    codes, failures, reports, started, missing, kind, words
) -> None:
    verdict = judge(codes, failures, reports=reports, started=started, missing=missing)
    assert verdict is not None
    assert verdict.kind == kind
    assert words in verdict.message


def test_only_status_reports_and_samples_together_are_success() -> None:
    assert judge([0, 0], {}, reports=2, started=True, missing="") is None
