"""`--time-box SECONDS`: as many tests as fit in that time, of every file some, and how many were left out.

For `./test --quick`: a list of the tests that are short would be as long as the tests are many, and old with the next.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TypeVar

import pytest

Item = TypeVar("Item")


def deal(groups: list[list[Item]]) -> list[Item]:
    """The first of each group, then the second of each, and so on."""
    rounds = max(map(len, groups), default=0)
    return [group[at] for at in range(rounds) for group in groups if at < len(group)]


class TimeBox:
    """Before each test it looks at the clock; a test that has begun is not ended."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.left_out = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        of_file = defaultdict(list)
        for item in items:
            of_file[item.path].append(item)
        items[:] = deal(list(of_file.values()))

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest's own loop says what has to be said
        until = time.monotonic() + self.seconds
        for at, item in enumerate(session.items):
            if time.monotonic() >= until:
                self.left_out = len(session.items) - at
                break
            following = session.items[at + 1] if at + 1 < len(session.items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            terminalreporter.write_line(f"the time was up: {self.left_out} tests were left out")
