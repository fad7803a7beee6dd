"""Named points at which a test can have the process killed, as a power cut would."""

import os
import signal

CRASH_VARIABLE = "LAYOUTLEDGER_CRASH_AT"

# Read once: the points lie on the path of every append.
_name, _, _count = os.environ.get(CRASH_VARIABLE, "").partition(":")
_left = int(_count or "1")


def crash_point(name: str) -> None:
    """SIGKILL this process when `LAYOUTLEDGER_CRASH_AT` is `name`, or `name:N` at the N-th pass."""
    global _left
    if name != _name:
        return
    _left -= 1
    if _left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
