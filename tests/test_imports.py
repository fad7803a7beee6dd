import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("schemas", "planner", "fit", "harness", "tracker")
ONE_IN_TWO_FOLDERS = (
    # The worker and its models are made of each other; what a campaign needs of them loads no torch.
    {"harness", "harness.model", "harness.memory"},
    # A version is loaded with the memory profile of its bundle; the profile admits layouts.
    {"planner", "planner.memory"},
)
"""Packages that know each other's private modules."""


def _modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def _imported(file: Path, modules: dict[str, Path]) -> set[str]:
    """Every module of ours that the file names in an import, also where a function or a type checker does."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names |= {name if name in modules else str(node.module) for name in whole}
    return names & modules.keys()


def test_no_module_imports_itself_by_way_of_others():
    modules = _modules()
    graph = {name: _imported(file, modules) - {name} for name, file in modules.items()}
    assert sum(map(len, graph.values())) > 500
    TopologicalSorter(graph).prepare()  # the error names the circle


def _stranger(importer: str, name: str) -> bool:
    """Whether a name goes through a private module of a package that the importing package is no part of."""
    parts = name.split(".")
    private = next((i for i, part in enumerate(parts) if part.startswith("_") and part[1:2] != "_"), None)
    if private is None:
        return False
    owner = ".".join(parts[:private])
    family = any({importer, owner} <= both for both in ONE_IN_TWO_FOLDERS)
    return not (family or f"{importer}.".startswith(f"{owner}."))


def test_a_name_is_private_to_its_package_and_what_lies_below():
    assert _stranger("tracker.warehouse", "tracker.log._names")
    assert _stranger("tracker", "tracker.log._names")
    assert _stranger("tracker.log", "schemas._event")
    assert not _stranger("tracker.cli", "tracker._ledger")
    assert not _stranger("tracker.log", "tracker.log._names")
    assert not _stranger("harness.memory", "harness.model._decoder")


def test_no_module_imports_a_private_module_of_another_package():
    modules = _modules()
    strangers = []
    for name, file in modules.items():
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        found = _imported(file, modules)
        strangers += [f"{name} imports {each}" for each in sorted(found) if _stranger(package, each)]
    assert strangers == []
