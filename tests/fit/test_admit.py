import pytest

from fit import CellEvidence, check_evidence
from schemas import IncompleteEvidenceError


def complete(**usable):
    return CellEvidence(frozenset({"f1"}), usable or {"no_sharing": 5, "depth_one": 7})


def refusal(expected, present, exclusions=None, required=5):
    with pytest.raises(IncompleteEvidenceError) as caught:
        check_evidence(expected, present, exclusions=exclusions or {}, required=required)
    return str(caught.value)


def test_complete_evidence_is_let_in():
    check_evidence(["a", "b"], {"a": complete(), "b": complete()}, exclusions={}, required=5)


def test_an_excluded_cell_may_be_missing_or_incomplete():
    check_evidence(["a", "b"], {"a": complete()}, exclusions={"b": "device lost"}, required=5)
    check_evidence(
        ["a", "b"], {"a": complete(), "b": complete(x=0)}, exclusions={"b": "never quiet"}, required=5
    )


@pytest.mark.parametrize(
    ("present", "exclusions", "message"),
    [
        ({}, {}, "a: not measured"),
        ({"a": complete(), "z": complete()}, {}, "z: measured, but no cell of the manifest"),
        ({"a": complete()}, {"z": "why"}, "z: excluded, but no cell of the manifest"),
        ({"a": complete()}, {"a": "  "}, "a: excluded without a reason"),
        ({"a": CellEvidence(frozenset({"f", "g"}), {"x": 5})}, {}, "a: 2 execution fingerprints"),
        ({"a": complete(no_sharing=5, full_sharing=4)}, {}, "full_sharing has 4 usable samples of 5"),
        ({"a": CellEvidence(frozenset({"f"}))}, {}, "a: no candidate"),
    ],
)
def test_each_gap_is_named(present, exclusions, message):
    assert message in refusal(["a"], present, exclusions)


def test_every_gap_is_listed_at_once():
    text = refusal(["a", "b"], {"b": complete(x=1), "z": complete()}, {"b": ""})
    assert "3 gaps" in text
    for part in ("a: not measured", "z: measured", "b: excluded without"):
        assert part in text
