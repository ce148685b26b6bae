"""What of the user's own code was not reached, and whether it would use the card. Noted once, at the end of a process.

    for step in range(100_000):
        loss = train_step(batch)            # executed
        if step % 1000 == 0 and step:       # executed, and always false so far
            evaluate(model)                 # not reached: it uses the card, and the test changes with `step`
    if args.export:
        export(model)                       # after the place where the run was ended

What was decided once and for all (`if args.amp:`) is no gap: the job goes the same way.
"""

from __future__ import annotations

import ast
import atexit
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from vramfit.base import frames, importing, notes, process
from vramfit.contract import asked
from vramfit.contract import notes as said
from vramfit.steer.coverage import crossings, lines, never_entered, within_lines
from vramfit.steer.coverage.source import Gap, Once, Source, Varying
from vramfit.steer.coverage.touches import NO, UNKNOWN, YES, Touching

_MAX_FILES = 60
_MAX_BYTES = 1 << 20  # of one file
_MAX_GAPS = 40
_MAX_FRAMES = 200
Stack = Iterable[tuple[FrameType, int]]  # running functions and their lines, innermost first


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.is_noted = False
        self.is_main = True
        self.folder = ""

    def in_child(self) -> None:
        lines.go_on_in_child()
        self.is_main = False


_state = process.own(_State)


@dataclass
class _Place:
    """Where a function of the user's stands when the run is ended."""

    file: str
    function: str
    first_line: int
    line: int


def is_wanted() -> bool:
    """Not where nothing is left out, nor in trials."""
    is_cut = os.environ.get("VRAMFIT_STEPS") != asked.STEPS_ALL and os.environ.get("VRAMFIT_REAL") != "1"
    is_asked = _asked() in (asked.COVERAGE_TOLD, asked.COVERAGE_SEEN)
    return is_asked and bool(os.environ.get("VRAMFIT_RUN_DIR")) and is_cut


def _asked() -> str:
    return os.environ.get("VRAMFIT_COVERAGE", "")


def begin() -> None:
    """Before the script uses torch."""
    _state.is_noted, _state.is_main, _state.folder = False, True, os.getcwd()
    if is_wanted():
        lines.begin()


@notes.guarded("coverage")
def tell(stack: Stack | None) -> None:
    """Once: where a run is ended early (`stack`), or when the script has ended (None)."""
    if _asked() != asked.COVERAGE_TOLD or _state.is_noted or not _state.is_main or not lines.seen.executed:
        return
    was_cut = notes.was_cut()
    _state.is_noted = True
    known = lines.is_known()
    lines.add_children()
    seen = {file: sorted(found) for file, found in lines.seen.executed.items() if found}
    sources = _read_sources()
    is_looked_for = known and was_cut and "torch" in sys.modules
    unreached = find(sources, list(stack or []), sys.modules["torch"]) if is_looked_for else []
    run, of = _count_lines(sources)
    notes.note(
        said.Coverage(
            known=known,
            executed=_as_ranges(seen),
            parts=_parts(sources),
            unreached=unreached,
            lines_run=run,
            lines=of,
        )
    )


def find(sources: list[Source], stack: list[tuple[FrameType, int]], torch: Any) -> list[said.UnreachedLines]:
    """Gaps that a longer run may reach: `{file, line, last_line, function, code, when, card}`."""
    varying, touching = Varying(sources), Touching(sources, torch)
    once = Once(sources)
    places = _places(stack)
    found: list[said.UnreachedLines] = []
    for source in sources:
        for gap in source.gaps():
            when = _may_come(gap, source, varying, once, places)
            if when is None:
                continue
            card = touching.judge(gap.statements, source.name)
            first = next((s for s in gap.statements if touching.judge([s], source.name) != NO), gap.statements[0])
            found.append(_entry(gap, source, first, when, card))
    for source, gap, when in never_entered.find(sources, lines.seen.entered):
        card = touching.judge(gap.statements, source.name)
        if card != NO:
            found.append(_entry(gap, source, gap.statements[0], when, card))
    for source in sources:
        found += _find_parts(source, varying, once, touching)
    for crossing in crossings.find(sources, stack):
        card = touching.judge([crossing.statement], crossing.source.name)
        found.append(_entry_of_side(crossing, card))
    return sorted(found, key=lambda entry: ("yes", "unknown", "no").index(entry.card))[:_MAX_GAPS]


def _read_sources() -> list[Source]:
    sources = []
    for file, seen in list(lines.seen.executed.items())[:_MAX_FILES]:
        try:
            path = os.path.join(_state.folder, file)  # the script may have gone elsewhere since
            if seen and os.path.getsize(path) <= _MAX_BYTES:
                with open(path, "rb") as text:
                    sources.append(Source(file, ast.parse(text.read()), seen))
        except (OSError, SyntaxError, ValueError):
            continue
    return sources


def _count_lines(sources: list[Source]) -> tuple[int, int]:
    """Executed lines of the script's own files, and how many could be."""
    run = of = 0
    for source in sources:
        possible: set[int] = set()
        codes = [compile(source.tree, source.name, "exec", dont_inherit=True)]
        while codes:
            code = codes.pop()
            possible.update(lines.lines_of(code))
            codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        of += len(possible)
        run += len(possible & source.seen)
    return run, of


def _places(stack: list[tuple[FrameType, int]]) -> list[_Place]:
    codes = [(frame.f_code, line) for frame, line in stack[:_MAX_FRAMES] if frames.is_script(frame.f_code)]
    return [_Place(code.co_filename, code.co_name, code.co_firstlineno, line) for code, line in codes]


def _may_come(gap: Gap, source: Source, varying: Varying, once: Once, places: list[_Place]) -> str | None:
    """When a longer run would come to it, in the script's words; None when it would not."""
    if gap.test is not None:
        if not varying.is_varying(gap.test, gap.scope, source.tree) or once.holds(gap.test, gap.scope, source.tree):
            return None
        return within_lines.when(gap.test, gap.decided_for)
    first = gap.statements[0].lineno
    for place in places:
        here = place.function == gap.function and place.file == source.name and place.line < first
        if here and (gap.scope is None or _contains(gap.scope, place.line)):
            return "after the place where the run was ended"
    return None


def _contains(scope: ast.AST, line: int) -> bool:
    return getattr(scope, "lineno", 0) <= line <= (getattr(scope, "end_lineno", 0) or 0)


def _entry(gap: Gap, source: Source, first: ast.stmt, when: str, card: said.UsesCard) -> said.UnreachedLines:
    code = ast.unparse(first).split("\n")[0].strip()
    last = gap.statements[-1]
    return said.UnreachedLines(
        file=source.name,
        line=first.lineno,
        last_line=last.end_lineno or last.lineno,
        place=frames.spelled(source.name, first.lineno, gap.function),
        code=code[:120],
        when=when[:120],
        why=_rhythm(gap.test) if gap.decided_for else None,
        card=card,
    )


def _entry_of_side(crossing: crossings.Crossing, card: said.UsesCard) -> said.UnreachedLines:
    """Its line was executed: this is about the other side of it."""
    line = crossing.expression.lineno
    return said.UnreachedLines(
        file=crossing.source.name,
        line=line,
        last_line=crossing.expression.end_lineno or line,
        place=frames.spelled(crossing.source.name, line, crossing.function),
        code=ast.unparse(crossing.expression)[:120],
        when=f"once {crossing.counter} is {crossing.limit:,g}",
        why=None,
        card=card,
        what="other_side",
    )


def _lines_spanned(node: ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _find_parts(source: Source, varying: Varying, once: Once, touching: Touching) -> Iterable[said.UnreachedLines]:
    """Branches that share a line with their test, on lines that were executed."""
    known = lines.seen.masks.sort(source.name, within_lines.find(source.tree))
    for branch in (*known.not_reached, *known.unknown):
        was_tested = source.seen.intersection(_lines_spanned(branch.test))
        if not was_tested or not varying.is_varying(branch.test, branch.scope, source.tree):
            continue
        if once.holds(branch.test, branch.scope, source.tree):
            continue
        card = touching.judge(branch.statements(), source.name)
        if branch in known.not_reached:
            yield _entry_of_part(branch, source, branch.when(), card)
        elif card == YES:
            yield _entry_of_part(branch, source, f"{branch.when()}: whether it was run is not known", UNKNOWN)


def _entry_of_part(branch: within_lines.Branch, source: Source, when: str, card: said.UsesCard) -> said.UnreachedLines:
    """Its line was executed: readers go by `column`, from 1."""
    gap = Gap(branch.statements(), branch.function, branch.test, branch.decided_for, branch.scope)
    line, column = branch.begin()
    entry: said.UnreachedLines = _entry(gap, source, gap.statements[0], when, card)
    entry.why = None if card == UNKNOWN else entry.why
    entry.what, entry.line, entry.column = "part", line, column + 1
    return entry


def _parts(sources: list[Source]) -> dict[str, list[said.LinePart]]:
    """Lines and columns of branches within a line that were run."""
    found: dict[str, list[said.LinePart]] = {}
    for source in sources:
        known = lines.seen.masks.sort(source.name, within_lines.find(source.tree))
        places = sorted(branch.begin() for branch in known.reached)
        if places:
            found[source.name] = [said.LinePart(line=line, column=column + 1) for line, column in places]
    return found


def _rhythm(test: ast.expr | None) -> str | None:
    """`step % 1000 == 999` -> "every 1,000 steps"; None where there is no such rhythm."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next((rhythm for rhythm in map(_rhythm, test.values) if rhythm), None)
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return None
    left = test.left
    if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Mod) or not isinstance(left.right, ast.Constant):
        return None
    period, counted = left.right.value, ast.unparse(left.left).strip("()")
    if not isinstance(period, int):
        return None
    for word in ("epoch", "batch"):
        if word in counted:
            return f"every {period:,} {word}{'es' if word == 'batch' else 's'}"
    return f"every {period:,} steps" if "step" in counted or "iter" in counted else f"every {period:,} rounds"


def _as_ranges(seen: dict[str, list[int]]) -> dict[str, list[said.LineRange]]:
    """[3, 4, 5, 9] -> 3 to 5, 9 to 9"""
    ranges: dict[str, list[said.LineRange]] = {}
    for file, numbers in seen.items():
        rows = ranges.setdefault(file, [])
        for number in numbers:
            if rows and rows[-1].last == number - 1:
                rows[-1].last = number
            else:
                rows.append(said.LineRange(first=number, last=number))
    return ranges


@notes.guarded("coverage")
def run_for_parent() -> None:
    """In a process that `multiprocessing` started: what it executes is its parent's script's too."""
    lines.run_for_parent()


def _tell_at_exit() -> None:
    """Then nothing is watched: what Python runs while it takes modules apart would call functions without globals."""
    tell(None)
    lines.end()


def install() -> None:
    """Once torch is there."""
    atexit.register(_tell_at_exit)
    importing.around_large_imports(lines.looking_away)
    begin()
