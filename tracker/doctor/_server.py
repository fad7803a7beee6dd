"""The tracking server: does it answer, in time, in which version, and what time does it have."""

import json
import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from schemas import redact, server_request
from tracker.doctor._finding import Finding
from tracker.mlflow_store import sqlite_path, tracking_uri

PART = "tracking server"
PATIENCE_S = 5.0
SLOW_S = 1.0
SKEW_S = 5.0
UNANSWERED = (
    "start the server or mend MLFLOW_TRACKING_URI; work goes on without it, `layoutledger push` catches up"
)
REFUSED = (
    "set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, to what it accepts"
)


def server_checks(store: Path) -> tuple[Callable[[], Iterator[Finding]], ...]:
    """What is looked at of the tracking store, if it is a server."""
    return (lambda: _address(store),)


def _address(store: Path) -> Iterator[Finding]:
    uri = tracking_uri(store)
    database = sqlite_path(uri)
    if database is None:
        yield from _server(uri)
    elif os.environ.get("MLFLOW_TRACKING_URI", "").strip() and not database.parent.is_dir():
        found = f"{uri}: the folder {database.parent} is not there"
        yield Finding(PART, "broken", found, "mend MLFLOW_TRACKING_URI, or make the folder")
    else:
        yield Finding(PART, "ok", f"none; runs go to {uri}")


def _server(uri: str) -> Iterator[Finding]:
    shown = redact(uri)
    began = time.monotonic()
    try:
        with urlopen(_request(uri, "health"), timeout=PATIENCE_S) as answer:
            date = answer.headers.get("Date")
            answer.read(64)
    except HTTPError as error:
        if error.code in (401, 403):
            yield Finding(PART, "broken", f"{shown}: answers {error.code}: credentials are refused", REFUSED)
        else:
            found = f"{shown}: /health answers {error.code}: no MLflow server"
            yield Finding(PART, "broken", found, "mend MLFLOW_TRACKING_URI")
        return
    except (URLError, OSError, HTTPException, ValueError) as error:
        found = f"{shown}: no answer within {PATIENCE_S:g} s: {redact(str(error))}"
        yield Finding(PART, "broken", found, UNANSWERED)
        return
    took = time.monotonic() - began
    slow = "it is slow: a push of many runs will take long" if took > SLOW_S else ""
    yield Finding(PART, "warning" if slow else "ok", f"{shown}: answers in {took * 1000:.0f} ms", slow)
    yield from _version(uri)
    yield from _access(uri)
    yield from skew(date, time.time())


def _version(uri: str) -> Iterator[Finding]:
    with urlopen(_request(uri, "version"), timeout=PATIENCE_S) as answer:
        theirs = answer.read(64).decode(errors="replace").strip()
    try:
        ours = version("mlflow")
    except PackageNotFoundError:
        return
    if theirs.split(".")[:2] == ours.split(".")[:2]:
        yield Finding(PART, "ok", f"MLflow {theirs}, here {ours}")
    else:
        remedy = "run the same minor version on both sides, or watch the first push closely"
        yield Finding(PART, "warning", f"MLflow {theirs}, here {ours}", remedy)


def _access(uri: str) -> Iterator[Finding]:
    """One real question: a server may let anyone ask for its health and refuse the rest."""
    request = _request(uri, "api/2.0/mlflow/experiments/search")
    request.data = json.dumps({"max_results": 1}).encode()
    request.add_header("Content-Type", "application/json")
    try:
        with urlopen(request, timeout=PATIENCE_S) as answer:
            answer.read()
    except HTTPError as error:
        remedy = REFUSED if error.code in (401, 403) else "see the server's log"
        yield Finding(PART, "broken", f"{redact(uri)}: a search answers {error.code}", remedy)
    else:
        yield Finding(PART, "ok", "experiments can be read")


def skew(date: str | None, now: float) -> Iterator[Finding]:
    """How far the clock here is from the server's, by its Date header; seconds since the epoch."""
    if date is None:
        return
    try:
        ahead = now - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return
    if abs(ahead) > SKEW_S:
        found = f"this clock is {ahead:+.0f} s from the tracking server's"
        yield Finding("clock", "warning", found, "let both follow a time server (chrony, systemd-timesyncd)")
    else:
        yield Finding("clock", "ok", "agrees with the tracking server's")


def _request(uri: str, page: str) -> Any:
    request = server_request(uri, page)
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    user = os.environ.get("MLFLOW_TRACKING_USERNAME")
    if user:
        pair = f"{user}:{os.environ.get('MLFLOW_TRACKING_PASSWORD', '')}"
        request.add_header("Authorization", f"Basic {b64encode(pair.encode()).decode()}")
    elif token:
        request.add_header("Authorization", f"Bearer {token}")
    return request
