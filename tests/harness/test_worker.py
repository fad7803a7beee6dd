"""The worker as torchrun starts it, and what it refuses before it loads anything."""

import json
import subprocess
import sys

import pytest

from harness._job import AutomaticChoice, Job, JobCell


def write_job(folder, manifest) -> str:
    cells = tuple(JobCell(plan=plan, rendezvous="unused") for plan in manifest.cells)
    job = Job(
        world_size=manifest.cells[0].identity.shape.world_size,
        protocol=manifest.protocol,
        automatic=AutomaticChoice(),
        source="0" * 64,
        folder=str(folder),
        cells=cells,
    )
    path = folder / "job.json"
    path.write_text(json.dumps(job.plain()))
    return str(path)


@pytest.mark.slow
def test_torchruns_environment_serves_as_well_as_ours(tmp_path, campaign) -> None:
    job = write_job(tmp_path, campaign(["g", "h"], shape="tp2cp1"))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ran = subprocess.run(
        [*command, "-m", "harness._worker", job], capture_output=True, text=True, timeout=180, check=False
    )
    assert ran.returncode == 0, ran.stderr
    for rank in (0, 1):
        lines = (tmp_path / f"rank{rank}.events.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        others = [event["event"] for event in events if event["event"] != "record"]
        assert others == ["ready", "report", "ended", "report", "ended"]
        assert [event["code"] for event in events if event["event"] == "ended"] == [0, 0]
        assert sum(event["event"] == "record" for event in events) == (0 if rank else 2 * 17)


@pytest.mark.parametrize(
    ("text", "size", "words"),
    [
        (None, "1", "job file"),
        ("{", "1", "job file"),
        ("{}", "1", "protocol"),
        ("job", "2", "for 1 ranks, 2 were"),
    ],
)
def test_a_job_that_cannot_be_run_is_refused_with_its_reason(tmp_path, campaign, text, size, words) -> None:
    path = tmp_path / "job.json"
    if text == "job":
        write_job(tmp_path, campaign(["g"]))
    elif text is not None:
        path.write_text(text)
    ran = subprocess.run(
        [sys.executable, "-m", "harness._worker", str(path)],
        env={"RANK": "0", "WORLD_SIZE": size},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
