"""Loading from a real MLflow registry on sqlite."""

import shutil
import subprocess
import sys
import textwrap

import pytest

from planner import OfflineWarning, load
from planner._registry import RegisteredVersion, files_of
from schemas import CorruptionError, NotFoundError, StoreUnavailableError

NAME = "layout-cost"


def test_by_number_by_alias_and_by_address(registry, write_bundle, monkeypatch):
    registry.register(write_bundle(folder="one"))
    second = write_bundle("h200", folder="two")
    registry.register(second)
    registry.client.set_registered_model_alias(NAME, "champion", "2")
    found = load(NAME, version=2, tracking_uri=registry.uri)
    assert (found.version, found.digest) == (2, second.digest)
    assert [table.table_id for table in found.tables] == ["h200"]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", registry.uri)
    same = [load(NAME, alias="champion"), load(f"models:/{NAME}/2"), load(f"models:/{NAME}@champion")]
    assert [(item.version, item.tables) for item in same] == [(2, found.tables)] * 3
    assert load(NAME, version=1).tables == ()


def test_the_ledgers_own_store_is_the_default(registry, write_bundle, monkeypatch, tmp_path):
    monkeypatch.setenv("LAYOUTLEDGER_STORE", str(tmp_path))
    bundle = write_bundle("cpu")
    beside = registry.database.parent / "artifacts" / "models" / "a b"
    shutil.copytree(bundle.folder, beside / "artifacts")
    registry.register(bundle, source="mlflow-artifacts:/models/a%20b")
    assert load(NAME, version=1).digest == bundle.digest


def test_an_unknown_version_alias_or_model_says_what_there_is(registry, write_bundle):
    registry.register(write_bundle())
    registry.client.set_registered_model_alias(NAME, "champion", "1")
    with pytest.raises(NotFoundError, match=r"no version 7; versions: 1; aliases: champion \(version 1\)"):
        load(NAME, version=7, tracking_uri=registry.uri)
    with pytest.raises(NotFoundError, match="no alias 'rival'"):
        load(NAME, alias="rival", tracking_uri=registry.uri)
    with pytest.raises(NotFoundError, match=f"there are: {NAME}"):
        load("other", version=1, tracking_uri=registry.uri)


def test_a_bundle_changed_after_registration_is_refused(registry, write_bundle):
    bundle = write_bundle("cpu")
    registry.register(bundle)
    bundle.edit(lambda content: content.update(description="better"))
    with pytest.raises(CorruptionError, match=r"coefficients\.json: digest is"):
        load(NAME, version=1, tracking_uri=registry.uri)


def test_a_version_without_a_bundle_is_refused(registry, write_bundle, tmp_path):
    (tmp_path / "empty").mkdir()
    registry.register(write_bundle(), source=str(tmp_path / "empty"))
    with pytest.raises(CorruptionError, match=r"holds no coefficients\.json"):
        load(NAME, version=1, tracking_uri=registry.uri)


def test_once_resolved_a_version_and_an_alias_load_without_the_registry(registry, write_bundle):
    bundle = write_bundle("cpu")
    registry.register(bundle)
    registry.client.set_registered_model_alias(NAME, "champion", "1")
    first = load(NAME, version=1, tracking_uri=registry.uri)
    load(NAME, alias="champion", tracking_uri=registry.uri)
    registry.vanish()
    shutil.rmtree(bundle.folder)
    for asked in ({"version": 1}, {"alias": "champion"}):
        with pytest.warns(OfflineWarning, match="using version 1"):
            again = load(NAME, tracking_uri=registry.uri, **asked)
        assert (again.version, again.digest, again.tables) == (1, first.digest, first.tables)


def test_a_cached_bundle_is_checked_again(registry, write_bundle, tmp_path):
    registry.register(write_bundle("cpu"))
    load(NAME, version=1, tracking_uri=registry.uri)
    (cached,) = (tmp_path / "cache" / "bundles").iterdir()
    path = cached / "coefficients.json"
    path.write_text(path.read_text().replace("for a test", "for a jest"))
    with pytest.raises(CorruptionError, match="digest is"):
        load(NAME, version=1, tracking_uri=registry.uri)


def test_never_resolved_and_unreachable_says_so_at_once(tmp_path):
    with pytest.raises(StoreUnavailableError, match="no registry at this place"):
        load(NAME, version=1, tracking_uri=f"sqlite:///{tmp_path}/none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        load(NAME, version=1, tracking_uri="http://127.0.0.1:1")


def test_a_file_that_is_no_database_is_no_registry(tmp_path):
    (tmp_path / "mlflow.db").write_bytes(b"no database" * 10)
    with pytest.raises(StoreUnavailableError, match="no SQLite database"):
        load(NAME, version=1, tracking_uri=f"sqlite:///{tmp_path}/mlflow.db")


def test_files_that_cannot_be_reached_are_named_without_credentials(tmp_path):
    place = f"file://ann:hunter2@store{tmp_path}"
    for folder, error in (("none", StoreUnavailableError), ("", CorruptionError)):
        found = RegisteredVersion(1, None, f"{place}/{folder}")
        with pytest.raises(error, match="store") as caught, files_of("", found, "coefficients.json"):
            pass
        assert "hunter2" not in str(caught.value)


def test_offline_loading_needs_no_mlflow(registry, write_bundle):
    registry.register(write_bundle("cpu"))
    load(NAME, version=1, tracking_uri=registry.uri)
    registry.vanish()
    code = f"""
        import sys, warnings
        import planner
        warnings.simplefilter("ignore")
        loaded = planner.load({NAME!r}, version=1, tracking_uri={registry.uri!r})
        print(loaded.version, "mlflow" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "False"]
