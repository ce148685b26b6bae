"""Memory snapshots of the run itself, to be compared with one of a real card (VRAMFIT_SNAPSHOTS).

A script that records its history and dumps it does so here too, at the same place with the same options: its dumps are
kept as they are. One that does not is recorded from the first use of the card, and dumped at its end. Files go to the
run folder, each with a `snapshot` note that names it.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from vramfit.base import notes
from vramfit.contract import notes as said
from vramfit.private import torch as of_torch

Function = TypeVar("Function", bound=Callable[..., Any])

MOST_ENTRIES = 4_000_000  # of PyTorch's ring: some 2 KB each, once it is dumped
MOST_FILES = 32


def _as(original: Function, method: Callable[..., Any]) -> Function:
    """The method under the name and the signature of a function of PyTorch's."""

    @functools.wraps(original)
    def called(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return called  # type: ignore[return-value]


class Snapshots:
    """The snapshots of one process."""

    def __init__(self, torch: Any, folder: str) -> None:
        self._torch = torch
        self._folder = folder
        self._record = of_torch.record_memory_history.get()
        self._snapshot = of_torch.take_snapshot.get()
        self._dump = of_torch.dump_snapshot.get()
        self._pid = os.getpid()
        self._is_recording = False  # by our own wish
        self._script_records = False
        self._name = ""  # of the file that the script dumps to, while it does
        self._files = 0

    def install(self) -> None:
        of_torch.record_memory_history.replace(_as(self._record, self._record_for_script))
        of_torch.take_snapshot.replace(_as(self._snapshot, self._snapshot_for_script))
        of_torch.dump_snapshot.replace(_as(self._dump, self._dump_for_script))
        of_torch.lazy_call(self._begin)
        atexit.register(self._end)

    def _begin(self) -> None:
        if self._script_records or os.getpid() != self._pid:
            return
        self._record("all", context="all", stacks="python", max_entries=MOST_ENTRIES)
        self._is_recording = True

    def _end(self) -> None:
        """Keeps a snapshot if the script dumped none. A forked child has the history, and the card, of nobody."""
        if self._files == 0 and os.getpid() == self._pid and self._torch.cuda.is_initialized():
            self._keep(self._snapshot(), "", by_script=False)

    def _record_for_script(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_recording:
            self._is_recording = False
            with warnings.catch_warnings():  # it warns that history was lost, which is what it is for
                warnings.simplefilter("ignore")
                self._record(None)
        self._script_records = True
        return self._record(*args, **kwargs)

    def _dump_for_script(self, *args: Any, **kwargs: Any) -> Any:
        self._name = str(args[0] if args else kwargs.get("filename", "dump_snapshot.pickle"))
        try:
            return self._dump(*args, **kwargs)
        finally:
            self._name = ""

    def _snapshot_for_script(self, *args: Any, **kwargs: Any) -> Any:
        taken = self._snapshot(*args, **kwargs)
        try:
            if self._script_records and isinstance(taken, dict) and self._files < MOST_FILES:
                self._keep(taken, self._name, by_script=True)
        except Exception as error:
            notes.hook_failed("keep a snapshot", error)
        return taken

    def _keep(self, taken: Any, name: str, by_script: bool) -> None:
        file = f"snapshot.{os.getpid()}.{self._files}.pickle"
        with open(os.path.join(self._folder, file), "wb") as out:
            pickle.dump(taken, out)
        self._files += 1
        notes.note(said.Snapshot(file=file, name=os.path.basename(name), by_script=by_script))


def install(torch: Any) -> None:
    folder = os.environ.get("VRAMFIT_RUN_DIR")
    if folder and os.environ.get("VRAMFIT_SNAPSHOTS") == "1":
        Snapshots(torch, folder).install()
