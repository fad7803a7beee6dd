"""A stranger checks a certificate with a light install: no PyTorch, no MLflow, no DuckDB is loaded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from schemas import Statement
from tracker.certificate import render_statement
from tracker.certificate.signing import generate_keys, sign_certificate

HEAVY = ("torch", "mlflow", "duckdb", "pyarrow", "pandas", "matplotlib", "psutil")
RUN = """
import json, sys
from tracker.cli import main
for verb in json.loads(sys.argv[1]):
    sys.argv = ["layoutledger", "certificate", *verb]
    try:
        main()
    except SystemExit as ended:
        loaded = sorted(set({heavy}) & set(sys.modules))
        print(json.dumps([verb[0], ended.code, loaded]), file=sys.stderr)
"""
VERBS = [
    ["check", "certificate.json", "--refit", "--json"],
    ["check", "certificate.json", "--from", "file", "--refit"],
    ["verify", "certificate.dsse.json", "--key", "ann.pem.pub", "--output", "out.json"],
    ["show", "certificate.json"],
    ["diff", "certificate.json", "certificate.json"],
]


@pytest.fixture
def alone(tmp_path: Path, statement: Statement, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds a certificate, signed too, a public key, and no ledger."""
    certificate, key = tmp_path / "certificate.json", tmp_path / "ann.pem"
    certificate.write_bytes(render_statement(statement))
    generate_keys(key)
    (tmp_path / "certificate.dsse.json").write_bytes(sign_certificate(certificate, key))
    monkeypatch.delenv("LAYOUTLEDGER_STORE", raising=False)
    return tmp_path


def test_nothing_heavy_is_loaded(alone: Path):
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("{heavy}", repr(HEAVY)), json.dumps(VERBS)],
        capture_output=True,
        text=True,
        cwd=alone,
    )
    ended = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    assert ended == [[verb[0], 0, []] for verb in VERBS], done.stderr
    told, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert told["passed"] and {"refit", "gates passed", "metrics"} <= {c["name"] for c in told["checks"]}
    assert not (alone / "ledger").exists()
