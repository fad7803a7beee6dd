"""Holds: what is held is not promoted, nor gone back to, until someone releases it."""

import pytest

from schemas import InvalidInputError, NotFoundError, PromotionRefusedError
from tracker.log import Log
from tracker.registry import (
    make_bundle,
    open_holds,
    place_hold,
    promote,
    register_bundle,
    release_hold,
    rollback,
    verify_registry,
)
from tracker.warehouse import Warehouse


@pytest.mark.parametrize("target", ["2", "digest"])
def test_an_open_hold_blocks_promotion_until_it_is_released(registered: Log, statement, approve, target):
    approve(registered, statement)
    held = statement.digest[:12] if target == "digest" else target
    placed = place_hold(registered, held, by="eve", reason="noise at cp4")
    with pytest.raises(PromotionRefusedError, match=f"held by eve since .*noise at cp4.*{placed.segment}"):
        promote(registered, "champion", 2, by="ada", reason="r")
    promote(registered, "champion", 1, by="ada", reason="the fallback is not held")
    assert [hold.segment for hold in open_holds(registered)] == [placed.segment]
    lifted = release_hold(registered, held, by="bob", reason="measured again")
    assert [each.segment for each in lifted] == [placed.segment]
    assert open_holds(registered) == ()
    promote(registered, "champion", 2, by="ada", reason="r")


def test_a_hold_on_another_version_blocks_nothing(registered: Log, statement, other_statement, approve):
    approve(registered, statement)
    place_hold(registered, other_statement.digest[:12], by="eve", reason="r")
    place_hold(registered, "1", by="eve", reason="r")
    promote(registered, "champion", 2, by="ada", reason="r")


def test_the_hand_set_version_can_be_held(registered: Log):
    place_hold(registered, "1", by="eve", reason="r")
    with pytest.raises(PromotionRefusedError, match="version 1 is held"):
        promote(registered, "champion", 1, by="ada", reason="r")


def test_each_hold_has_to_be_released(registered: Log, statement, approve):
    approve(registered, statement)
    first = place_hold(registered, "2", by="eve", reason="first")
    place_hold(registered, statement.digest[:8], by="dan", reason="second")
    release_hold(registered, first.segment, by="eve", reason="done")
    with pytest.raises(PromotionRefusedError, match="dan") as refused:
        promote(registered, "champion", 2, by="ada", reason="r")
    assert "first" not in str(refused.value)


def test_force_overrides_a_hold_and_the_record_says_so(registered: Log, statement, approve):
    approve(registered, statement)
    place_hold(registered, "2", by="eve", reason="noise")
    done = promote(registered, "champion", 2, by="ada", reason="demo", force=True)
    assert done.move.forced and "held by eve" in done.lacked[0]


def test_no_way_back_to_a_held_version(registered: Log, statement, other_statement, approve):
    register_bundle(registered, make_bundle([other_statement]), [other_statement])
    for each in (statement, other_statement):
        approve(registered, each)
    for version in (2, 3):
        promote(registered, "champion", version, by="ada", reason="r")
    place_hold(registered, statement.digest, by="eve", reason="wrong")
    before = registered.segments()
    with pytest.raises(PromotionRefusedError, match="cannot go back to version 2"):
        rollback(registered, "champion", by="bob", reason="slow")
    assert registered.segments() == before
    release_hold(registered, statement.digest, by="eve", reason="right after all")
    assert rollback(registered, "champion", by="bob", reason="slow").move.version == 2


def test_a_hold_on_what_is_promoted_is_flagged(registered: Log, statement, approve):
    approve(registered, statement)
    promote(registered, "champion", 2, by="ada", reason="r")
    assert verify_registry(registered) == []
    place_hold(registered, "2", by="eve", reason="regressed")
    (finding,) = verify_registry(registered)
    assert (finding.what, "regressed" in finding.found) == ("alias at a held version", True)


def test_what_is_unknown_or_said_without_a_reason_is_refused(registered: Log, statement):
    before = registered.segments()
    for target in ("9", "f" * 64):
        with pytest.raises(NotFoundError, match=r"versions: 1, 2|there are"):
            place_hold(registered, target, by="eve", reason="r")
    with pytest.raises(InvalidInputError, match="at least 8"):
        place_hold(registered, "abc", by="eve", reason="r")
    for by, reason in ((" ", "r"), ("eve", " ")):
        with pytest.raises(InvalidInputError):
            place_hold(registered, "2", by=by, reason=reason)
    with pytest.raises(NotFoundError, match="none is open"):
        release_hold(registered, "2", by="eve", reason="r")
    assert registered.segments() == before


def test_the_view_tells_who_held_and_who_released(registered: Log):
    first = place_hold(registered, "2", by="eve", reason="noise")
    place_hold(registered, "1", by="dan", reason="old")
    release_hold(registered, first.segment, by="bob", reason="quiet now")
    rows = Warehouse(registered.root).query(
        'SELECT hold, version, "by", released_by, released_reason, released IS NULL AS open FROM holds'
    )
    assert rows.records() == [
        {
            "hold": first.segment,
            "version": 2,
            "by": "eve",
            "released_by": "bob",
            "released_reason": "quiet now",
            "open": False,
        },
        {
            "hold": open_holds(registered)[0].segment,
            "version": 1,
            "by": "dan",
            "released_by": None,
            "released_reason": None,
            "open": True,
        },
    ]
