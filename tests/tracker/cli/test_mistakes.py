"""A user's mistake ends with a code of the table and a message, never a traceback, and changes nothing."""

import hashlib
import os
from pathlib import Path

import pytest

from tracker._error_pages import exit_codes

NO_LEDGER = {
    "certify": ("certify", "c"),
    "campaign show": ("campaign", "show", "c"),
    "campaign status": ("campaign", "status", "c"),
    "campaign resume": ("campaign", "resume", "c"),
    "exclude": ("exclude", "c", "x", "--reason", "r"),
    "fit": ("fit", "c"),
    "fit compare": ("fit", "compare", "c"),
    "fit check": ("fit", "check", "c"),
    "register": ("register", "c"),
    "review add": ("review", "add", "a" * 12, "--aspect", "adoption", "--verdict", "hold", "--reason", "r"),
    "review list": ("review", "list", "a" * 12),
    "hold add": ("hold", "add", "2", "--reason", "r"),
    "hold release": ("hold", "release", "2", "--reason", "r"),
    "hold list": ("hold", "list"),
    "promote": ("promote", "2", "--reason", "r"),
    "rollback": ("rollback", "--reason", "r"),
    "versions": ("versions",),
    "plan": ("plan", "--campaign", "c"),
    "certificate export": ("certificate", "export", "a" * 12),
    "export table": ("export", "table", "a" * 12),
    "sql": ("sql", "select 1"),
    "push": ("push",),
    "ui": ("ui",),
    "recover": ("recover",),
    "verify": ("verify",),
    "rebuild": ("rebuild",),
    "prove": ("prove", "0" * 26, "0"),
}

# What each says of an argument that is wrong, on a ledger with the campaign `known`, measured in full.
MISTAKES = {
    "an unknown campaign to show": (("campaign", "show", "nope"), 3, "known"),
    "an unknown campaign to resume": (("campaign", "resume", "nope"), 3, "known"),
    "an unknown campaign to fit": (("fit", "nope"), 3, "known"),
    "an unknown campaign to compare": (("fit", "compare", "nope"), 3, "known"),
    "an unknown campaign to certify": (("certify", "nope"), 3, "known"),
    "an unknown campaign to register": (("register", "nope"), 3, "known"),
    "an unknown campaign to plan": (("plan", "--campaign", "nope"), 3, "known"),
    "an unknown cell to exclude": (("exclude", "known", "nope", "--reason", "r"), 3, "its cells are"),
    "an unknown cell to plan": (("plan", "--cell", "nope"), 3, "there are"),
    "an unknown method": (("fit", "known", "--method", "nope"), 2, "there are"),
    "an unknown fit": (("certify", "known", "--fit", "nope"), 3, "has no fit"),
    "no fit to certify": (("certify", "known"), 3, "layoutledger fit known"),
    "no certificate to register": (("register", "known"), 3, "layoutledger certify known"),
    "no table to export": (("export", "table", "abc"), 3, "no table"),
    "no digest to export": (("certificate", "export", ""), 3, "no certificate"),
    "no such version": (("plan", "--version", "2"), 7, "no registry"),
    "no version to promote": (("promote", "2", "--reason", "r"), 3, "no version 2"),
    "nothing to go back to": (("rollback", "--reason", "r"), 3, "no earlier version"),
    "a version below 1": (("promote", "0", "--reason", "r"), 2, "0"),
    "an alias without a name": (("promote", "1", "--alias", "", "--reason", "r"), 3, "no version"),
    "a review of what is not there": (
        ("review", "add", "f" * 12, "--aspect", "adoption", "--verdict", "hold", "--reason", "r"),
        3,
        "no certificate",
    ),
    "a hold without a reason": (("hold", "add", "2"), 2, "--reason"),
    "a hold on nothing": (("hold", "add", "7", "--reason", "r"), 3, "no version 7"),
    "a release of nothing": (("hold", "release", "7", "--reason", "r"), 3, "none is open"),
    "a campaign file that is not there": (("campaign", "run", "nope.toml"), 3, "shipped campaigns are"),
    "a campaign file that is not TOML": (("campaign", "run", "{bad.toml}"), 2, "bad.toml"),
    "a campaign file that is a folder": (("campaign", "run", "{folder}"), 3, "folder"),
    "a campaign file that lacks all": (("campaign", "run", "{empty.toml}"), 2, "empty.toml"),
    "a certificate that is not there": (("certificate", "check", "nope.json"), 2, "nope.json"),
    "a certificate that is not JSON": (("certificate", "check", "{bad.toml}"), 2, "not JSON"),
    "a certificate of another type": (("certificate", "show", "{object.json}"), 2, "object.json"),
    "a certificate that is a folder": (("certificate", "show", "{folder}"), 2, "folder"),
    "certificates to compare": (("certificate", "diff", "{bad.toml}", "{bad.toml}"), 2, "not JSON"),
    "nothing to sign": (("certificate", "sign", "nope.json", "--key", "nope.pem"), 2, "nope.pem"),
    "nothing to verify": (("certificate", "verify", "nope.json", "--key", "nope.pem"), 2, "nope"),
    "a key in a folder that is not there": (("certificate", "keygen", "no/such/k.pem"), 2, "k.pem"),
    "an import that is not there": (("import", "art-certificate", "nope.json"), 2, "nope.json"),
    "an import that is not JSON": (("import", "art-certificate", "{bad.toml}"), 2, "not JSON"),
    "an import of something else": (("import", "art-certificate", "{object.json}"), 2, "object.json"),
    "records that are not JSON": (
        ("import", "art-jsonl", "{bad.toml}", "--campaign", "x", "--holdout", "y"),
        2,
        "bad.toml:1",
    ),
    "records of something else": (
        ("import", "art-jsonl", "{object.json}", "--campaign", "x", "--holdout", "y"),
        2,
        "object.json",
    ),
    "rows that are not there": (("plan", "--rows", "nope.jsonl"), 2, "nope.jsonl"),
    "rows with a token that is too large": (("plan", "--rows", "{huge.jsonl}"), 2, "huge.jsonl:1"),
    "more GDN layers than layers": (
        ("plan", "--rows", "{rows.jsonl}", "--layers", "2", "--gdn-layers", "3"),
        2,
        "gdn",
    ),
    "SQL that is none": (("sql", "selec 1"), 2, "selec"),
    "SQL that writes": (("sql", "create table t (a int)"), 2, "CREATE"),
    "SQL that reads elsewhere": (("sql", "from read_text('/etc/hosts')"), 2, ""),
    "rows to a folder that is not there": (
        ("sql", "select 1 as a", "--parquet", "no/such/x.parquet"),
        7,
        "no/such",
    ),
    "a certificate to a folder that is not there": (
        ("fit", "compare", "known", "--figures", "{bad.toml}"),
        2,
        "bad.toml",
    ),
    "a segment that is none": (("prove", "nope", "0"), 2, "nope"),
    "a segment that is not there": (("prove", "0" * 26, "0"), 3, "0" * 26),
    "a port that is none": (("ui", "--port", "99999"), 2, "99999"),
    "an unknown verb": (("nope",), 2, "nope"),
    "an unknown option": (("verify", "--nope"), 2, "--nope"),
    "an argument too many": (("verify", "nope"), 2, "nope"),
    "a store that is a file": (("verify", "--store", "{bad.toml}"), 2, "is a file"),
    "a shell that is none": (("completion", "csh"), 2, "csh"),
    "a tracking store of another kind": (("push",), 2, "postgresql://***@db"),
    "a tracking server that is down": (("push", "--campaign", "known"), 7, "does not answer"),
    "a server to pull from that is down": (("pull",), 7, "does not answer"),
    "a server to register at that is down": (("versions",), 7, "does not answer"),
}

SERVERS = {
    "a tracking store of another kind": "postgresql://ann:hunter2@db/x",
    "a tracking server that is down": "http://127.0.0.1:9",
    "a server to pull from that is down": "http://127.0.0.1:9",
    "a server to register at that is down": "http://127.0.0.1:9",
}

CODES = {each.code for each in exit_codes()} - {0, 70}


def digests(folder: Path) -> dict[str, str]:
    """Every file that a ledger cannot make again, by digest."""
    kept = (
        path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] == "log"
    )
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


def check(outcome, code, says):
    assert outcome.code == code, outcome.err
    assert outcome.code in CODES
    assert outcome.err.startswith("error: ") and says in outcome.err
    assert "Traceback" not in outcome.err + outcome.out
    assert "hunter2" not in outcome.err + outcome.out


@pytest.mark.parametrize("verb", NO_LEDGER)
def test_without_a_ledger_each_verb_says_so_and_makes_none(call, store, verb):
    check(call(*NO_LEDGER[verb]), 3, "no ledger here")
    assert not store.exists()


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    contents = {
        "bad.toml": "campaign = [\n",
        "empty.toml": "",
        "object.json": '{"a": 1}',
        "huge.jsonl": f"[1, {2**64}]\n",
        "rows.jsonl": "[1, 2, 3]\n[1, 2, 4]\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "folder").mkdir()
    return {f"{{{name}}}": tmp_path / name for name in (*contents, "folder")}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_said_and_changes_nothing(call, known, store, files, monkeypatch, tmp_path, mistake):
    arguments, code, says = MISTAKES[mistake]
    monkeypatch.chdir(tmp_path)
    if mistake in SERVERS:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", SERVERS[mistake])
    before, around = digests(store), set(os.listdir(tmp_path))
    check(call(*(files.get(part, part) for part in arguments)), code, says)
    assert digests(store) == before
    assert set(os.listdir(tmp_path)) == around


def test_a_defect_is_told_as_one_with_its_place_and_its_own_code(call, monkeypatch, known):
    def fail(ledger):
        raise ZeroDivisionError("hunter2 at http://ann:hunter2@db")

    monkeypatch.setattr("tracker._verification.verify_ledger", fail)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "hunter2")
    outcome = call("verify")
    assert outcome.code == 70 and "a defect of layoutledger" in outcome.err
    assert "test_mistakes.py:" in outcome.err and "hunter2" not in outcome.err
    assert "Traceback" not in outcome.err
    monkeypatch.setenv("LAYOUTLEDGER_TRACEBACK", "1")
    shown = call("verify").err
    assert "Traceback" in shown and "hunter2" not in shown
