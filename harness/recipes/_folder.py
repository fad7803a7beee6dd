"""Runners as files: written once, and compared with their campaign after they were edited."""

from pathlib import Path

from harness.recipes._read import read_recipe
from harness.recipes._write import RUNNERS, RecipeOptions, write_recipe
from schemas import InvalidInputError, Manifest, NotFoundError, StoreUnavailableError


def write_runners(
    manifest: Manifest, engine: str, folder: Path, options: RecipeOptions | None = None
) -> tuple[Path, ...]:
    """Write the manifest and the engine's runners into the folder; equal files that are there stay.

    Raises:
        InvalidInputError: other runners are there, or a cell cannot run so; nothing was written.
        StoreUnavailableError: the folder cannot be written.

    """
    files = {folder / name: text.encode() for name, text in write_recipe(manifest, engine, options).items()}
    others = [path for path in _runners(engine, folder) if path not in files]
    others += [path for path, data in files.items() if path.exists() and path.read_bytes() != data]
    if others:
        raise InvalidInputError(
            f"of another recipe, or edited: {', '.join(map(str, sorted(others)))}; "
            "remove them, or write to another folder with --output"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, data in files.items():
            path.write_bytes(data)
    except OSError as error:
        raise StoreUnavailableError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return tuple(files)


def check_runners(manifest: Manifest, engine: str, folder: Path) -> tuple[Path, ...]:
    """The engine's runners in the folder, which together measure each cell of the manifest once.

    Raises:
        NotFoundError: there are none.
        InvalidInputError: they do not; says which cells are left out, doubled or unknown.

    """
    paths = _runners(engine, folder)
    if not paths:
        raise NotFoundError(f"{folder}: no runners for {engine}; `layoutledger recipe` writes them")
    try:
        texts = {str(path): path.read_bytes().decode() for path in paths}
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{folder}: a runner is not UTF-8 text: {error}") from error
    differences = read_recipe(texts).differences(manifest)
    if differences:
        raise InvalidInputError(
            f"{folder}: the runners are not those of {manifest.campaign}:\n  " + "\n  ".join(differences)
        )
    return paths


def _runners(engine: str, folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob(RUNNERS[engine])))
