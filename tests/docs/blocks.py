"""The fenced blocks of a page, with the marks that say how each is run (CONTRIBUTING.md, "Pages")."""

import re
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>\S*)[^\n]*\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"<!-- (?P<name>[a-z ]+): (?P<value>(?:(?!-->).)*) -->\n\Z", re.DOTALL)
MARKS = {"run", "not run", "exits", "until", "background", "file"}


@dataclass(frozen=True)
class Command:
    """A command line, and the lines that it is said to print."""

    line: str
    prints: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, the line on which it begins, and its marks."""

    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[Command]:
        """What a console block runs: lines after `$ `, the other lines are what is printed."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.replace("\\\n", "").splitlines():
            if line.startswith("$ "):
                found.append((re.sub(r"\s+# .*$", "", line[2:]), []))
            elif line.strip() and line.strip() != "...":
                assert found, f"{self.where}: output before a command"
                found[-1][1].append(line)
        return [Command(line, tuple(prints)) for line, prints in found]


def blocks_of(path: Path, name: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    text = path.read_text("utf-8")
    found = []
    for match in FENCE.finditer(text):
        before, marks = text[: match.start()], {}
        while mark := MARK.search(before):
            if mark["name"] not in MARKS:
                break
            marks[mark["name"]] = " ".join(mark["value"].split())
            before = before[: mark.start()]
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(name, line, match["language"], match["text"], marks))
    return found
