"""Registering a campaign: once, whoever else does it at the same moment."""

import subprocess
import sys
from pathlib import Path

import pytest

from schemas import InvalidInputError, Manifest
from tracker._campaigns import open_campaign, verify_registrations
from tracker._ledger import Ledger
from tracker._verification import verify_ledger
from tracker.log import iter_segment

RUNNERS = 2
OPEN = """
import sys
from pathlib import Path
from schemas import InvalidInputError, Manifest
from tracker._campaigns import open_campaign
from tracker._ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
ledger.campaigns()
manifest = Manifest.model_validate_json(Path(sys.argv[2]).read_bytes())
print("ready", flush=True)
sys.stdin.readline()
try:
    print(open_campaign(ledger, manifest))
except InvalidInputError:
    print("refused")
"""


def open_at_once(store: Path, files: list[Path]) -> list[str]:
    """What each of as many processes says, all let go together once they have loaded what they need."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(store), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parents[2],
        )
        for file in files
    ]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    return [child.communicate(timeout=400)[0].strip() for child in children]


def registered(store: Path) -> list[str]:
    """The manifest digest of every registration in the log."""
    events = [event for place in Ledger(store).log.segments() for event in iter_segment(place.path)]
    return [event.data["manifest_digest"] for event in events if event.type == "campaign.opened"]


def test_runners_that_start_together_register_the_campaign_once(campaigns, tmp_path) -> None:
    manifest = campaigns.known_manifest()
    file = tmp_path / "manifest.json"
    file.write_text(manifest.model_dump_json())
    said = open_at_once(tmp_path / "ledger", [file] * RUNNERS)
    assert sorted(said) == ["False"] * (RUNNERS - 1) + ["True"]
    assert registered(tmp_path / "ledger") == [manifest.digest]


@pytest.mark.slow
def test_of_different_manifests_that_come_together_one_is_registered_and_the_others_are_refused(
    campaigns, tmp_path
) -> None:
    files = []
    for number in range(RUNNERS):
        manifest = campaigns.known_manifest().model_copy(update={"title": f"of runner {number}"})
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(manifest.model_dump_json())
    said = open_at_once(tmp_path / "ledger", files)
    assert sorted(said) == ["True"] + ["refused"] * (RUNNERS - 1)
    assert len(registered(tmp_path / "ledger")) == 1


def test_a_name_that_is_taken_is_refused_and_nothing_is_written(campaigns, tmp_path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    manifest = campaigns.known_manifest()
    assert open_campaign(ledger, manifest)
    assert not open_campaign(ledger, manifest)
    with pytest.raises(InvalidInputError, match="another name"):
        open_campaign(ledger, manifest.model_copy(update={"title": "another"}))
    assert registered(tmp_path / "ledger") == [manifest.digest]


def test_ledgers_that_were_filled_apart_agree_on_the_manifest_or_are_told(campaigns, tmp_path) -> None:
    manifest = campaigns.known_manifest()
    here, alike, unlike = (Ledger(tmp_path / name) for name in ("here", "alike", "unlike"))
    for ledger in (here, alike):
        open_campaign(ledger, manifest)
    other = manifest.model_copy(update={"title": "another"})
    open_campaign(unlike, other)
    here.log.adopt(alike.log.segments()[0].path)
    assert list(verify_registrations(here.log)) == []
    here.log.adopt(unlike.log.segments()[0].path)
    (found,) = verify_registrations(here.log)
    assert (found.what, found.expected, found.found) == ("another manifest", manifest.digest, other.digest)
    assert unlike.log.segments()[0].segment in found.where
    assert found in verify_ledger(here)
    # The first holds, also for whoever registers again.
    assert here.manifest("known") == manifest
    with pytest.raises(InvalidInputError, match="another name"):
        open_campaign(here, other)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"campaign": "layout-cost"}, "layout-cost.*registry"),
        ({"fit": {"method": "zzz", "terms": ["token_per_rank"]}}, "zzz.*rank-margin"),
        ({"fit": {"terms": ["token"]}}, "token: no such term"),
    ],
)
def test_what_could_never_be_fitted_is_refused_before_anything_is_recorded(
    campaigns, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    manifest = Manifest.parse({**campaigns.known_manifest().plain(), **changes}, where="here")
    with pytest.raises(InvalidInputError, match=words):
        open_campaign(Ledger(tmp_path), manifest)
    assert not list(tmp_path.rglob("*.jsonl"))
