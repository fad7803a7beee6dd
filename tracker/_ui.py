"""MLflow's pages over a ledger: a real server on a loopback port, ended with everything that it started."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

from schemas import InvalidInputError, StoreUnavailableError
from tracker.mlflow_store import ARTIFACTS, connect, database_path, embedded_uri, prepare_environment

HOST = "127.0.0.1"
START_S = 120.0
STOP_S = 10.0
LOG_TAIL = 2000

# The server's place in the process table, and a companion that holds the other end of our pipe: when we are
# gone, however we ended, it reads the end of the pipe and ends the server's group.
_TETHER = 'exec 3<&0; { cat <&3 >/dev/null && kill -KILL 0; } & exec "$@" 3<&- </dev/null'


@dataclass(frozen=True, slots=True)
class UiServer:
    """A running server; as a context manager it is stopped at the end of the block.

    It ends with the process that started it, even where that one is killed.
    """

    address: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def experiments(self) -> str:
        """Where the campaigns are; the start page shows MLflow's tools for language models."""
        return f"{self.address}/#/experiments"

    def stop(self) -> None:
        """End the server and its workers; return when they are gone."""
        for ending, patience in ((signal.SIGTERM, STOP_S), (signal.SIGKILL, STOP_S)):
            if not _group_alive(self.process):
                break
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, ending)
            _wait_until(lambda: not _group_alive(self.process), patience)
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_ui(store: Path, port: int | None = None) -> UiServer:
    """Start MLflow's server on a ledger's embedded store and return when it answers.

    Args:
        store: the ledger's folder.
        port: on the loopback address; a free one where omitted.

    Raises:
        InvalidInputError: the port is taken or no port.
        StoreUnavailableError: the server ended or did not answer in time; with the end of its log.
    """
    connect(embedded_uri(store))
    chosen = _free_port(port or 0)
    folder = database_path(store).parent.absolute()
    log = folder / "ui.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", _TETHER, "sh", *_command(store, chosen)],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = UiServer(f"http://{HOST}:{chosen}", process, log)
    try:
        _await_answer(server)
    except BaseException:
        server.stop()
        raise
    return server


def serve_ui(
    store: Path, port: int | None = None, announce: Callable[[UiServer], None] | None = None
) -> None:
    """Serve until interrupted (Ctrl-C or SIGTERM), then end the server and its workers.

    Args:
        store: the ledger's folder.
        port: on the loopback address; a free one where omitted.
        announce: called with the server once it answers.

    Raises:
        InvalidInputError: the port is taken.
        StoreUnavailableError: the server did not start, or ended by itself.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with start_ui(store, port) as server:
            if announce:
                announce(server)
            raise StoreUnavailableError(_ended(server, server.process.wait()))
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _command(store: Path, port: int) -> list[str]:
    artifacts = (database_path(store).parent / ARTIFACTS).absolute()
    options = {
        "--backend-store-uri": embedded_uri(store),
        "--artifacts-destination": artifacts.as_uri(),
        "--default-artifact-root": "mlflow-artifacts:/",
        "--host": HOST,
        "--port": str(port),
        "--workers": "1",
    }
    pairs = [part for option in options.items() for part in option]
    return [sys.executable, "-m", "mlflow", "server", "--serve-artifacts", *pairs]


def _environment() -> dict[str, str]:
    prepare_environment()
    # Without its job runner the server is up in a third of the time and a quarter of the memory.
    return {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


def _free_port(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise InvalidInputError(
                f"port {port}: cannot be used on {HOST}: {error}; give another one, or none for a free one"
            ) from error
        return int(probe.getsockname()[1])


def _await_answer(server: UiServer) -> None:
    def answers() -> bool:
        if server.process.poll() is not None:
            raise StoreUnavailableError(_ended(server, server.process.returncode))
        with suppress(URLError, OSError), urlopen(f"{server.address}/health", timeout=2.0) as answer:
            return answer.status == 200
        return False

    if not _wait_until(answers, START_S):
        raise StoreUnavailableError(f"{server.address}: no answer after {START_S:g} s:\n{_tail(server.log)}")


def _wait_until(condition: Callable[[], bool], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _group_alive(process: "subprocess.Popen[bytes]") -> bool:
    """Whether any process of the server's group is left; the first one is reaped on the way."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _ended(server: UiServer, code: int) -> str:
    return f"{server.address}: the server ended with {code}:\n{_tail(server.log)}"


def _tail(log: Path) -> str:
    return log.read_bytes()[-LOG_TAIL:].decode(errors="replace").strip()
