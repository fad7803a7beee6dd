import ast
from pathlib import Path

import schemas


def test_names_are_resolved_late_from_the_module_that_a_type_checker_sees_them_in():
    tree = ast.parse(Path(schemas.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(checked.test) == "TYPE_CHECKING"
    seen = {
        alias.name: str(node.module)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    late = {name: f"schemas.{home}" for name, home in schemas._HOME.items()}
    assert late == seen
    assert sorted(late) == sorted(schemas.__all__)
    assert all(hasattr(schemas, name) for name in late)
