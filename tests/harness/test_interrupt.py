import os
import select
import signal
import threading

import pytest

from harness._interrupt import StopSignals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noted_and_wakes_a_waiting_reader(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopSignals() as stop:
        assert select.select([stop], [], [], 0)[0] == []
        os.kill(os.getpid(), number)
        assert select.select([stop], [], [], 5)[0] == [stop]
        assert stop.received is number
        # A second one has its usual effect.
        assert signal.getsignal(number) is before
    assert signal.getsignal(number) is before


def test_another_thread_sets_no_handlers() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def look() -> None:
        with StopSignals() as stop:
            seen.append((signal.getsignal(signal.SIGINT), stop.received))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [(before, None)]
