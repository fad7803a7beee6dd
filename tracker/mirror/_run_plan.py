"""What the mirror writes of one segment: a pure value, to be written, written again, or compared."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from schemas import digest_bytes, digest_file, digest_json
from tracker.mlflow_store import MetricPoint

PROJECTION = "4"
"""Changes with what the mirror writes of an unchanged segment."""

SEGMENT_TAG = "ledger.segment"
CAMPAIGN_TAG = "ledger.campaign"
PROJECTION_TAG = "ledger.projection"
NOTE_TAG = "mlflow.note.content"
NAME_TAG = "mlflow.runName"
SEGMENT_FOLDER = "segment"
LONG_FOLDER = "long"

PARAM_CHARACTERS = 500
TAG_CHARACTERS = 5000
NAME_CHARACTERS = 250
KEY_CHARACTERS = 240

_UNSAFE = re.compile(r"[^A-Za-z0-9_. -]")


@dataclass(frozen=True)
class RunPlan:
    """One MLflow run in full; times in milliseconds since 1970.

    Args:
        campaign: name of the experiment.
        segment: id of the segment that the run shows.
        name: what the run is called.
        status: FINISHED, FAILED or KILLED.
        params, tags, metrics: as MLflow keeps them; the seal tag is not among them.
        texts: artifacts made from the events, by path.
        segment_file: the sealed segment, an artifact too.
    """

    campaign: str
    segment: str
    name: str
    status: str
    start: int
    end: int
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: tuple[MetricPoint, ...]
    texts: Mapping[str, str]
    segment_file: Path

    @property
    def segment_artifact(self) -> str:
        """Path of the sealed segment among the run's artifacts."""
        return f"{SEGMENT_FOLDER}/{self.segment_file.name}"

    @cached_property
    def files(self) -> dict[str, str]:
        """sha256 of every artifact, by path."""
        digests = {path: digest_bytes(text.encode()) for path, text in self.texts.items()}
        return {**digests, self.segment_artifact: digest_file(self.segment_file)}

    @cached_property
    def digest(self) -> str:
        """sha256 over everything that is written: the value of the seal tag."""
        return digest_json(
            {
                "campaign": self.campaign,
                "name": self.name,
                "status": self.status,
                "start": self.start,
                "end": self.end,
                "params": dict(self.params),
                "tags": dict(self.tags),
                "metrics": [[m.key, m.step, m.timestamp, m.value] for m in self.metrics],
                "files": self.files,
            }
        )


def safe_key(text: str) -> str:
    """A metric or parameter key that MLflow takes; what had to be changed is told apart by a digest."""
    key = _UNSAFE.sub("_", text)
    if key == text and len(key) <= KEY_CHARACTERS and key.strip(". "):
        return key
    return f"{key[: KEY_CHARACTERS - 9]}.{digest_bytes(text.encode())[:8]}"


def shortened(key: str, value: str, limit: int, texts: dict[str, str]) -> str:
    """The value, or its beginning and the artifact that holds it whole; nothing is cut unseen."""
    if len(value) <= limit:
        return value
    path = f"{LONG_FOLDER}/{safe_key(key)}.txt"
    texts[path] = value
    digest = digest_bytes(value.encode())
    return f"{value[:200]}… ({len(value)} characters, whole in artifact {path}, sha256 {digest})"
