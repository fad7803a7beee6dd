"""The SQL texts of `tracker/sql`, and strings as SQL spells them."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_HOLE = "{{"
_RULE = "01_"


@cache
def view_sources() -> dict[str, str]:
    """The SQL texts by file name, in the order in which they build on each other."""
    folder = files("tracker") / "sql"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


def rule_texts() -> tuple[str, ...]:
    """The macros that say what is made of lines: views and kept files follow from them."""
    return tuple(text for name, text in view_sources().items() if name.startswith(_RULE))


def texts_over_files() -> tuple[str, ...]:
    """The internal views that name files: what changes from refresh to refresh."""
    return tuple(text for text in view_sources().values() if _HOLE in text)


def texts_on_top() -> tuple[str, ...]:
    """The views built on those."""
    special = {*rule_texts(), *texts_over_files()}
    return tuple(text for text in view_sources().values() if text not in special)


def filled(text: str, **values: str) -> str:
    """The text with a value in each of its holes, `{{name}}`."""
    for name, value in values.items():
        text = text.replace(f"{_HOLE}{name}}}}}", value)
    return text


def sql_list(items: Iterable[str]) -> str:
    """A SQL list of strings."""
    return "[" + ", ".join(quoted(item) for item in items) + "]"


def quoted(text: str) -> str:
    """A SQL string."""
    return "'" + text.replace("'", "''") + "'"
