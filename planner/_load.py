"""Loading a coefficient version: by number, by alias, by address or from a file (design, section 6)."""

import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from planner import _registry
from planner._bundle import BUNDLE, bundle_files, parse_bundle, read_bundle
from planner._cache import BundleCache, cache_folder
from planner._version import CoefficientVersion
from schemas import CorruptionError, InvalidInputError, NotFoundError, StoreUnavailableError

MODELS_SCHEME = "models:/"
_ADDRESS = re.compile(r"models:/+(?P<name>[^/@]+)(?:/(?P<version>\d+)|@(?P<alias>[^/@]+))")


class OfflineWarning(UserWarning):
    """A registry that does not answer; what its address last resolved to is used."""


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
) -> CoefficientVersion:
    """Load a coefficient version; only JSON is read, no code of a registry is run.

    Args:
        source: a registered model's name, an address (``models:/layout-cost/2``,
            ``models:/layout-cost@champion``), or the path of a ``coefficients.json`` or its folder.
        version: the version's number, with a name.
        alias: the version's alias, with a name.
        tracking_uri: the registry; else ``MLFLOW_TRACKING_URI``, else the store in the ledger's folder
            (``LAYOUTLEDGER_STORE``, else ``ledger``).

    Raises:
        InvalidInputError: both or neither of version and alias, or a file that is no bundle.
        NotFoundError: an unknown file, model, version or alias; says what there is.
        CorruptionError: a digest of the bundle, a table or a certificate does not agree.
        StoreUnavailableError: the registry does not answer, and the address was never resolved before.
    """
    path = _as_path(source, version, alias)
    if path is not None:
        return _load_file(path)
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


def _load_file(path: Path) -> CoefficientVersion:
    folder, name = (path, BUNDLE) if path.is_dir() else (path.parent, path.name)
    if not (folder / name).is_file():
        raise NotFoundError(
            f"{folder / name}: there is no such file; give a {BUNDLE} or its folder, or a model's name with "
            "version= or alias="
        )
    return _read_folder(folder, name, source=str(path), version=None, digest=None)


def _read_folder(
    folder: Path, bundle_name: str, *, source: str, version: int | None, digest: str | None
) -> CoefficientVersion:
    def read(name: str) -> bytes:
        if Path(name).name != name:
            raise CorruptionError(f"{source}: {name}: a bundle's files lie beside it")
        return (folder / (bundle_name if name == BUNDLE else name)).read_bytes()

    try:
        return read_bundle(read, source=source, version=version, expected_digest=digest)
    except OSError as error:
        if isinstance(error, StoreUnavailableError):
            raise
        raise StoreUnavailableError(f"{folder}: cannot be read: {error}") from error


def _load_registered(address: Address) -> CoefficientVersion:
    cache = BundleCache(cache_folder())
    key = f"{address.uri} {address.text}"
    try:
        found = _registry.resolve(address.uri, address.name, version=address.version, alias=address.alias)
    except StoreUnavailableError as error:
        return _load_remembered(cache, key, address, error)
    loaded = _load_resolved(cache, address, found)
    cache.remember(key, found.version, loaded.digest)
    return loaded


def _load_resolved(
    cache: BundleCache, address: Address, found: _registry.RegisteredVersion
) -> CoefficientVersion:
    if found.digest is not None and cache.bundle(found.digest).is_dir():
        return _load_cached(cache, address, found.version, found.digest)
    with _registry.files_of(address.uri, found, BUNDLE) as folder:
        loaded = _read_folder(folder, BUNDLE, source=address.text, version=found.version, digest=found.digest)
        bundle = parse_bundle((folder / BUNDLE).read_bytes(), address.text)
        cache.store(loaded.digest, {name: (folder / name).read_bytes() for name in bundle_files(bundle)})
    return loaded


def _load_remembered(
    cache: BundleCache, key: str, address: Address, error: StoreUnavailableError
) -> CoefficientVersion:
    remembered = cache.recall(key)
    if remembered is None or not cache.bundle(remembered[1]).is_dir():
        raise error
    version, digest = remembered
    warnings.warn(
        f"{address.text}: the registry does not answer; using version {version}, as it last resolved",
        OfflineWarning,
        stacklevel=4,
    )
    return _load_cached(cache, address, version, digest)


def _load_cached(cache: BundleCache, address: Address, version: int, digest: str) -> CoefficientVersion:
    folder = cache.bundle(digest)
    return _read_folder(folder, BUNDLE, source=f"{address.text} ({folder})", version=version, digest=digest)
