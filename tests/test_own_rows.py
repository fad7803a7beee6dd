"""A user's own token groups through the program: measured under an adaptive rule, no token left behind."""

import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.program import run_program

CAMPAIGN = """
campaign = "own"
table_id = "own-table"
[protocol]
rounds = 8
required = 3
extra_rounds = 8
disturbed_pct = 1e9
adaptive = { tie_pct = 20.0, error_pct = 10.0 }
[fit]
terms = ["token_per_rank"]
[models.small]
preset = "attention-small"
parameters = { layers = 1 }
[workloads.ids]
kind = "file"
parameters = { path = "ids.jsonl" }
[workloads.hashes]
kind = "file"
parameters = { path = "hashes.parquet", tokens = "hashes" }
[[cells]]
workloads = ["ids", "hashes"]
models = ["small"]
shapes = ["tp1cp1"]
groups = [0, 1]
"""


def written_corpus(folder) -> tuple[list[list[int]], list[str]]:
    """Both files, with two groups each: the rows of ids, and every hash that stands in the other."""
    draw = random.Random(3)
    system = [draw.randrange(256) for _ in range(60)]
    rows = [[*system, *(draw.randrange(256) for _ in range(5))] for _ in range(6)]
    lines = [json.dumps({"tokens": row, "group": number % 2}) for number, row in enumerate(rows)]
    (folder / "ids.jsonl").write_text("\n".join(lines))
    words = [f"token-{draw.getrandbits(64):016x}" for _ in range(70)]
    hashed = [[*words[:40], *draw.sample(words[40:], 4)] for _ in range(6)]
    pq.write_table(pa.table({"tokens": hashed, "group": [0, 0, 0, 1, 1, 1]}), folder / "hashes.parquet")
    return rows, words


def traces(rows: list[list[int]], words: list[str]) -> list[bytes]:
    """How a row of ids could look in a file, four tokens of it being enough; and every word."""
    four = [row[at : at + 4] for row in rows for at in (0, 20, 58)]
    texts = [mark.join(map(str, part)).encode() for part in four for mark in (",", ", ", " ")]
    binary = [np.array(part, dtype=kind).tobytes() for part in four for kind in ("<i8", "<i4")]
    return [*texts, *binary, *(word.encode() for word in words)]


@pytest.mark.slow(seconds=40)
def test_own_rows_are_measured_end_early_and_leave_no_token_behind(tmp_path):
    rows, words = written_corpus(tmp_path)
    (tmp_path / "own.toml").write_text(CAMPAIGN)
    run_program(tmp_path, "campaign", "run", tmp_path / "own.toml")
    run_program(tmp_path, "push")
    cells = json.loads(run_program(tmp_path, "campaign", "status", "own", "--json"))
    assert [cell["state"] for cell in cells] == ["completed"] * 4
    assert {cell["stopped"] for cell in cells} <= {"separated", "budget"}
    assert all(0 <= cell["rounds_saved"] <= 5 for cell in cells)
    shapes = json.loads(
        run_program(
            tmp_path,
            "sql",
            "--json",
            "SELECT data -> '$.corpus' AS c FROM events WHERE type = 'cell.described'",
        )
    )
    assert len(shapes) == 4

    found = [
        (file.name, trace)
        for file in (tmp_path / "ledger").rglob("*")
        if file.is_file()
        for content in [file.read_bytes()]
        for trace in traces(rows, words)
        if trace in content
    ]
    assert found == []
    # The same search does find what is there.
    assert any(trace in (tmp_path / "ids.jsonl").read_bytes() for trace in traces(rows, words))


@pytest.mark.slow(seconds=20)
def test_a_corpus_that_changed_after_it_was_registered_fails_its_cells_and_no_others(tmp_path):
    from harness import load_campaign
    from tracker._campaigns import open_campaign
    from tracker._ledger import Ledger

    written_corpus(tmp_path)
    (tmp_path / "own.toml").write_text(CAMPAIGN)
    open_campaign(Ledger(tmp_path / "ledger"), load_campaign(tmp_path / "own.toml"))
    original = (tmp_path / "ids.jsonl").read_text()
    (tmp_path / "ids.jsonl").write_text(original + "\n[1, 2]")
    (tmp_path / "hashes.parquet").rename(tmp_path / "moved.parquet")
    said = run_program(tmp_path, "campaign", "resume", "own", code=8)
    assert "missing_corpus" in said
    ask = "SELECT cell[:3] AS cell, kind, message FROM failures ORDER BY cell"
    failures = json.loads(run_program(tmp_path, "sql", "--json", ask))
    assert {failure["kind"] for failure in failures} == {"missing_corpus"}
    reasons = {failure["cell"]: failure["message"] for failure in failures}
    assert "is not the one that was registered" in reasons["ids"]
    assert "does not exist" in reasons["has"]

    (tmp_path / "ids.jsonl").write_text(original)
    (tmp_path / "moved.parquet").rename(tmp_path / "hashes.parquet")
    run_program(tmp_path, "campaign", "resume", "own")
    cells = json.loads(run_program(tmp_path, "campaign", "status", "own", "--json"))
    assert [(cell["state"], cell["failed_attempts"]) for cell in cells] == [("completed", 1)] * 4
