"""How far a run comes does not depend on who else is at work on the machine (python/vramfit/base/own_time.py)."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest
from product import STAGE

sys.path.insert(0, str(STAGE / "python"))

from vramfit.base import own_time

IS_COUNTED = os.path.exists("/proc/self/schedstat")


def test_a_sleep_is_ones_own() -> None:
    watch = own_time.Stopwatch()
    time.sleep(0.05)
    assert watch.seconds() > 0.01


def test_waiting_in_line_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = iter([3.0, 3.7, 99.0])
    passed = iter([10.0, 11.0, 12.0])
    monkeypatch.setattr(own_time, "_waited", lambda: next(waited))
    monkeypatch.setattr(time, "monotonic", lambda: next(passed))
    watch = own_time.Stopwatch()
    assert watch.seconds() == pytest.approx(0.3)
    assert watch.seconds() == pytest.approx(0.5)  # a run ends on the busiest machine, too


@pytest.mark.skipif(not IS_COUNTED, reason="this kernel does not count who waits")
def test_the_kernel_counts_who_waits() -> None:
    """Each of two processes on the same processor has about half of it."""
    allowed = os.sched_getaffinity(0)
    rival = os.fork()
    if rival == 0:
        os.sched_setaffinity(0, {min(allowed)})
        while True:
            pass
    try:
        os.sched_setaffinity(0, {min(allowed)})
        before = own_time._waited()
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            pass
        assert own_time._waited() > before
    finally:
        os.sched_setaffinity(0, allowed)
        os.kill(rival, signal.SIGKILL)
        os.waitpid(rival, 0)
