"""Ending a run early, at a point where the script could have ended by itself."""

from __future__ import annotations


class RunComplete(SystemExit):
    """Everything a run can show was seen. Exit code 0; `except Exception` in a script doesn't catch it."""

    def __init__(self, code: int = 0) -> None:
        super().__init__(code)


class PlanRefused(RunComplete):
    """The plan does not apply to this script: to train without it is not what was asked for."""

    EXIT_CODE = 3

    def __init__(self) -> None:
        super().__init__(self.EXIT_CODE)
