"""JSON Schema files for the records that leave the house; a test keeps them in step."""

import json
from pathlib import Path

from schemas._certificate import Statement
from schemas._evidence import PAYLOADS
from schemas._manifest import Manifest
from schemas._table import CoefficientBundle

SCHEMA_FOLDER = Path(__file__).parent / "json"


def schema_files() -> dict[str, str]:
    """File name to text: the manifest, the bundle, the certificate, and each event type's data."""
    records = {
        "manifest": Manifest,
        "coefficients": CoefficientBundle,
        "certificate": Statement,
        **{f"event.{name}": record for name, record in PAYLOADS.items()},
    }
    return {
        f"{name}.schema.json": json.dumps(record.model_json_schema(by_alias=True), indent=1, sort_keys=True)
        + "\n"
        for name, record in records.items()
    }


def write_schemas(folder: Path = SCHEMA_FOLDER) -> tuple[Path, ...]:
    """Write every schema file, drop those that no record stands behind any more."""
    folder.mkdir(parents=True, exist_ok=True)
    files = schema_files()
    for stale in folder.glob("*.schema.json"):
        if stale.name not in files:
            stale.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(folder / name for name in sorted(files))


if __name__ == "__main__":
    for path in write_schemas():
        print(path.name)
