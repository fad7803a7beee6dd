"""Processes that tests start and kill: each tells on stdout what was acknowledged to it, line by line.

`child.py VERB ROOT` runs one; `child.py nursery` forks one for every request on stdin, sparing the imports.
"""

import json
import os
import sys
from pathlib import Path

from schemas import Unit
from tracker.log import Log, _crash, recover


def write(log: Log, name: str = "cell-a", samples: int = 3) -> None:
    writer = log.open_segment("quick", Unit.ATTEMPT, {"cell": name})
    print(f"opened {writer.segment}", flush=True)
    print(writer.append("cell.started", {"cell": name}).id, flush=True)
    rows = [{"cell": name, "round": number} for number in range(samples)]
    written = [writer.append("sample.recorded", row, durable=False) for row in rows]
    writer.flush()
    print("\n".join(event.id for event in written), flush=True)
    print(writer.append("cell.completed", {"cell": name}).id, flush=True)
    writer.seal()
    print("sealed", flush=True)


def crowd(root: Path, writers: int = 8, segments: int = 4) -> None:
    """So many processes at once, each of which writes one segment after another."""
    children: list[int] = []
    for number in range(writers):
        children.append(os.fork())
        if children[-1] == 0:
            log = Log(root)
            for _ in range(segments):
                with log.open_segment("quick", Unit.ATTEMPT, {"cell": f"cell-{number}"}) as writer:
                    writer.append("cell.completed", {"cell": f"cell-{number}"})
            os._exit(0)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


def act(verb: str, root: str) -> None:
    log = Log(Path(root))
    if verb == "recover":
        recover(log)
    elif verb == "crowd":
        crowd(log.root)
    elif verb == "write-many":
        for number in range(4):
            write(log, f"cell-{number}", samples=120)
    else:
        write(log)


def nursery() -> None:
    for request in sys.stdin:
        verb, root, point = json.loads(request)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            _crash._name, _, count = point.partition(":")
            _crash._left = int(count or "1")
            act(verb, root)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as output:
            told = output.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([status, told]), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "nursery":
        nursery()
    else:
        act(*sys.argv[1:3])
