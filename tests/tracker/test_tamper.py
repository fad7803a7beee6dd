"""Every change that the documentation lists is found as it says; the table there is made from these cases.

`python tests/tracker/test_tamper.py` writes the table into `docs/tamper.md`.
"""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tamper.md"
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Case:
    """A change, and all that `verify` says of it."""

    change: str
    apply: Callable[[Path], object]
    found: tuple[str, ...]
    how: str


def sql(*statements: str) -> Callable[[Path], None]:
    """Change the embedded store; {attempt} is the run of the first attempt."""

    def apply(store: Path) -> None:
        with sqlite3.connect(store / "mlflow" / "mlflow.db") as connection:
            triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for (name,) in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            query = "SELECT run_uuid FROM tags WHERE key = 'ledger.segment' AND value = ?"
            (run,) = connection.execute(query, (attempts(store)[0].stem,)).fetchone()
            for statement in statements:
                assert connection.execute(statement.format(attempt=run)).rowcount > 0

    return apply


FORGET_RUN = tuple(
    f"DELETE FROM {table} WHERE run_uuid = '{{attempt}}'"
    for table in ("tags", "params", "metrics", "latest_metrics", "runs")
)


def attempts(store: Path) -> list[Path]:
    """The attempts of the campaign `known`, in order."""
    segments = sorted((store / "log" / "known").glob("*.jsonl"))
    return [path for path in segments if b'"unit":"attempt"' in path.read_bytes().split(b"\n", 1)[0]]


def lines(change: Callable[[list[bytes]], object]) -> Callable[[Path], None]:
    """Change the lines of the first attempt."""

    def apply(store: Path) -> None:
        path = attempts(store)[0]
        content = path.read_bytes().splitlines(keepends=True)
        change(content)
        path.write_bytes(b"".join(content))

    return apply


def rechain(store: Path) -> None:
    """Write a segment anew with faster samples and every digest right: what only its roots betray."""
    from schemas import genesis_digest
    from tracker.log import merkle_root, read_segment

    path = attempts(store)[0]
    head, content = genesis_digest(path.stem), list[bytes]()
    for event in read_segment(path):
        data = {**event.data, "ms": 1.0} if event.type == "sample.recorded" else event.data
        if event.type == "segment.sealed":
            data = {**data, "root": merkle_root(content)}
        changed = event.model_copy(update={"data": data, "prev": head})
        head = changed.computed_digest()
        content.append(changed.model_copy(update={"digest": head}).line())
    path.write_bytes(b"\n".join([*content, b""]))


def delete_segment(store: Path) -> None:
    attempts(store)[0].unlink()


def delete_uncertified(store: Path) -> None:
    """An exclusion that came after the fit: no fit names it. It goes with its run."""
    path = sorted((store / "log" / "second").glob("*.jsonl"))[-1]
    with sqlite3.connect(store / "mlflow" / "mlflow.db") as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        query = "SELECT run_uuid FROM tags WHERE key = 'ledger.segment' AND value = ?"
        (run,) = connection.execute(query, (path.stem,)).fetchone()
        for statement in FORGET_RUN:
            connection.execute(statement.format(attempt=run))
    path.unlink()
    shutil.rmtree(store / "warehouse")


def swap_parquet(store: Path) -> None:
    one, other, *_ = sorted((store / "warehouse" / "segments" / "known").glob("*.parquet"))
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


def swap_parquet_with_digests(store: Path) -> None:
    """As somebody would who knows where the digests are noted."""
    swap_parquet(store)
    folder = store / "warehouse" / "segments" / "known"
    one, other, *_ = sorted(path.stem for path in folder.glob("*.parquet"))
    catalogue = json.loads((folder / "catalogue.json").read_text())
    noted = catalogue["segments"]
    noted[one][2], noted[other][2] = noted[other][2], noted[one][2]
    (folder / "catalogue.json").write_text(json.dumps(catalogue))


def delete_last(store: Path) -> None:
    """The last segment of a campaign that has no fit: nothing in the log stands on it."""
    sorted((store / "log" / "third").glob("*.jsonl"))[-1].unlink()


def delete_last_with_warehouse(store: Path) -> None:
    delete_last(store)
    shutil.rmtree(store / "warehouse")


def before_a_push(number: int) -> Callable[[Path], None]:
    """Two cells are excluded, one after the other; one of the two segments is deleted, the other pushed."""

    def apply(store: Path) -> None:
        from tracker._exclusions import exclude_cell
        from tracker._ledger import Ledger
        from tracker.mirror import push

        ledger = Ledger(store)
        for cell in ledger.manifest("third").keys:
            exclude_cell(ledger, "third", cell, reason="doubtful", by="ann")
        sorted((store / "log" / "third").glob("*.jsonl"))[number - 2].unlink()
        shutil.rmtree(store / "warehouse")
        push(ledger.log)

    return apply


def swap_certificates(store: Path) -> None:
    one, other = sorted((store / "certificates").glob("*.json"))
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


def edit_artifact(store: Path) -> None:
    next((store / "mlflow" / "artifacts").rglob("environment.json")).write_text("[]")


OF_RUN = "WHERE run_uuid = '{attempt}'"
RUN = "the run compared with its segment"
CHAIN = "digests and chain, by file and line"
CASES = [
    Case(
        "a tag edited",
        sql(f"UPDATE tags SET value = 'x' {OF_RUN} AND key = 'ledger.verdict'"),
        ("edited tag",),
        RUN,
    ),
    Case(
        "a param edited",
        sql(f"UPDATE params SET value = '9' {OF_RUN} AND key = 'layers'"),
        ("edited param",),
        RUN,
    ),
    Case(
        "a metric edited",
        sql(f"UPDATE metrics SET value = 1 {OF_RUN} AND key LIKE 'median_ms/%'"),
        ("edited metric",),
        RUN,
    ),
    Case(
        "a metric added",
        sql(
            "INSERT INTO metrics (run_uuid, key, value, timestamp, step, is_nan) "
            "VALUES ('{attempt}', 'x', 1, 1, 0, 0)"
        ),
        ("added metric",),
        RUN,
    ),
    Case("a status edited", sql(f"UPDATE runs SET status = 'FAILED' {OF_RUN}"), ("edited status",), RUN),
    Case("an artifact edited", edit_artifact, ("edited artifact",), RUN),
    Case(
        "a note edited",
        sql(f"UPDATE tags SET value = 'well' {OF_RUN} AND key = 'mlflow.note.content'"),
        ("edited note",),
        RUN,
    ),
    Case(
        "a run deleted, as MLflow deletes",
        sql(f"UPDATE runs SET lifecycle_stage = 'deleted' {OF_RUN}"),
        ("deleted run",),
        RUN,
    ),
    Case(
        "a run's rows deleted",
        sql(*FORGET_RUN),
        ("deleted segment", "missing run"),
        "the log; the checkpoint tag",
    ),
    Case(
        "a log line replaced",
        lines(lambda log: log.__setitem__(3, log[3].replace(b'"round":0', b'"round":7'))),
        ("damaged segment",),
        CHAIN,
    ),
    Case("a log line dropped", lines(lambda log: log.pop(3)), ("damaged segment",), CHAIN),
    Case("log lines reordered", lines(lambda log: log.insert(3, log.pop(4))), ("damaged segment",), CHAIN),
    Case("a log truncated", lines(lambda log: log.__delitem__(slice(-2, None))), ("damaged segment",), CHAIN),
    Case(
        "a segment rewritten, every digest made right",
        rechain,
        (
            "checkpoint does not match",
            "edited artifact",
            "edited metric",
            "edited note",
            "edited param",
            "edited tag",
            "replaced segment",
            "warehouse segment",
        ),
        "the fit's root; the segment opened after it; the checkpoint tag; the run; the warehouse",
    ),
    Case(
        "a segment deleted",
        delete_segment,
        ("deleted segment", "missing segment", "warehouse segment"),
        "the fit's list; the segment opened after it; its run; the warehouse",
    ),
    Case(
        "the last segment deleted of a campaign without a fit",
        delete_last,
        ("deleted segment", "warehouse segment"),
        "its run; the warehouse",
    ),
    Case(
        "the same, with the warehouse",
        delete_last_with_warehouse,
        ("deleted segment",),
        "its run",
    ),
    Case(
        "a segment deleted that no fit names, with its run and the warehouse",
        delete_uncertified,
        ("deleted segment",),
        "the checkpoint tag",
    ),
    Case(
        "a segment deleted that was not mirrored, and that no fit names",
        before_a_push(0),
        ("missing segment",),
        "the segment opened after it",
    ),
    Case(
        "the same of the last one, which no segment was opened after",
        before_a_push(1),
        (),
        "another copy of the log alone",
    ),
    Case(
        "the checkpoint tag edited",
        sql(
            "UPDATE experiment_tags SET value = replace(value, '\"count\":', '\"count\":1') "
            "WHERE key = 'ledger.checkpoint'"
        ),
        ("deleted segment",),
        "the log",
    ),
    Case("a Parquet file swapped", swap_parquet, ("warehouse file",), "its digest in the catalogue"),
    Case(
        "a Parquet file swapped, its digest in the catalogue too",
        swap_parquet_with_digests,
        ("warehouse rows",),
        "its rows compared with the log's lines",
    ),
    Case(
        "a certificate swapped for that of another campaign",
        swap_certificates,
        ("certificate from another campaign",),
        "its digest in the log",
    ),
]


def table() -> str:
    """The table of the documentation."""
    found = {c.change: ", ".join(f"`{what}`" for what in c.found) or "nothing" for c in CASES}
    rows = [f"| {c.change} | {found[c.change]} | {c.how} |" for c in CASES]
    return "\n".join(["| changed | found as | by |", "|---|---|---|", *rows]) + "\n"


@pytest.fixture(scope="module")
def whole(campaigns, evidence, tmp_path_factory) -> Path:
    """A ledger with two certified campaigns and one without a fit, mirrored."""
    from tracker._certificates import certify_fit
    from tracker._exclusions import exclude_cell
    from tracker._fits import fit_campaign
    from tracker.mirror import push

    store = tmp_path_factory.mktemp("whole") / "ledger"
    for name in ("known", "second"):
        plan = campaigns.known_manifest(campaigns.TOML.replace('campaign = "known"', f'campaign = "{name}"'))
        ledger = campaigns.known_ledger(store, plan)
        fit_campaign(ledger, name)
        certify_fit(ledger, name)
    exclude_cell(ledger, "second", plan.keys[0], reason="doubtful", reference="", by="ann")
    evidence.open_campaign(ledger.log, evidence.manifest("third"))
    evidence.completed_attempt(ledger.log, "third")
    ledger.warehouse.refresh()
    push(ledger.log)
    return store


def verified(store: Path) -> set[str]:
    from tracker._ledger import Ledger
    from tracker._verification import verify_ledger

    return {finding.what for finding in verify_ledger(Ledger(store))} - {"missing trigger"}


def test_nothing_is_found_where_nothing_was_changed(whole: Path, tmp_path: Path):
    assert verified(shutil.copytree(whole, tmp_path / "ledger")) == set()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.change)
def test_a_change_is_found_as_the_documentation_says(whole: Path, tmp_path: Path, case: Case):
    store = shutil.copytree(whole, tmp_path / "ledger")
    case.apply(store)
    assert tuple(sorted(verified(store))) == case.found


def test_the_documentation_holds_the_table_of_these_cases():
    (found,) = TABLE.findall(PAGE.read_text())
    assert found == table(), f"run {Path(__file__).name} to write it"


def test_a_proof_is_checked_by_the_lines_that_the_documentation_shows(whole: Path):
    from tracker.log import Log, inclusion_proof
    from tracker.mirror._checkpoint import CHECKPOINT_TAG
    from tracker.mlflow_store import connect, embedded_uri

    (script,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    tags = connect(embedded_uri(whole)).experiment_tags("known")
    assert tags is not None
    root = json.loads(tags[CHECKPOINT_TAG])["root"]

    def passes(proof: dict, root: str) -> bool:
        command = [sys.executable, "-I", "-c", script, root]
        return subprocess.run(command, input=json.dumps(proof), text=True, check=False).returncode == 0

    proof = inclusion_proof(Log(whole), attempts(whole)[1].stem, 4)
    assert passes(proof, root)
    assert not passes(proof, "0" * 64)
    assert not passes({**proof, "line": proof["line"].replace("measured", "warmup")}, root)


if __name__ == "__main__":
    page = PAGE.read_text()
    PAGE.write_text(TABLE.sub(lambda _: table(), page))
