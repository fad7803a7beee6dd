"""Resolved bundles on disk, by digest, so that a version once resolved loads without its registry."""

import json
import os
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

CACHE_VARIABLE = "LAYOUTLEDGER_CACHE"


def cache_folder() -> Path:
    """``$LAYOUTLEDGER_CACHE``, else ``~/.cache/layoutledger``."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "layoutledger")


class BundleCache:
    """Bundles by digest, and what addresses of a registry last resolved to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def bundle(self, digest: str) -> Path:
        """Folder of a bundle's files; it may not exist."""
        return self._folder / "bundles" / digest

    def store(self, digest: str, files: Mapping[str, bytes]) -> None:
        """Keep a bundle; a folder appears whole or not at all, and one that is there stays."""
        target = self.bundle(digest)
        if target.is_dir():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as made:
            fresh = Path(made) / "bundle"
            fresh.mkdir()
            for name, data in files.items():
                (fresh / name).write_bytes(data)
            try:
                fresh.rename(target)
            except OSError:
                # Another process stored the same digest first.
                if not target.is_dir():
                    raise

    def remember(self, address: str, version: int, digest: str) -> None:
        """Note what an address resolved to."""
        path = self._address(address)
        path.parent.mkdir(parents=True, exist_ok=True)
        note = {"address": address, "digest": digest, "version": version}
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(note, file, sort_keys=True)
        os.replace(name, path)

    def recall(self, address: str) -> tuple[int, str] | None:
        """Return the version and digest that an address last resolved to, None where it never did."""
        try:
            note = json.loads(self._address(address).read_bytes())
            return int(note["version"]), str(note["digest"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _address(self, address: str) -> Path:
        return self._folder / "addresses" / f"{sha256(address.encode()).hexdigest()}.json"
