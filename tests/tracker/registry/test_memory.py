"""A version's memory model: loaded with the version, and reviewed by itself."""

import pytest

import planner
from planner.memory import MemoryProfile, ModelFloor, Signature
from schemas import (
    CoefficientBundle,
    InvalidInputError,
    LearnedProfile,
    MemoryModel,
    MemorySignature,
    PromotionRefusedError,
    canonical_json,
)
from tracker.mlflow_store import embedded_uri
from tracker.registry import MODEL, make_bundle, promote, record_review, register_bundle

SIGNATURE = Signature("m", "tp1cp1ep1etp1 sm_90", True, "loss")


def memory(formula=2, rate=7 << 20):
    profile = LearnedProfile(
        signature=MemorySignature(model="m", topology="tp1cp1ep1etp1 sm_90", grad=True, outputs="loss"),
        rate=rate,
        retained_rate=1 << 20,
        sharing=1 << 20,
        largest_tokens=100,
        largest_packed=100,
        largest_logical=100,
        observations=4,
    )
    return MemoryModel(formula=formula, profiles=(profile,), evidence_root="0" * 64, segments=("s",))


@pytest.fixture
def with_memory(registered, statement):
    """A ledger whose version 3 has a memory model."""
    bundle = make_bundle([statement], memory=memory())
    assert register_bundle(registered, bundle, [statement], embedded_uri(registered.root)) == 3
    return registered


def test_profiles_load_with_the_coefficient_version(with_memory):
    loaded = planner.load(MODEL, version=3, tracking_uri=embedded_uri(with_memory.root))
    assert loaded.memory is not None
    assert loaded.memory.digest == memory().digest
    assert loaded.memory.profiles == {SIGNATURE: MemoryProfile(7 << 20, 1 << 20, 1 << 20, 100, 100, 100, 4)}
    pricing = loaded.memory.pricing(SIGNATURE, ModelFloor())
    assert pricing.formula == 2 and pricing.profile is not None
    other = Signature("other", "t", False, "logits")
    assert loaded.memory.pricing(other, ModelFloor()).profile is None
    assert planner.load(MODEL, version=2, tracking_uri=embedded_uri(with_memory.root)).memory is None


def test_a_memory_model_needs_both_keys_of_its_own(with_memory, statement, approve):
    approve(with_memory, statement)
    with pytest.raises(PromotionRefusedError, match=r"(?s)formula 2: no correctness.*no adoption"):
        promote(with_memory, "champion", 3, by="ada", reason="r")
    record_review(with_memory, memory().digest, "correctness", "clear", by="ada", reason="replayed")
    record_review(with_memory, memory().digest, "adoption", "hold", by="bob", reason="wait for a night run")
    with pytest.raises(PromotionRefusedError, match="hold by bob") as refused:
        promote(with_memory, "champion", 3, by="ada", reason="r")
    assert "no correctness" not in str(refused.value)
    record_review(with_memory, memory().digest, "adoption", "approve", by="bob", reason="it was quiet")
    assert promote(with_memory, "champion", 3, by="ada", reason="r").lacked == ()


def test_another_formula_is_a_new_version_without_reviews(with_memory, statement, approve):
    approve(with_memory, statement)
    for aspect, verdict in (("correctness", "clear"), ("adoption", "approve")):
        record_review(with_memory, memory().digest, aspect, verdict, by="ada", reason="checked")
    changed = make_bundle([statement], memory=memory(formula=1))
    assert register_bundle(with_memory, changed, [statement], embedded_uri(with_memory.root)) == 4
    with pytest.raises(PromotionRefusedError, match="formula 1: no correctness review"):
        promote(with_memory, "champion", 4, by="ada", reason="r")


def test_a_formula_that_this_program_does_not_know_is_refused(tmp_path, statement):
    bundle = make_bundle([statement], memory=memory(formula=99))
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "coefficients.json").write_bytes(canonical_json(bundle.plain()))
    (folder / bundle.tables[0].certificate_file).write_bytes(canonical_json(statement.plain()))
    with pytest.raises(InvalidInputError, match=r"memory\.formula is 99"):
        planner.load(str(folder / "coefficients.json"))


def test_a_bundle_without_memory_is_spelled_as_before_there_was_any(statement):
    assert "memory" not in make_bundle([statement]).plain()
    assert CoefficientBundle().plain() == {
        "schema": "layoutledger.coefficients.v1",
        "description": "",
        "tables": [],
    }
