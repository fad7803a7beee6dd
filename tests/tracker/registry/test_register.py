import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import planner
from planner import LayoutFeatures, ScoringFacts, score_features
from schemas import CoefficientBundle, CorruptionError, InvalidInputError, Statement, StoreUnavailableError
from tracker.log import CRASH_VARIABLE, Log, recover
from tracker.mlflow_store import Models, SealedError, connect, embedded_uri
from tracker.registry import (
    MODEL,
    make_bundle,
    register_bundle,
    register_hand_set,
    registrations,
    verify_registry,
    versions,
)
from tracker.registry._pyfunc import FEATURE_COLUMNS

REGISTER = "import sys; from pathlib import Path; from tracker.log import Log; "
REGISTER += "from tracker.registry import register_hand_set; register_hand_set(Log(Path(sys.argv[1])))"


def test_the_hand_set_score_is_version_1_and_registered_once(log: Log):
    assert register_hand_set(log) == 1
    assert register_hand_set(log) == 1
    assert [version.version for version in versions(log)] == [1]
    assert len(registrations(log)) == 1
    assert planner.load(MODEL, version=1, tracking_uri=embedded_uri(log.root)).tables == ()


def test_a_certified_table_is_version_2_and_the_planner_loads_it(log: Log, statement: Statement):
    bundle = make_bundle([statement], "first fit")
    assert register_bundle(log, bundle, [statement]) == 2
    loaded = planner.load(MODEL, version=2, tracking_uri=embedded_uri(log.root))
    assert loaded.digest == bundle.digest
    assert dict(loaded.tables[0].coefficients) == statement.predicate.table
    assert loaded.tables[0].certificate_digest == statement.digest
    fact = registrations(log)[-1].fact
    assert (fact.version, fact.bundle_digest) == (2, bundle.digest)
    assert fact.tables[0].certificate == statement.digest


def test_the_same_bundle_is_the_version_it_has(log: Log, statement: Statement, other_statement: Statement):
    assert register_bundle(log, make_bundle([statement]), [statement]) == 2
    assert register_bundle(log, make_bundle([other_statement]), [other_statement]) == 3
    assert register_bundle(log, make_bundle([statement]), [statement]) == 2
    assert [each.fact.version for each in registrations(log)] == [1, 2, 3]
    assert verify_registry(log) == []


def test_a_table_without_its_certificate_is_refused(
    log: Log, statement: Statement, other_statement: Statement
):
    with pytest.raises(InvalidInputError, match="with its certificate only"):
        register_bundle(log, make_bundle([statement]), [other_statement])
    assert versions(log) == ()


def test_a_bundle_that_says_other_than_its_certificate_is_refused(log: Log, statement: Statement):
    from schemas import table_digest

    table = make_bundle([statement]).tables[0]
    other = {**table.coefficients, "gdn_level": table.coefficients.get("gdn_level", 0) + 1}
    changed = table.model_copy(update={"coefficients": other, "table_digest": table_digest(other)})
    with pytest.raises(InvalidInputError, match="not those of certificate"):
        register_bundle(log, CoefficientBundle(tables=(changed,)), [statement])


@pytest.mark.parametrize("name", ["../x.json", "coefficients.json", ".hidden", "a\\b"])
def test_a_certificate_file_that_leads_elsewhere_is_refused(log: Log, statement: Statement, name: str):
    table = make_bundle([statement]).tables[0].model_copy(update={"certificate_file": name})
    with pytest.raises(InvalidInputError, match="plain file name"):
        register_bundle(log, CoefficientBundle(tables=(table,)), [statement])


def test_mlflow_scores_rows_as_the_planner_does(log: Log, statement: Statement):
    register_bundle(log, make_bundle([statement]), [statement])
    import mlflow

    mlflow.set_tracking_uri(embedded_uri(log.root))
    try:
        fitted = mlflow.pyfunc.load_model(f"models:/{MODEL}/2")
        hand_set = mlflow.pyfunc.load_model(f"models:/{MODEL}/1")
    finally:
        mlflow.set_tracking_uri(None)
    below = (1, 2, 3, 4, 5, 5, 5, 5)
    row = dict(zip(FEATURE_COLUMNS, (5000, 7, 3, *below, 2, 2, 32, 24), strict=True))
    features = LayoutFeatures(5000, 7, 3, below)
    facts = ScoringFacts(cp_size=2, tp_size=2, layers=32, gdn_layers=24, uses_gdn=True)
    table_id = statement.predicate.table_id
    rows = pd.DataFrame([row, {**row, "packed_tokens": 6000}])
    named = pd.DataFrame([{**row, "table_id": table_id}])
    expected = score_features(features, facts, statement.predicate.table)[0]
    assert fitted.predict(rows)["work"].tolist()[0] == expected
    assert fitted.predict(named)["work"].tolist() == [expected]
    by_hand = hand_set.predict(pd.DataFrame([{**row, "shared_decisions": 2}]))["work"].tolist()
    assert by_hand == [score_features(features, facts, None, shared_decisions=2)[0]]


def test_files_are_source_and_json_never_a_pickle(log: Log):
    register_hand_set(log)
    models = Models(connect(embedded_uri(log.root)))
    files = models.read_files(models.versions(MODEL)[0])
    assert "artifacts/coefficients.json" in files
    assert not [name for name in files if name.endswith((".pkl", ".cloudpickle", ".pickle"))]


def test_the_description_is_rendered_with_names_escaped(log: Log, statement: Statement):
    predicate = statement.predicate.model_copy(update={"table_id": "<script>x</script>|**b**"})
    from schemas import wrap_certificate

    hostile = wrap_certificate(predicate)
    register_bundle(log, make_bundle([hostile], "<img src=x>"), [hostile])
    text = versions(log)[1].description
    assert "<script>" not in text and "<img" not in text and "**b**" not in text
    assert hostile.digest in text and "gates passed" in text and len(text) <= 5000


def test_a_registered_version_cannot_be_changed_or_deleted(log: Log):
    register_hand_set(log)
    models = Models(connect(embedded_uri(log.root)))
    with pytest.raises(SealedError):
        models.delete_version(MODEL, 1)
    with pytest.raises(SealedError):
        models.tag_version(MODEL, 1, "ledger.bundle_digest", "x")
    with pytest.raises(SealedError):
        models.tracking.call("x", models.tracking.client.update_model_version, MODEL, "1", "other words")
    with pytest.raises(SealedError):
        models.tracking.call("x", models.tracking.client.delete_registered_model, MODEL)


@pytest.mark.parametrize(
    "point",
    [
        "register.created",
        *(
            pytest.param(point, marks=pytest.mark.slow)
            for point in ("register.stored", "register.recorded", "open.created")
        ),
    ],
)
def test_a_registration_that_was_killed_is_completed(log: Log, point: str):
    repository = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, CRASH_VARIABLE: point}
    command = [sys.executable, "-c", REGISTER, str(log.root)]
    assert subprocess.run(command, cwd=repository, env=environment).returncode == -signal.SIGKILL
    recover(log)
    assert register_hand_set(log) == 1
    assert [version.version for version in versions(log)] == [1]
    assert verify_registry(log) == []


def test_a_registry_that_something_else_used_is_refused(log: Log):
    models = Models(connect(embedded_uri(log.root)))
    models.ensure_model(MODEL, "")
    models.create_version(MODEL, "mlflow-artifacts:/x", {}, "")
    with pytest.raises(CorruptionError, match="used by something else"):
        register_hand_set(log)


def test_a_registry_that_is_away_changes_nothing(log: Log):
    with pytest.raises(StoreUnavailableError):
        register_hand_set(log, "http://127.0.0.1:9")
    assert registrations(log) == ()


def test_the_version_follows_a_moved_ledger(log: Log, statement: Statement):
    register_bundle(log, make_bundle([statement]), [statement])
    moved = log.root.rename(log.root.parent / "moved")
    assert planner.load(MODEL, version=2, tracking_uri=embedded_uri(moved)).version == 2
    assert verify_registry(Log(moved)) == []
