"""Worked questions: SQL over the views that answers what people ask, kept in `tracker/sql/questions`."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the statement that answers it.

    Args:
        name: the file's name without number and ending.
        text: the question, as the file's first comment line puts it.
        sql: the statement, with its comments.

    """

    name: str
    text: str
    sql: str


@cache
def worked_questions() -> tuple[Question, ...]:
    """Every worked question, in the order of the files' numbers."""
    folder = files("tracker") / "sql" / "questions"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return tuple(_question(name, (folder / name).read_text(encoding="utf-8")) for name in names)


def _question(name: str, sql: str) -> Question:
    first = sql.split("\n", 1)[0].removeprefix("--").strip()
    return Question(name.removesuffix(".sql").split("_", 1)[1], first, sql)
