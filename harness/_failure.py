"""Why a cell failed: the kind of an error inside a worker, and the verdict over all ranks."""

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas import FailureKind, MeasurementError, NotFoundError

_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "std::bad_alloc")
_PEER_LOST = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "connection refused",
    "timed out waiting",
    "socket timeout",
    "wait timeout",
)


class NonFiniteLossError(MeasurementError):
    """A loss that is not a number: the step's times mean nothing."""


class WarmupNeverQuietError(MeasurementError):
    """Compilations went on past the last warm-up round."""


class TooFewUsableError(MeasurementError):
    """Rounds and extra rounds ended before every candidate had its usable samples."""


class RanksDisagreeError(MeasurementError):
    """Ranks built different layouts from the same rows."""


@dataclass(frozen=True, slots=True)
class RankFailure:
    """What a rank said of its own end; `consequence` where it only lost a peer that had ended."""

    kind: FailureKind
    message: str
    consequence: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The one reason that is recorded for a cell."""

    kind: FailureKind
    message: str


def explain_error(error: BaseException) -> RankFailure:
    """The failure that an exception of a worker stands for."""
    text = str(error).strip() or type(error).__name__
    message = f"{type(error).__name__}: {text}"
    lowered = text.lower()
    if isinstance(error, NonFiniteLossError):
        return RankFailure("non_finite_loss", text, False)
    if isinstance(error, WarmupNeverQuietError):
        return RankFailure("warmup_never_quiet", text, False)
    if isinstance(error, TooFewUsableError):
        return RankFailure("incomplete", text, False)
    if isinstance(error, NotFoundError):
        return RankFailure("missing_corpus", text, False)
    # The planner raises this before a forward that would not fit; by name, since it may come from user code.
    if type(error).__name__ == "MemoryBudgetError":
        return RankFailure("admission_refused", text, False)
    if isinstance(error, MemoryError) or any(part in lowered for part in _OUT_OF_MEMORY):
        return RankFailure("out_of_memory", message, False)
    return RankFailure("exception", message, any(part in lowered for part in _PEER_LOST))


def judge(
    exit_codes: Sequence[int | None],
    failures: Mapping[int, RankFailure],
    *,
    reports: int,
    started: bool,
    missing: str,
) -> Verdict | None:
    """The reason of a cell's failure, or None when nothing is amiss.

    Args:
        exit_codes: by rank; None where we ended the process or it never began.
        failures: what ranks said, by rank.
        reports: how many ranks sent their end report.
        started: whether every rank got as far as beginning the cell.
        missing: what lacks of the expected samples, or empty.

    A rank's own cause goes before a signal, a signal before the peers' lost connections. Exit codes that all
    say success are believed only together with every rank's report and all samples.

    """
    own = [(rank, failure) for rank, failure in sorted(failures.items()) if not failure.consequence]
    if own:
        rank, failure = own[0]
        return Verdict(failure.kind, f"rank {rank}: {failure.message}")
    for rank, code in enumerate(exit_codes):
        if code is not None and code < 0:
            return Verdict("killed", f"rank {rank} was ended by {signal_name(-code)}")
    if exit_codes and all(code == 0 for code in exit_codes) and not failures:
        return _false_success(len(exit_codes), reports, missing)
    if not started:
        return Verdict("launch", f"the ranks did not start: exit codes {list(exit_codes)}")
    for rank, failure in sorted(failures.items()):
        return Verdict(failure.kind, f"rank {rank}: {failure.message}")
    for rank, code in enumerate(exit_codes):
        if code is None:
            return Verdict("exception", f"rank {rank} did not end after another rank had")
        if code != 0:
            said = "after its end report" if reports == len(exit_codes) else "and no message"
            return Verdict("exception", f"rank {rank} ended with exit code {code} {said}")
    return None


def _false_success(ranks: int, reports: int, missing: str) -> Verdict | None:
    """Every exit code is 0: what contradicts that, or None."""
    against: list[str] = []
    if reports < ranks:
        against.append(f"only {reports} of {ranks} sent an end report")
    if missing:
        against.append(missing)
    if not against:
        return None
    return Verdict("false_success", f"every rank ended with exit code 0, but {'; '.join(against)}")


def signal_name(number: int) -> str:
    """`SIGKILL` and the like."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
