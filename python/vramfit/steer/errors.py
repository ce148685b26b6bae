"""How the job ended: an OOM or another uncaught exception, with the script's stack."""

from __future__ import annotations

import functools
import linecache
import re
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from vramfit.base import garbage, notes, process, recorder
from vramfit.base.frames import is_ours, is_script_file, spelled
from vramfit.contract import notes as said
from vramfit.observe.phases import position
from vramfit.private import python as of_python
from vramfit.private import torch as of_torch
from vramfit.steer import coverage, left_out
from vramfit.steer.counting_on import failures
from vramfit.steer.cut import cutter
from vramfit.values import data_reads

_MAX_FRAMES = 60
_MAX_LETTERS = 4000
_FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')


def is_oom(error: BaseException) -> bool:
    if type(error).__name__ in ("JaxRuntimeError", "XlaRuntimeError", "ResourceExhaustedError"):
        text = str(error)
        return "RESOURCE_EXHAUSTED" in text or "OOM when allocating" in text or "Out of memory" in text
    torch = sys.modules.get("torch")
    kind = getattr(torch, "OutOfMemoryError", None) or getattr(getattr(torch, "cuda", None), "OutOfMemoryError", None)
    return kind is not None and isinstance(error, kind)


def stack_of(trace: TracebackType | None) -> list[said.StackFrame]:
    """The frames of a traceback, innermost last, without ours."""
    frames = []
    for summary in traceback.extract_tb(trace):
        if is_ours(summary.filename) or summary.filename.startswith("<frozen"):
            continue
        code = summary.line or linecache.getline(summary.filename, summary.lineno or 0).strip()
        line = summary.lineno or 0
        frames.append(said.StackFrame(file=summary.filename, line=line, function=summary.name, code=code))
    return frames[-_MAX_FRAMES:]


def _shortened(text: str) -> str:
    """A launcher's error holds the whole traceback of a rank, and ends with what it died of."""
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS // 4]} ... {text[-_MAX_LETTERS * 3 // 4 :]}"


def message_of(error: BaseException) -> str:
    """The error's message. If a loader's worker sent it, what it was and where: its whole traceback stands in the
    script's own output."""
    text = str(error)
    head, mark, trace = text.partition("\nOriginal Traceback (most recent call last):\n")
    if not mark:
        return _shortened(text)
    lines = trace.rstrip().splitlines()
    frames = [match for match in map(_FRAME.match, lines) if match is not None]
    last = max((number for number, line in enumerate(lines) if _FRAME.match(line)), default=0)
    said_last = [line for number, line in enumerate(lines) if number > last]
    while said_last and said_last[0].startswith(" "):  # the line of code, and marks below it
        said_last = said_last[1:]
    own = next((match for match in reversed(frames) if is_script_file(match["file"])), None)
    where = f" ({spelled(own['file'], int(own['line']), own['function'])})" if own is not None else ""
    what = "\n".join(said_last).removeprefix(f"{type(error).__name__}: ")
    sender = head.partition(" in ")[2].rstrip(".") or "a worker"
    return _shortened(f"{what}, in {sender}{where}")


def note_error(error: BaseException) -> None:
    """One note for an exception that ends the job. KeyboardInterrupt and SystemExit are no errors."""
    if not isinstance(error, Exception):
        return
    if (oom := _oom_behind(error)) is not None:
        phase = recorder.PHASE_NAMES[position.phase]
        stack = stack_of(oom.__traceback__)
        notes.note(said.Oom(message=str(oom), phase=phase, stack=stack, loading=_model_on_its_way(oom)))
    if oom is not error:
        notes.note(
            said.Error(
                type=type(error).__name__,
                message=message_of(error),
                stack=stack_of(error.__traceback__),
                after_cut=cutter.after_cut_evaluation,
                after_read=data_reads.has_read(),
            )
        )


def _oom_behind(error: BaseException) -> BaseException | None:
    """The error itself, or the one that was being handled when it was raised: `except OutOfMemoryError: retry()`."""
    seen: set[int] = set()
    now: BaseException | None = error
    while now is not None and id(now) not in seen:
        if is_oom(now):
            return now
        seen.add(id(now))
        now = now.__cause__ or now.__context__
    return None


@notes.guarded("errors.loading")
def _model_on_its_way(error: BaseException) -> said.Loading | None:
    from vramfit.observe.ownership import loading

    return loading.progress(sys.modules["torch"], error.__traceback__)


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.uncaught: list[BaseException] = []  # what ended this process


_state = process.own(_State)


def ended_by_error() -> bool:
    return bool(_state.uncaught)


def _ends(error: BaseException) -> None:
    """This process ends of an error that nobody handles."""
    if error in _state.uncaught:
        return
    garbage.run_ends_early()
    _state.uncaught.append(error)
    try:
        if _oom_behind(error) is not None and "torch" in sys.modules:
            from vramfit.observe.ownership import census

            census.tell_all()
        note_error(error)
    except Exception as failure:
        notes.hook_failed("errors", failure)


def _ends_counted_on(error: BaseException, trace: TracebackType | None) -> None:
    """The script was moved on before it failed: the run ends there, as one that was ended early."""
    words = failures.describe(error, trace)
    ended = f"a script that was counted on ended in {words}"
    notes.note(said.Cut(what="stopped", text=ended))
    text = f"after its loops were counted on, the script ended in {words}: for what was left out, or by itself"
    notes.note(said.Open(text=text))
    _tell_what_is_left(trace)


@notes.guarded("errors.what_is_left")
def _tell_what_is_left(trace: TracebackType | None) -> None:
    stack = list(traceback.walk_tb(trace))[::-1]
    left_out.tell(stack)
    coverage.tell(stack)


def install() -> None:
    watch_uncaught()
    _watch_children()


class _Watch:
    KEEPS = process.ALL  # a forked child has its parent's sys.excepthook

    def __init__(self) -> None:
        self.begun = False


_watch = process.own(_Watch)


def watch_uncaught() -> None:
    """Begins once, whichever framework is imported first."""
    if _watch.begun:
        return
    _watch.begun = True
    before = sys.excepthook

    def excepthook(kind: Any, error: BaseException, trace: TracebackType | None) -> None:
        if not is_oom(error) and failures.may_come_of_it(error):
            before(kind, error, trace)  # or it is its own: it is shown whichever it is
            _ends_counted_on(error, trace)
            raise SystemExit(0) from None
        _ends(error)
        _tell_what_is_left(trace)
        before(kind, error, trace)

    sys.excepthook = excepthook


def _watch_children() -> None:
    """Processes of `multiprocessing` end without asking sys.excepthook: they print or send what they died of."""
    import importlib

    importlib.import_module("torch.multiprocessing.spawn")
    spawn_wrap, bootstrap = of_torch.spawn_wrap.get(), of_python.bootstrap_process.get()

    def telling(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                _ends(error)
                raise

        return call

    @functools.wraps(spawn_wrap)  # pickled by its name
    def wrap(function: Any, *args: Any) -> Any:
        return spawn_wrap(telling(function), *args)

    @functools.wraps(bootstrap)
    def begin(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = telling(self.run)

        def run_for_parent() -> Any:
            coverage.run_for_parent()
            return run()

        self.run = run_for_parent
        return bootstrap(self, *args, **kwargs)

    of_torch.spawn_wrap.replace(wrap)
    of_python.bootstrap_process.replace(begin)
