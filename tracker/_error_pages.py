"""Every way in which the tool can fail: exit codes from the error classes, messages from the source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from schemas import LayoutLedgerError

DEFINING = ("planner.memory._errors", "harness._failure", "tracker.log", "tracker.mlflow_store._records")
PACKAGES = ("schemas", "planner", "fit", "harness", "tracker")

_OTHERS = (
    (0, "", "Done."),
    (1, "LayoutLedgerError", "Any other error of the tool, such as a change to something sealed."),
    (70, "", "A defect of the tool; LAYOUTLEDGER_TRACEBACK=1 shows where."),
    (130, "", "Interrupted; what was recorded stays, and long work can be resumed."),
    (141, "", "The reader of a pipe went away."),
)


@dataclass(frozen=True, slots=True, order=True)
class ExitCode:
    """A code, the error class that ends with it (empty where none does), and what it means."""

    code: int
    name: str
    meaning: str


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """What an error may say: `…` stands for what differs; `where` is file and line in the source."""

    code: int
    error: str
    where: str
    text: str


def exit_codes() -> tuple[ExitCode, ...]:
    """The exit-code table, ascending: one line for each class that has a code of its own."""
    known = [ExitCode(*each) for each in _OTHERS]
    for kind in error_classes():
        if "exit_code" in vars(kind) and kind is not LayoutLedgerError:
            known.append(ExitCode(kind.exit_code, kind.__name__, _first_line(kind)))
    return tuple(sorted(known))


def render_page() -> str:
    """The exit-code table in Markdown, as it stands in `docs/errors.md`."""
    rows = [
        f"| {each.code} | {f'`{each.name}`' if each.name else ''} | {each.meaning} |" for each in exit_codes()
    ]
    return "\n".join(["| code | error | meaning |", "|---|---|---|", *rows]) + "\n"


@cache
def error_classes() -> tuple[type[LayoutLedgerError], ...]:
    """The whole error tree; the modules that define errors of their own are loaded."""
    for module in DEFINING:
        import_module(module)

    def below(kind: type[LayoutLedgerError]) -> Iterator[type[LayoutLedgerError]]:
        yield kind
        for each in kind.__subclasses__():
            yield from below(each)

    return tuple(dict.fromkeys(below(LayoutLedgerError)))


def read_messages() -> tuple[Message, ...]:
    """What every `raise` of an error of ours may say, by exit code and place."""
    codes = {kind.__name__: kind.exit_code for kind in error_classes()}
    root = Path(__file__).resolve().parent.parent
    found: list[Message] = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            for call in ast.walk(ast.parse(path.read_text("utf-8"))):
                name = _called(call)
                if isinstance(call, ast.Call) and name in codes and call.args:
                    where = f"{path.relative_to(root).as_posix()}:{call.lineno}"
                    found.append(Message(codes[name], name, where, _text(call.args[-1])))
    return tuple(sorted(found))


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _text(node: ast.expr) -> str:
    """The message with `…` for what differs."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr():
            return "".join(_text(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case _:
            return "…"


def _first_line(kind: type[LayoutLedgerError]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]
