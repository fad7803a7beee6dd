"""Real servers on loopback ports: MLflow over PostgreSQL, as a team would share it."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import pytest

POSTGRES_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """An MLflow server that a test may stop and start again under the same address."""

    backend: str
    artifacts: Path
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.artifacts.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", self.backend]
        command += ["--artifacts-destination", self.artifacts.as_uri(), "--serve-artifacts"]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        off = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        with (self.artifacts.parent / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.artifacts.parent,
                env={**os.environ, **off},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + 180
        while True:
            try:
                with urlopen(f"{self.uri}/health", timeout=2):
                    return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    text = (self.artifacts.parent / "server.log").read_text()
                    self.stop()
                    pytest.fail(f"no MLflow server:\n{text[-3000:]}")
                time.sleep(0.2)

    def stop(self) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, 15)
            self.process.wait(120)
            self.process = None


@contextmanager
def running_postgres() -> Iterator[str]:
    """A fresh PostgreSQL in a folder of its own; the address of its database."""
    folder = Path(tempfile.mkdtemp(prefix="layoutledger-postgres-"))
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    binaries = POSTGRES_BINARIES[-1].parent
    port = free_port()

    def run(*command: str) -> None:
        identity = {"user": user, "group": user} if os.getuid() == 0 else {}
        # A server that is left running would keep the pipe open: its output goes to a file.
        with (folder / "output").open("ab") as output:
            subprocess.run(command, cwd=folder, check=True, stdout=output, stderr=output, **identity)

    try:
        (folder / "output").touch()
        if os.getuid() == 0:
            shutil.chown(folder, user, user)
        data = str(folder / "data")
        run(str(binaries / "initdb"), "-D", data, "-U", "ledger", "--auth=trust", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        run(str(binaries / "pg_ctl"), "-D", data, "-o", options, "-w", "start")
        try:
            run(str(binaries / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "ledger", "mlflow")
            yield f"postgresql://ledger@127.0.0.1:{port}/mlflow"
        finally:
            run(str(binaries / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    if not POSTGRES_BINARIES:
        pytest.skip("PostgreSQL's server is not installed")
    pytest.importorskip("psycopg2")
    with running_postgres() as address:
        yield address


@pytest.fixture(scope="session")
def server(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(
        postgres.replace("postgresql:", "postgresql+psycopg2:"),
        tmp_path_factory.mktemp("server") / "artifacts",
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()
