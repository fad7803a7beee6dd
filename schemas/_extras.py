"""Which extra of the distribution brings a package that is imported only when it is used.

`pip install layoutledger` alone is the planner, the vocabulary, the fit and what checks a certificate file.
"""

from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from schemas._errors import MissingExtraError

EXTRAS: Final = MappingProxyType(
    {
        "duckdb": "tracker",
        "jinja2": "tracker",
        "matplotlib": "tracker",
        "mlflow": "tracker",
        "pandas": "tracker",
        "psutil": "tracker",
        "pyarrow": "tracker",
        "yaml": "tracker",
        "torch": "harness",
        "ray": "ray",
        "fla": "gpu",
    }
)
"""Importable module to extra."""


def missing_extra(module: str) -> MissingExtraError | None:
    """What to raise where this module was not found; None where no extra brings it, which is a defect."""
    top = module.partition(".")[0]
    if top not in EXTRAS:
        return None
    return MissingExtraError(
        f"this needs the package {top!r}, which is not installed; "
        f"run: pip install 'layoutledger[{EXTRAS[top]}]'"
    )


def require_module(module: str) -> None:
    """Refuse before anything is changed where a later step would not find a module.

    Raises:
        MissingExtraError: it is not installed.
    """
    if find_spec(module) is None:
        raise missing_extra(module) or ModuleNotFoundError(f"No module named {module!r}", name=module)
