import subprocess
import sys

import pytest

HEAVY = ("torch", "mlflow", "duckdb", "scipy", "pydantic", "pandas", "matplotlib", "rich")


@pytest.mark.parametrize("statement", ["import planner", "import planner; planner.select_layout"])
def test_the_planner_loads_nothing_heavy(statement):
    check = f"{statement}; import sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
