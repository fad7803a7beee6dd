"""`export version`: what a trainer loads where no registry is reached."""

import json

from planner import load


def test_a_version_loads_from_its_folder_as_from_the_registry(call, certified, tmp_path, monkeypatch):
    folder = tmp_path / "layout-cost-2"
    monkeypatch.chdir(tmp_path)
    assert call("register", "known").code == 0
    outcome = call("export", "version", "2", "--json")
    assert outcome.code == 0, outcome.err
    assert len(json.loads(outcome.out)["files"]) == len(list(folder.iterdir())) == 2
    assert load(folder).digest == load("layout-cost", version=2).digest
    certificate = next(folder.glob("certificate-*.json"))
    assert call("certificate", "check", certificate).code == 0
    assert call("export", "version", "2").code == 0
    assert call("export", "version", "9").code == 3
    other = call("export", "version", "1", "--output", folder)
    assert other.code == 2 and "coefficients.json" in other.err
    assert load(folder).digest == load("layout-cost", version=2).digest


def test_a_ledger_without_a_registry_has_no_version_to_export(call, known):
    outcome = call("export", "version", "2")
    assert outcome.code == 3 and "nothing was registered" in outcome.err
