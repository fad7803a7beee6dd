import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("schemas", "planner", "fit", "harness", "tracker")


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
