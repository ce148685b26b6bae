"""Runs sections: which beside which, and what is printed of them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from .building import count_lanes
from .deadline import DEADLINE
from .kept import Kept
from .section import TIME_LIMIT, Outcome, Section

PRINTING = threading.Lock()


def spent(began: float, outcome: Outcome) -> str:
    return f"{time.monotonic() - began:.1f} s, {outcome.processor_seconds:.0f} s of the processor"


def run_section(section: Section, tier: str, kept: Kept | None = None) -> Outcome:
    before = kept.find(section.name) if kept and not section.is_required else None
    if before is not None:
        with PRINTING:
            print(f"== {section.name}: {before} (kept from before)\n", flush=True)
        return before
    if DEADLINE.is_over:
        return Outcome(failed=1, details=[f"it was not begun when {DEADLINE.minutes:g} minutes were up"])
    if section.may_be_left_out and TIME_LIMIT.is_up():
        with PRINTING:
            print(f"== {section.name}: left out, for {TIME_LIMIT.minutes:g} minutes were up\n", flush=True)
        return Outcome(left_out=1)
    with PRINTING:
        print(f"== {section.name}", flush=True)
    began = time.monotonic()
    try:
        outcome = section.run(tier)
    except Exception as error:  # a section that can't even start is a failure of that section, never of the run
        outcome = Outcome(failed=1, details=[f"{type(error).__name__}: {error}"])
    with PRINTING:
        for line in outcome.details:
            print(f"   {line}")
        print(f"-- {section.name}: {outcome} ({spent(began, outcome)})\n", flush=True)
    return kept.keep(section.name, outcome) if kept else outcome


def run_sections(sections: list[Section], tier: str, kept: Kept | None = None) -> list[Outcome | None]:
    """Runs them in order; neighbours that share the machine as many at once as it has cores and memory for.

    Those that nobody notices run beside all that come after them, two at once: while one compiles, which is what takes
    their time, another fuzzes with what is left of the processor. None is the outcome of a section
    that was not run because one that it needs failed.
    """
    outcomes: list[Outcome | None] = [None] * len(sections)
    with ThreadPoolExecutor(count_lanes()) as lanes, ThreadPoolExecutor(2) as beside:
        running: dict[Future[Outcome], int] = {}
        unnoticed: dict[Future[Outcome], int] = {}

        def gather(futures: dict[Future[Outcome], int]) -> None:
            for done in as_completed(list(futures)):
                outcomes[futures.pop(done)] = done.result()

        for index, section in enumerate(sections):
            if section.is_unnoticed:
                unnoticed[beside.submit(run_section, section, tier, kept)] = index
                continue
            if section.shares_machine:
                running[lanes.submit(run_section, section, tier, kept)] = index
                continue
            gather(running)
            outcome = outcomes[index] = run_section(section, tier, kept)
            if section.is_required and outcome.failed:
                print(f"{section.name} failed: the sections after it were not run\n")
                break
        gather(running)
        gather(unnoticed)
    return outcomes
