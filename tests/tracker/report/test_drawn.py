"""What is drawn and written of a recorded fit stays the same bytes while the projection's number does.

A sealed run cannot be made again: where its figures or its page come out otherwise than they did, every
ledger would seem edited. `python tests/tracker/report/test_drawn.py` writes down what comes out now.
"""

import json
from pathlib import Path

from schemas import digest_bytes
from tracker.log import read_segment
from tracker.mirror import RunPlan, project_segment
from tracker.mirror._run_plan import PROJECTION_TAG

FOLDER = Path(__file__).parents[2] / "assets" / "fit-0.1"
EXPECTED = FOLDER / "drawn.json"


def recorded_plan() -> RunPlan:
    (path,) = (FOLDER / "log" / "known").glob("*.jsonl")
    return project_segment(read_segment(path), path)


def drawn(plan: RunPlan) -> dict[str, object]:
    """The projection's number, and a digest of each figure and of the page."""
    texts = {
        path: digest_bytes(text.encode())
        for path, text in sorted(plan.texts.items())
        if path.endswith((".svg", ".html"))
    }
    return {"projection": plan.tags[PROJECTION_TAG], "files": texts}


def test_a_recorded_fit_is_drawn_as_it_was_or_under_another_number():
    found, expected = drawn(recorded_plan()), json.loads(EXPECTED.read_text())
    if found["files"] != expected["files"]:
        assert found["projection"] != expected["projection"], (
            "figures or page of a recorded fit come out otherwise: raise PROJECTION in "
            "tracker/mirror/_run_plan.py and run `python tests/tracker/report/test_drawn.py`"
        )


def test_a_recorded_fit_has_all_its_figures():
    names = {Path(path).name for path in drawn(recorded_plan())["files"]}
    assert names == {
        "report.html",
        "predicted.svg",
        "predicted-by-cell.svg",
        "regret.svg",
        "coefficients.svg",
        "terms.svg",
        "ablation.svg",
    }


if __name__ == "__main__":
    EXPECTED.write_text(json.dumps(drawn(recorded_plan()), indent=1, sort_keys=True) + "\n")
