"""What the sections of a run came to, kept as they end: a run that was stopped is gone on with (./test --go-on).

build/suite/TIER.json holds the commit, the outcomes of sections in which nothing failed, and what failed in others: if
that passes when the run goes on, it is listed as unsteady. It counts for the same commit with nothing changed in the
working tree, and for nothing else.
"""

from __future__ import annotations

import dataclasses
import json
import threading

from .section import ROOT, Outcome, run_git

WRITING = threading.Lock()


def describe_tree() -> str | None:
    """The commit, or None where files differ from it: then nobody knows what was tested."""
    commit = run_git("rev-parse", "HEAD", folder=ROOT)
    return commit[0] if commit and run_git("status", "--porcelain", folder=ROOT) == [] else None


class Kept:
    def __init__(self, tier: str, goes_on: bool) -> None:
        self._file = ROOT / "build" / "suite" / f"{tier}.json"
        self._commit = describe_tree()
        self._outcomes: dict[str, Outcome] = {}
        self._failures: dict[str, list[str]] = {}  # by section: what failed in an earlier part of this run
        if goes_on and self._commit is not None and self._file.exists():
            kept = json.loads(self._file.read_text())
            if kept["commit"] == self._commit:
                self._outcomes = {name: Outcome(**outcome) for name, outcome in kept["sections"].items()}
                self._failures = kept["failures"]

    def find(self, name: str) -> Outcome | None:
        return self._outcomes.get(name)

    def keep(self, name: str, outcome: Outcome) -> Outcome:
        """The outcome, with what failed in an earlier part of this run and passes now."""
        if self._commit is None:
            return outcome
        with WRITING:
            before = self._failures.get(name, [])
            if outcome.left_out:
                return outcome
            if outcome.failed:
                self._failures[name] = sorted({*before, *(outcome.failed_tests or [f"something in {name}"])})
            else:
                unsteady = sorted({*outcome.unsteady_tests, *before})
                outcome = dataclasses.replace(outcome, unsteady_tests=unsteady)
                self._outcomes[name] = outcome
            sections = {name: dataclasses.asdict(outcome) for name, outcome in self._outcomes.items()}
            self._file.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._file.with_suffix(".new")
            fresh.write_text(json.dumps({"commit": self._commit, "sections": sections, "failures": self._failures}))
            fresh.replace(self._file)
        return outcome
