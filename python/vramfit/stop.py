"""Ending a run early, at a point where the script could have ended by itself."""

from __future__ import annotations


class RunComplete(SystemExit):
    """Everything a run can show was seen. Exit code 0; `except Exception` in a script doesn't catch it."""

    def __init__(self) -> None:
        super().__init__(0)
