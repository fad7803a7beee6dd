"""A lost registry comes back from the log under the numbers that were recorded, or it is said why not."""

import shutil
from collections.abc import Callable

import pytest

import planner
from schemas import CorruptionError, NotFoundError, Statement
from tracker.log import Log
from tracker.mlflow_store import SEAL_TAG, Models, connect, embedded_uri
from tracker.registry import (
    MODEL,
    RestoredRegistry,
    make_bundle,
    promote,
    register_bundle,
    registrations,
    restore_registry,
    verify_registry,
    versions,
)
from tracker.registry._bundle import hand_set_package
from tracker.registry._register import create_version


@pytest.fixture
def statement_of(statement: Statement, other_statement: Statement) -> Callable[[str], Statement]:
    known = {each.digest: each for each in (statement, other_statement)}

    def find(digest: str) -> Statement:
        if digest not in known:
            raise NotFoundError(f"no certificate {digest}")
        return known[digest]

    return find


def shown(log: Log):
    return [(each.version, each.bundle_digest, each.description, each.aliases) for each in versions(log)]


def lose(log: Log) -> None:
    shutil.rmtree(log.root / "mlflow")


def test_versions_and_aliases_come_back_as_they_were(registered: Log, statement: Statement, statement_of):
    promote(registered, "champion", 2, by="ann", reason="first", force=True)
    promote(registered, "candidate", 1, by="ann", reason="beside it")
    before, log_before = shown(registered), registered.segments()
    digest = planner.load(MODEL, version=2, tracking_uri=embedded_uri(registered.root)).digest
    lose(registered)
    restored = restore_registry(registered, statement_of)
    assert restored == RestoredRegistry((1, 2), {"champion": 2, "candidate": 1})
    assert shown(registered) == before
    assert verify_registry(registered) == []
    assert planner.load(MODEL, version=2, tracking_uri=embedded_uri(registered.root)).digest == digest
    assert registered.segments() == log_before


def test_again_changes_nothing_and_asks_for_no_certificate(registered: Log):
    before = shown(registered)
    assert restore_registry(registered, lambda digest: pytest.fail(digest)) == RestoredRegistry()
    assert shown(registered) == before


def test_a_log_without_registrations_makes_no_store(tmp_path, statement_of):
    assert restore_registry(Log(tmp_path / "ledger"), statement_of) == RestoredRegistry()
    assert not (tmp_path / "ledger").exists()


def test_a_bundle_with_words_of_its_own_comes_back(registered: Log, other_statement: Statement, statement_of):
    bundle = make_bundle([other_statement], description="measured again after the fan was cleaned")
    register_bundle(registered, bundle, [other_statement])
    before = shown(registered)
    lose(registered)
    assert restore_registry(registered, statement_of).versions == (1, 2, 3)
    assert shown(registered) == before


def test_an_older_registration_does_not_hold_the_bundle_and_comes_back_all_the_same(
    log: Log, statement: Statement, statement_of, monkeypatch
):
    from schemas import VersionRegistered

    plain = VersionRegistered.plain
    monkeypatch.setattr(
        VersionRegistered, "plain", lambda self: {k: v for k, v in plain(self).items() if k != "bundle"}
    )
    described = f"Tables of {statement.predicate.campaign}"
    register_bundle(log, make_bundle([statement], description=described), [statement])
    assert registrations(log)[-1].fact.bundle is None
    before = shown(log)
    lose(log)
    assert restore_registry(log, statement_of).versions == (1, 2)
    assert shown(log) == before


def test_a_version_left_without_its_seal_is_sealed(registered: Log, statement: Statement, statement_of):
    promote(registered, "champion", 2, by="ann", reason="first", force=True)
    lose(registered)
    models = Models(connect(embedded_uri(registered.root)))

    def interrupt(digest: str) -> Statement:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore_registry(registered, interrupt)
    assert models.versions(MODEL) == ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Models, "tag_version", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            restore_registry(registered, statement_of)
    assert [SEAL_TAG in each.tags for each in models.versions(MODEL)] == [False]
    assert models.aliases(MODEL) == {}
    assert restore_registry(registered, statement_of) == RestoredRegistry((2,), {"champion": 2})
    assert verify_registry(registered) == []


def test_a_certificate_that_is_not_there_stops_before_anything_is_made(registered: Log):
    lose(registered)

    def nothing(digest: str) -> Statement:
        raise NotFoundError(f"no certificate {digest}")

    with pytest.raises(NotFoundError, match="version 2: its certificate"):
        restore_registry(registered, nothing)
    assert versions(registered) == ()


def test_a_certificate_that_comes_out_otherwise_is_refused(registered: Log, other_statement: Statement):
    lose(registered)
    with pytest.raises(CorruptionError, match="comes out as"):
        restore_registry(registered, lambda digest: other_statement)
    assert versions(registered) == ()


def test_numbers_that_would_come_out_otherwise_are_not_begun(registered: Log, statement_of):
    promote(registered, "champion", 2, by="ann", reason="first", force=True)
    first = registrations(registered)[0]
    registered.find(first.segment).path.unlink()
    lose(registered)
    with pytest.raises(CorruptionError, match="version 2 is missing, and the next one would be 1"):
        restore_registry(registered, statement_of)
    assert versions(registered) == ()


def test_a_number_that_comes_out_otherwise_is_deleted_and_no_alias_moved(registered: Log, statement_of):
    promote(registered, "champion", 2, by="ann", reason="first", force=True)
    lose(registered)
    models = Models(connect(embedded_uri(registered.root)))
    models.ensure_model(MODEL, "")
    # MLflow gives no number twice: 1 is spent, and nothing shows it.
    models.delete_version(MODEL, create_version(models, hand_set_package()))
    with pytest.raises(CorruptionError, match="version 1 came out as 2"):
        restore_registry(registered, statement_of)
    assert models.versions(MODEL) == ()
    assert models.aliases(MODEL) == {}


def test_another_registry_is_left_alone(registered: Log, log: Log, other_statement: Statement, statement_of):
    register_bundle(log, make_bundle([other_statement]), [other_statement])
    before = shown(log)
    with pytest.raises(CorruptionError, match="version 2 is bundle"):
        restore_registry(registered, statement_of, embedded_uri(log.root))
    assert shown(log) == before


def test_an_alias_that_points_elsewhere_stays_for_verify_to_report(registered: Log, statement_of):
    promote(registered, "champion", 2, by="ann", reason="first", force=True)
    models = Models(connect(embedded_uri(registered.root)))
    models.set_alias(MODEL, "champion", 1)
    assert restore_registry(registered, statement_of) == RestoredRegistry()
    assert models.aliases(MODEL) == {"champion": 1}
    assert "moved alias" in [finding.what for finding in verify_registry(registered)]
