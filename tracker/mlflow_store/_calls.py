"""Calls into MLflow: its many errors become ours, and a deadline ends them."""

import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from schemas import (
    InvalidInputError,
    LayoutLedgerError,
    NotFoundError,
    StoreUnavailableError,
    redact,
    server_request,
)
from tracker.mlflow_store._records import SealedError
from tracker.mlflow_store._sealing import RUN_REFUSAL, VERSION_REFUSAL

Result = TypeVar("Result")

_ABSENT = ("RESOURCE_DOES_NOT_EXIST", "NOT_FOUND", "ENDPOINT_NOT_FOUND")
_SILENT = ("TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "DEADLINE_EXCEEDED", "UNAUTHENTICATED")
_HTTP_FAILED = "API request to"


class Caller:
    """Runs one call after another against one store.

    Args:
        uri: the store, for messages; they show no credentials.
        budget_s: seconds from now after which no further call is begun; None for no limit.
    """

    def __init__(self, uri: str, budget_s: float | None) -> None:
        self.uri = redact(uri)
        self._budget_s = budget_s
        self._deadline = None if budget_s is None else time.monotonic() + budget_s

    def __call__(self, doing: str, function: Callable[..., Result], *args: Any, **named: Any) -> Result:
        """The call's result.

        Raises:
            StoreUnavailableError: the store does not answer, or the budget is spent.
            NotFoundError: the store has no such thing.
            SealedError: the store refused to change something sealed.
            InvalidInputError: the store refused for another reason.
        """
        from mlflow.exceptions import MlflowException

        if self._deadline is not None and time.monotonic() > self._deadline:
            raise StoreUnavailableError(
                f"{self.uri}: {doing}: the {self._budget_s:g} s given to the tracking store are spent; "
                "what is missing there stays in the log, `layoutledger push` sends it later"
            )
        try:
            return function(*args, **named)
        except MlflowException as error:
            raise self.ours(doing, error) from error
        except OSError as error:
            raise self._unavailable(doing, str(error)) from error

    def ours(self, doing: str, error: Any) -> LayoutLedgerError:
        """An MLflow error as one of ours."""
        text, code = redact(_first_line(str(error))), str(error.error_code)
        if RUN_REFUSAL in str(error) or VERSION_REFUSAL in str(error):
            return SealedError(f"{self.uri}: {doing}: refused: it is sealed, and stays as it was recorded")
        if code in _ABSENT:
            return NotFoundError(f"{self.uri}: {doing}: {text}")
        if code in _SILENT or _HTTP_FAILED in text:
            return self._unavailable(doing, text)
        return InvalidInputError(f"{self.uri}: {doing}: the tracking store refused: {text}")

    def _unavailable(self, doing: str, reason: str) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"{self.uri}: {doing}: the tracking store does not answer: {redact(reason)}; nothing recorded is "
            "lost, `layoutledger push` catches up when it is back (MLFLOW_TRACKING_URI names the store)"
        )


def probe_server(uri: str, timeout_s: float) -> None:
    """Ask a server for its health before MLflow begins its own, slower attempts.

    Raises:
        StoreUnavailableError: no answer within the time, or not that of an MLflow server.
    """
    shown = redact(uri)
    try:
        with urlopen(server_request(uri, "health"), timeout=timeout_s) as answer:
            answer.read(64)
    except HTTPError as error:
        if error.code in (401, 403):  # MLflow itself brings the credentials.
            return
        raise StoreUnavailableError(
            f"{shown}: no MLflow server: /health answers {error.code}; check MLFLOW_TRACKING_URI"
        ) from error
    except (URLError, OSError, ValueError) as error:
        raise StoreUnavailableError(
            f"{shown}: the tracking server does not answer within {timeout_s:g} s: {redact(str(error))}; "
            "nothing recorded is lost, `layoutledger push` catches up when it is back "
            "(MLFLOW_TRACKING_URI names it)"
        ) from error


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"
