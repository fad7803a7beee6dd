"""A process that tests start and kill: it tells on stdout what was acknowledged to it, line by line."""

import sys
from pathlib import Path

from schemas import Unit
from tracker.log import Log, recover


def write(log: Log, name: str = "cell-a", samples: int = 3) -> None:
    writer = log.open_segment("quick", Unit.ATTEMPT, {"cell": name})
    print(f"opened {writer.segment}", flush=True)
    print(writer.append("cell.started", {"cell": name}).id, flush=True)
    written = [
        writer.append("sample.recorded", {"cell": name, "round": number}, durable=False)
        for number in range(samples)
    ]
    writer.flush()
    print("\n".join(event.id for event in written), flush=True)
    print(writer.append("cell.completed", {"cell": name}).id, flush=True)
    writer.seal()
    print("sealed", flush=True)


def main() -> None:
    verb, log = sys.argv[1], Log(Path(sys.argv[2]))
    if verb == "recover":
        recover(log)
    elif verb == "write-many":
        for number in range(5):
            write(log, f"cell-{number}", samples=250)
    else:
        write(log)


main()
