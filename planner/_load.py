"""Loading a coefficient version: by number, by alias, by address or from a file (design, section 6)."""

import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner import _registry
from planner._bundle import BUNDLE, Files, collect_files, open_bundle
from planner._cache import BundleCache, cache_folder
from planner._group import Group, agree
from planner._version import CoefficientVersion
from schemas import CorruptionError, InvalidInputError, NotFoundError, StoreUnavailableError, redact

MODELS_SCHEME = "models:/"
_ADDRESS = re.compile(r"models:/+(?P<name>[^/@]+)(?:/(?P<version>[0-9]+)|@(?P<alias>[^/@]+))")


class OfflineWarning(UserWarning):
    """A registry that does not answer; what its address last resolved to is used."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A bundle's files, not yet checked.

    Args:
        version: its number in the registry, None for a file.
        digest: what the registry recorded, None where nothing did.
        source: where it comes from, for messages.
        files: bytes by name.
    """

    version: int | None
    digest: str | None
    source: str
    files: Files

    def open(self) -> CoefficientVersion:
        """Check everything and return the version."""
        return open_bundle(self.files, source=self.source, version=self.version, expected_digest=self.digest)


@dataclass(frozen=True, slots=True)
class Address:
    """A version in a registry; exactly one of number and alias is given."""

    uri: str
    name: str
    version: int | None
    alias: str | None

    @property
    def text(self) -> str:
        """As ``models:/name/2`` or ``models:/name@champion``."""
        tail = f"/{self.version}" if self.alias is None else f"@{self.alias}"
        return f"{MODELS_SCHEME}{self.name}{tail}"


def load(
    source: str | os.PathLike[str],
    *,
    version: int | None = None,
    alias: str | None = None,
    tracking_uri: str | None = None,
    group: Any = None,
) -> CoefficientVersion:
    """Load a coefficient version; only JSON is read, no code of a registry is run.

    Args:
        source: a registered model's name, an address (``models:/layout-cost/2``,
            ``models:/layout-cost@champion``), or the path of a ``coefficients.json`` or its folder.
        version: the version's number, with a name.
        alias: the version's alias, with a name.
        tracking_uri: the registry; else ``MLFLOW_TRACKING_URI``, else the store in the ledger's folder
            (``LAYOUTLEDGER_STORE``, else ``ledger``).
        group: a ``torch.distributed`` process group, or anything with ``rank`` and ``gather`` (see
            ``Group``). Its first rank resolves and sends the files to the others; all return the same
            version, or all raise the same error. Every rank of the group must call.

    Raises:
        InvalidInputError: both or neither of version and alias, or a file that is no bundle.
        NotFoundError: an unknown file, model, version or alias; says what there is.
        CorruptionError: a digest of the bundle, a table or a certificate does not agree.
        StoreUnavailableError: the registry does not answer, and the address was never resolved before.
    """
    if group is not None:
        return _load_in_group(Group.of(group), source, version, alias, tracking_uri)
    return _load_alone(source, version, alias, tracking_uri)[1]


def _load_in_group(
    group: Group,
    source: str | os.PathLike[str],
    version: int | None,
    alias: str | None,
    tracking_uri: str | None,
) -> CoefficientVersion:
    resolved = agree(group, lambda: _load_alone(source, version, alias, tracking_uri)[0], only=0)[0]
    # Each rank checks the bytes that it received; one rank's doubt is every rank's error.
    loaded: list[CoefficientVersion] = []

    def check() -> str:
        loaded.append(resolved.open())
        return loaded[0].digest

    digests = agree(group, check)
    if len(set(digests)) != 1:
        raise CorruptionError(f"{resolved.source}: the ranks of the group hold different bundles: {digests}")
    return loaded[0]


def _load_alone(
    source: str | os.PathLike[str], version: int | None, alias: str | None, tracking_uri: str | None
) -> tuple[Resolved, CoefficientVersion]:
    path = _as_path(source, version, alias)
    if path is not None:
        resolved = _resolve_file(path)
        return resolved, resolved.open()
    return _load_registered(_as_address(str(source), version, alias, _registry.registry_uri(tracking_uri)))


def _as_path(source: str | os.PathLike[str], version: int | None, alias: str | None) -> Path | None:
    if version is not None or alias is not None:
        return None
    text = os.fspath(source)
    if text.startswith(MODELS_SCHEME):
        return None
    path = Path(text)
    looks_so = not isinstance(source, str) or path.suffix == ".json" or path.name != text or path.exists()
    return path if looks_so else None


def _as_address(source: str, version: int | None, alias: str | None, uri: str) -> Address:
    if source.startswith(MODELS_SCHEME):
        found = _ADDRESS.fullmatch(source)
        if found is None or version is not None or alias is not None:
            raise InvalidInputError(
                f"{source}: an address is models:/NAME/NUMBER or models:/NAME@ALIAS, with nothing beside it"
            )
        number = found["version"]
        return Address(uri, found["name"], int(number) if number else None, found["alias"])
    if (version is None) == (alias is None):
        raise InvalidInputError(
            f"{source}: give version=NUMBER or alias=NAME, one of them; or the path of a {BUNDLE}"
        )
    if version is not None and (type(version) is not int or version < 1):
        raise InvalidInputError(f"{source}: a version is an integer of 1 or more, got {version!r}")
    return Address(uri, source, version, alias)


def _resolve_file(path: Path) -> Resolved:
    folder, name = (path, BUNDLE) if path.is_dir() else (path.parent, path.name)
    if not (folder / name).is_file():
        raise NotFoundError(
            f"{folder / name}: there is no such file; give a {BUNDLE} or its folder, or a model's name with "
            "version= or alias="
        )
    return Resolved(None, None, str(path), collect_files(folder, name, str(path)))


def _load_registered(address: Address) -> tuple[Resolved, CoefficientVersion]:
    cache = BundleCache(cache_folder())
    key = f"{redact(address.uri)} {address.text}"
    try:
        found = _registry.resolve(address.uri, address.name, version=address.version, alias=address.alias)
    except StoreUnavailableError as error:
        resolved = _remembered(cache, key, address, error)
        return resolved, resolved.open()
    resolved = _resolve_version(cache, address, found)
    loaded = resolved.open()
    cache.store(loaded.digest, resolved.files)
    cache.remember(key, found.version, loaded.digest)
    return resolved, loaded


def _resolve_version(cache: BundleCache, address: Address, found: _registry.RegisteredVersion) -> Resolved:
    if found.digest is not None and cache.bundle(found.digest).is_dir():
        return _cached(cache, address, found.version, found.digest)
    with _registry.files_of(address.uri, found, BUNDLE) as folder:
        files = collect_files(folder, BUNDLE, address.text)
    return Resolved(found.version, found.digest, address.text, files)


def _remembered(cache: BundleCache, key: str, address: Address, error: StoreUnavailableError) -> Resolved:
    remembered = cache.recall(key)
    if remembered is None or not cache.bundle(remembered[1]).is_dir():
        raise error
    version, digest = remembered
    warnings.warn(
        f"{address.text}: the registry does not answer; using version {version}, as it last resolved",
        OfflineWarning,
        stacklevel=5,
    )
    return _cached(cache, address, version, digest)


def _cached(cache: BundleCache, address: Address, version: int, digest: str) -> Resolved:
    folder = cache.bundle(digest)
    source = f"{address.text} ({folder})"
    return Resolved(version, digest, source, collect_files(folder, BUNDLE, source))
