"""The list of workloads: each is a function that uses the card through PyTorch and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Workload:
    name: str
    run: Callable[[], None]
    suite: str
    """The file it is of: operators, jobs, published_operators, networks or libraries."""
    benchmark: bool = False
    """cudnn.benchmark is on: workspaces are chosen by time, so sizes may differ between equal cards."""
    settings: dict[str, str] = field(default_factory=dict)
    """Environment of the process it runs in."""


WORKLOADS: dict[str, Workload] = {}


def workload(
    name: str, *, benchmark: bool = False, settings: dict[str, str] | None = None, suite: str | None = None
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Registers a function under ``name``. Several names may share one function."""

    def register(function: Callable[[], None]) -> Callable[[], None]:
        if name in WORKLOADS:
            raise ValueError(f"two workloads are called {name}")
        WORKLOADS[name] = Workload(name, function, suite or "workloads", benchmark, settings or {})
        return function

    return register


def no_part(_: str) -> None:
    raise RuntimeError("a part is reported while a workload is measured")


_report: Callable[[str], None] = no_part


def part(name: str) -> None:
    """Ends a part of the running workload: what it allocated since the last one is a row of its own."""
    _report(name)


def report_parts_to(report: Callable[[str], None]) -> None:
    global _report
    _report = report
