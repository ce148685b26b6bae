"""The notebook's %%vramfit: a cell on a virtual card, in a child process; or measured where it is, on a real card."""

from __future__ import annotations

import argparse
import html
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn


class CellError(Exception):
    """Ends the cell, and "Run all" with it. A notebook shows what it says, without a traceback: that would be ours."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class UsageError(CellError, ValueError):
    """What was written after %%vramfit makes no sense."""


class RunFailed(CellError):
    """The cell's own code failed, ran out of memory or was ended, on its virtual card."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%vramfit: {message}")


def parse_line(line: str) -> argparse.Namespace:
    parser = _Parser(prog="%%vramfit", add_help=False)
    parser.add_argument("--gpu", help="run the cell on this virtual card")
    parser.add_argument("--cells", default="", help="earlier cells that run before it: 1-3,5")
    parser.add_argument("--timeout", type=float, help="seconds")
    return parser.parse_args(shlex.split(line))


def parse_cells(text: str, most: int) -> list[int]:
    """'1-3,5' as numbers of cells, each from 1 to `most`."""
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise UsageError(f"--cells: not cells: {part!r} (as in --cells 1-3,5)")
        begin, end = int(first), int(last or first)
        if begin < 1 or end > most:
            raise UsageError(f"--cells: cells 1 to {most} have been run")
        numbers += range(begin, end + 1)
    return numbers


def program() -> str:
    """The command line: beside this package (a stage may link to it), among this Python's scripts, else in the PATH."""
    for folder in (Path(__file__).absolute().parents[2] / "bin", Path(sysconfig.get_path("scripts"))):
        if (folder / "vramfit").exists():
            return str(folder / "vramfit")
    found = shutil.which("vramfit")
    if found is None:
        raise UsageError("the vramfit program is neither beside its Python package nor in the PATH")
    return found


def run_words(
    words: Sequence[str], environment: dict[str, str], timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program(), *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout
    )


def run_on_virtual_card(script: str, options: argparse.Namespace) -> tuple[str, str, dict[str, Any]]:
    """What vramfit run said, a chart as SVG (empty: there is none), and the whole result."""
    with tempfile.TemporaryDirectory(prefix="vramfit-cell.") as name:
        folder = Path(name)
        (folder / "cell.py").write_text(script)
        # A history of its own gives the run a number to draw it by; it is then taken into the user's.
        own = {**os.environ, "VRAMFIT_STORE": str(folder / "runs.db")}
        limit = ["--timeout", str(options.timeout)] if options.timeout else []
        words = ["run", "--gpu", options.gpu, *limit, "--json", str(folder / "result.json")]
        done = run_words([*words, "--", sys.executable, str(folder / "cell.py")], own)
        if not (folder / "result.json").exists():
            raise UsageError(done.stderr.strip() or "vramfit run gave no result")
        result = json.loads((folder / "result.json").read_text())
        chart = run_words(["export", "1", "--to", "svg", "-o", "-"], own)
        if run_words(["runs", "1", "--export", str(folder / "run.json")], own).returncode == 0:
            run_words(["runs", "--import", str(folder / "run.json")], dict(os.environ))
        return done.stdout + done.stderr, chart.stdout if chart.returncode == 0 else "", result


def table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = ["".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) for row, tag in mark_heads(rows)]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in body)}</table>"


def mark_heads(rows: Sequence[Sequence[str]]) -> list[tuple[Sequence[str], str]]:
    return [(row, "th" if i == 0 else "td") for i, row in enumerate(rows)]


def mib(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MiB"


def failure_of(result: dict[str, Any]) -> str:
    """Why what follows in the notebook should not go on; empty: it may."""
    if not result["exit_code"] and result["verdict"] != "out_of_memory" and not result["timed_out"]:
        return ""
    reason = f": {result['reason']}" if result["reason"] else ""
    return f"%%vramfit: {result['verdict'].replace('_', ' ')}{reason}"


def show_virtual(script: str, options: argparse.Namespace) -> tuple[str, str]:
    """The HTML of a run, and why it failed; empty: it did not."""
    said, chart, result = run_on_virtual_card(script, options)
    rows = [("phase", "card", "allocated", "reserved", "of the card")]
    keys = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_device_bytes")
    for phase in result["phases"]:
        rows.append((phase["name"], str(phase["device"]), *(mib(phase[key]) for key in keys)))
    # The chart is drawn by vramfit, and its texts are escaped there.
    picture = chart[chart.index("<svg") :] if "<svg" in chart else ""
    return f"<pre>{html.escape(said)}</pre>{table(rows) if len(rows) > 1 else ''}{picture}", failure_of(result)


def show_measured(ipython: Any, torch: Any, cell: str) -> tuple[str, str]:
    """Runs the cell in this kernel and tells the most that PyTorch held meanwhile: this process's share alone."""
    cards = range(torch.cuda.device_count())
    before = {}
    for card in cards:
        torch.cuda.synchronize(card)
        torch.cuda.reset_peak_memory_stats(card)
        before[card] = torch.cuda.memory_allocated(card)
    failed = not ipython.run_cell(cell).success  # its own traceback stands there
    rows: list[tuple[str, ...]] = [("card", "before", "peak allocated", "peak reserved")]
    for card in cards:
        torch.cuda.synchronize(card)
        name = f"{card}, {torch.cuda.get_device_name(card)}"
        most = (torch.cuda.max_memory_allocated(card), torch.cuda.max_memory_reserved(card))
        rows.append((name, mib(before[card]), *(mib(size) for size in most)))
    return table(rows), "%%vramfit: the cell failed" if failed else ""


def find_torch_with_card() -> Any:
    """torch, where this kernel has imported it and sees a card; it is never imported here."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def vramfit_magic(ipython: Any, line: str, cell: str) -> tuple[str, str]:
    """The HTML that the cell shows, and why it failed; empty: it did not."""
    options = parse_line(line)
    if not options.gpu:
        torch = find_torch_with_card()
        if torch is None:
            raise UsageError(
                "%%vramfit: this kernel has no torch with a card; --gpu NAME runs the cell on a virtual one"
            )
        if options.cells:
            raise UsageError("%%vramfit: --cells is for a virtual card (--gpu): here the notebook's own state is used")
        return show_measured(ipython, torch, cell)
    history = list(ipython.user_ns.get("In", [""]))
    numbers = parse_cells(options.cells, len(history) - 2)  # the first is empty, the last is this cell
    parts = [ipython.transform_cell(source) for source in [*(history[number] for number in numbers), cell]]
    if any("get_ipython()" in part for part in parts):
        raise UsageError("%%vramfit: a cell with a magic or a ! command can't run outside the notebook")
    return show_virtual("\n".join(parts), options)


def load_ipython_extension(ipython: Any) -> None:
    from IPython.display import HTML, display

    def vramfit(line: str, cell: str) -> None:
        shown, failure = vramfit_magic(ipython, line, cell)
        display(HTML(shown))
        if failure:
            raise RunFailed(failure)

    ipython.register_magic_function(vramfit, magic_kind="cell", magic_name="vramfit")
