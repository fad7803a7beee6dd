"""A page's blocks run one after another in a folder of their own, as a reader would run them."""

import contextlib
import glob
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import Block, Command

QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
SHELL = re.compile(r"[|<>;&`]|\$\(|\$\{")
PATIENCE_S = 180


class Session:
    """The folder, the variables that were exported, and what runs in the background.

    Args:
        folder: where commands run; `ledger` in it is a measured ledger.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__page__"}
        self.background: list[subprocess.Popen[str]] = []
        programs = Path(sys.executable).parent
        self.environment = os.environ | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "LAYOUTLEDGER_CACHE": str(folder / "cache"),
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "OMP_NUM_THREADS": "1",
        }
        for name in ("MLFLOW_TRACKING_URI", "LAYOUTLEDGER_STORE"):
            self.environment.pop(name, None)

    def run(self, block: Block) -> None:
        """Run one block; an assertion names page and line of what is not so."""
        if "file" in block.marks:
            (self.folder / block.marks["file"]).write_text(block.text)
        elif "not run" in block.marks:
            return
        elif "run" in block.marks:
            self._expect(block, Command(block.marks["run"], ()))
        elif block.language == "console":
            for command in block.commands:
                self._expect(block, command)
        elif block.language == "sql":
            self._expect(block, Command(f"layoutledger sql -- {shlex.quote(block.text)}", ()))
        elif block.language == "python":
            with self._inside():
                exec(compile("\n" * block.line + block.text, block.page, "exec"), self.names)

    def close(self) -> None:
        """End what runs in the background."""
        for process in self.background:
            self._end(process)

    def _expect(self, block: Block, command: Command) -> None:
        for mark in ("until", "background"):
            if mark in block.marks:
                self._start(block, command, block.marks[mark], stay=mark == "background")
                return
        code, printed = self._call(command.line)
        wanted = int(block.marks.get("exits", 0))
        assert code == wanted, f"{block.where}: {command.line}: exit status {code}\n{printed}"
        said = [" ".join(line.split()) for line in printed.splitlines()]
        for line in command.prints:
            pattern = ".*".join(map(re.escape, " ".join(line.split()).split("...")))
            assert any(re.fullmatch(pattern, each) for each in said), (
                f"{block.where}: {command.line}: does not print\n{line}\nbut\n{printed}"
            )

    def _call(self, line: str) -> tuple[int, str]:
        words = shlex.split(line)
        if words[0] == "layoutledger" and not SHELL.search(QUOTED.sub("", line)):
            return self._call_here([self._expanded(word) for word in words[1:]])
        return self._call_shell(line)

    def _call_here(self, words: list[list[str]]) -> tuple[int, str]:
        """The program in this process: most of a short command's time is loading."""
        from tracker.cli import cli
        from tracker.cli._boundary import run

        told = io.StringIO()
        with self._inside() as patch:
            patch.setattr("sys.argv", ["layoutledger", *(part for word in words for part in word)])
            outputs = contextlib.redirect_stdout(told), contextlib.redirect_stderr(told)
            with outputs[0], outputs[1], pytest.raises(SystemExit) as ended:
                run(cli)
        code = ended.value.code
        return (code if isinstance(code, int) else 0 if code is None else 1), told.getvalue()

    def _call_shell(self, line: str) -> tuple[int, str]:
        kept = self.folder / ".environment"
        script = f"set -o pipefail\n{line}\ncode=$?; env -0 > {shlex.quote(str(kept))}; exit $code"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        pairs = (entry.partition("=") for entry in kept.read_text().split("\0") if entry)
        self.environment = {name: value for name, _, value in pairs if name not in ("_", "SHLVL", "PWD")}
        return done.returncode, done.stdout

    def _expanded(self, word: str) -> list[str]:
        known = self.environment
        word = re.sub(r"\$([A-Z_]+)", lambda match: known.get(match[1], match[0]), word)
        return sorted(glob.glob(word, root_dir=self.folder)) or [word]

    @contextlib.contextmanager
    def _inside(self) -> Iterator[pytest.MonkeyPatch]:
        """This process in the page's folder, with its variables."""
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(self.folder):
            before = dict(os.environ)
            os.environ.clear()
            os.environ.update(self.environment)
            try:
                yield patch
            finally:
                os.environ.clear()
                os.environ.update(before)

    def _start(self, block: Block, command: Command, text: str, *, stay: bool) -> None:
        """Start a program that serves, wait until it says so, and end it now or with the page."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec env {command.line}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.background.append(process)
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
        reader.start()
        deadline = time.monotonic() + PATIENCE_S
        while not any(text in line for line in list(lines)):
            ended = process.poll() is not None or time.monotonic() > deadline
            assert not ended, f"{block.where}: {command.line}: does not say {text!r}\n{''.join(lines)}"
            time.sleep(0.1)
        if not stay:
            self.background.remove(process)
            code = self._end(process)
            assert code in (0, 130, -signal.SIGINT), f"{block.where}: {command.line}: exit status {code}"

    @staticmethod
    def _end(process: "subprocess.Popen[str]") -> int:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            return process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()
