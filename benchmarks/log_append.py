"""Samples recorded per second at equal durability: the log beside MLflow; trackio and wandb if installed.

Every recorder makes the same samples durable, a commit or fsync each 100 and each 1,000 of them, in turns
within one run, so that a busy machine slows all alike; ratios are to `log_batch` of the same round.

    python -m benchmarks.log_append [--samples 20000] [--rounds 3] [--json]
"""

import argparse
import importlib.util
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from schemas import Unit
from tracker.log import Log

SAMPLE = {
    "cell": "grpo-2x8-32-128-16/hybrid/tp1-cp1",
    "candidate": "uniform_depth_3",
    "role": "measured",
    "position": 2,
    "ms_ranks": [12.345678, 12.298765],
    "compile_events": 0,
    "run_delay_pct": [0.0, 1.25],
    "loss": 6.231094,
    "usable": True,
    "reason": None,
}
Recorder = Callable[[Path, int, int], None]


def sample(number: int) -> dict[str, object]:
    return {**SAMPLE, "round": number, "ms": 12.0 + number % 97 / 100}


def log_append(folder: Path, samples: int, batch: int) -> None:
    log = Log(folder, sync_events=batch)
    with log.open_segment("bench", Unit.ATTEMPT) as writer:
        for number in range(samples):
            writer.append("sample.recorded", sample(number), durable=False)


def log_record(folder: Path, samples: int, batch: int) -> None:
    log = Log(folder, sync_events=batch)
    with log.open_segment("bench", Unit.ATTEMPT) as writer:
        for number in range(samples):
            writer.record("sample.recorded", sample(number), durable=False)


def log_append_many(folder: Path, samples: int, batch: int) -> None:
    log = Log(folder, sync_events=batch)
    with log.open_segment("bench", Unit.ATTEMPT) as writer:
        for start in range(0, samples, batch):
            writer.append_many("sample.recorded", [sample(number) for number in range(start, start + batch)])


def mlflow_log_batch(folder: Path, samples: int, batch: int) -> None:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    run = client.create_run(client.create_experiment("bench", artifact_location=str(folder))).info.run_id
    started = time.perf_counter()
    for start in range(0, samples, batch):
        rows = (sample(number) for number in range(start, start + batch))
        client.log_batch(run, [Metric("ms", row["ms"], 1_700_000_000_000, row["round"]) for row in rows])
    mlflow_log_batch.seconds = time.perf_counter() - started  # a new store's migrations are not recording


def trackio_log(folder: Path, samples: int, batch: int) -> None:
    import trackio

    run = trackio.init(project="bench", name="bench", embed=False)
    for number in range(samples):
        run.log({"ms": sample(number)["ms"]}, step=number)
    trackio.finish()


def wandb_offline(folder: Path, samples: int, batch: int) -> None:
    import wandb

    run = wandb.init(project="bench", dir=folder, mode="offline", settings=wandb.Settings(silent=True))
    for number in range(samples):
        run.log({"ms": sample(number)["ms"]}, step=number)
    run.finish()


RECORDERS: dict[str, tuple[str, Recorder]] = {
    "log append": ("tracker", log_append),
    "log record": ("tracker", log_record),
    "log append_many": ("tracker", log_append_many),
    "mlflow log_batch": ("mlflow", mlflow_log_batch),
    "trackio log": ("trackio", trackio_log),
    "wandb offline log": ("wandb", wandb_offline),
}


def seconds(recorder: Recorder, samples: int, batch: int) -> float:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        os.environ["TRACKIO_DIR"] = folder
        started = time.perf_counter()
        recorder(Path(folder), samples, batch)
        return getattr(recorder, "seconds", time.perf_counter() - started)


def measure(samples: int, rounds: int) -> list[dict[str, object]]:
    installed = {name: made for name, (need, made) in RECORDERS.items() if importlib.util.find_spec(need)}
    results: list[dict[str, object]] = []
    for batch in (100, 1000):
        times = {name: [] for name in installed}
        for _ in range(rounds):
            for name, recorder in installed.items():
                times[name].append(seconds(recorder, samples, batch))
        base = times["mlflow log_batch"]
        for name, taken in times.items():
            ratios = [theirs / ours for theirs, ours in zip(base, taken, strict=True)]
            results.append(
                {
                    "durable_each": batch,
                    "recorder": name,
                    "samples_per_second": round(samples / statistics.median(taken)),
                    "microseconds_per_sample": round(statistics.median(taken) / samples * 1e6, 1),
                    "times_log_batch": round(statistics.median(ratios), 2),
                }
            )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    results = measure(options.samples, options.rounds)
    if options.json:
        print(json.dumps(results, indent=1))
        return
    print(f"{'durable each':>12}  {'recorder':20} {'samples/s':>10} {'us/sample':>10} {'x log_batch':>12}")
    for row in results:
        print("{:12}  {:20} {:10} {:10} {:12}".format(*row.values()))


if __name__ == "__main__":
    main()
