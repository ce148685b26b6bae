"""Puts the hooks in place: prepare() at the start of Python, the rest once torch is imported."""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import sys
from types import ModuleType
from typing import Any

from vramfit.base import garbage, importing, notes, process
from vramfit.contract import notes as said
from vramfit.private import torch as of_torch
from vramfit.private.names import late_modules_of, packages_of


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.hooked = False  # once torch is imported


_state = process.own(_State)


def _is_under_vramfit() -> bool:
    return bool(os.environ.get("VRAMFIT_RUN_DIR") or os.environ.get("VRAMFIT_PLAN"))


def _watch_for_unknown_symbols() -> None:
    """A torch that needs a function which no stand-in has does not come to its import's end, nor to our hooks."""
    before = sys.excepthook

    def excepthook(kind: Any, error: BaseException, trace: Any) -> None:
        if isinstance(error, (ImportError, OSError)) and "undefined symbol" in str(error) and not _state.hooked:
            notes.note(said.Error(type=type(error).__name__, message=str(error), stack=[], after_cut=False))
        before(kind, error, trace)

    sys.excepthook = excepthook


def _watch_uncaught() -> None:
    from vramfit.steer import errors

    errors.watch_uncaught()


def prepare(always: bool = False) -> None:
    """Cheap: most Python processes of a job never import torch. A warm process has no run of its own: `always`."""
    from vramfit import on_oom

    if on_oom.is_wanted():
        importing.install()
        importing.after_import("torch", on_oom.install)
    if not always and not _is_under_vramfit():
        return
    from vramfit import apply
    from vramfit.base import late_dynamo
    from vramfit.observe import frameworks, vllm_memory
    from vramfit.values import restart

    garbage.install()
    restart.follow_output()
    apply.before_torch()
    _watch_for_unknown_symbols()
    importing.install()
    importing.after_import("torch", _after_torch)
    frameworks.install(_watch_uncaught)
    vllm_memory.install()
    if os.environ.get("VRAMFIT_REAL") != "1":
        late_dynamo.install()


def _after_torch(torch: ModuleType) -> None:
    from vramfit import apply, diagnose, patch, values, verify
    from vramfit.base import recorder
    from vramfit.observe import (
        attention_scores,
        autograd_threads,
        card_transforms,
        collectives,
        compiling,
        convolution_layers,
        ineffective_savings,
        job,
        linear_layers,
        loaders,
        modules,
        network_makers,
        own_snapshots,
        owners,
        padding,
        phases,
        saves,
        sparse_embeddings,
        teachers,
        tensor_classes,
        thread_lines,
        unseen_blocks,
        wide_losses,
    )
    from vramfit.observe.ownership import buckets, caches, census
    from vramfit.steer import coverage, cut, errors, kept_graphs, looking_ahead, run_ahead, trainers, uploads
    from vramfit.values import data_reads, host_fills

    _state.hooked = True
    recorder.check()
    _look_for_private_names()
    # This happens in whichever process comes to use the card: the first, or a fork of it.
    of_torch.lazy_call(notes.process_begins)
    parts = (
        ("phases", lambda: phases.install(torch)),
        ("loaders", lambda: loaders.install(torch)),
        ("owners", lambda: owners.install(torch)),
        ("caches", caches.install),
        ("buckets", lambda: buckets.install(torch)),
        ("job", lambda: job.install(torch)),
        ("wide_losses", lambda: wide_losses.install(torch)),
        ("network_makers", network_makers.install),
        ("teachers", lambda: teachers.install(torch)),
        ("ineffective_savings", ineffective_savings.install),
        ("padding", padding.install),
        ("tensor_classes", tensor_classes.install),
        ("linear_layers", lambda: linear_layers.install(torch)),
        ("convolution_layers", convolution_layers.install),
        ("card_transforms", lambda: card_transforms.install(torch)),
        ("sparse_embeddings", lambda: sparse_embeddings.install(torch)),
        ("compiling", lambda: compiling.install(torch)),
        ("attention_scores", attention_scores.install),
        ("apply", lambda: apply.install(torch)),
        ("patch", lambda: patch.install(torch)),
        ("cut", lambda: cut.install(torch)),
        ("kept_graphs", kept_graphs.install),
        ("run_ahead", run_ahead.install),
        ("looking_ahead", looking_ahead.install),
        ("saves", lambda: saves.install(torch)),
        ("errors", errors.install),
        ("trainers", trainers.install),
        ("uploads", uploads.install),
        ("values", lambda: (values if values.policy() != "zeros" else data_reads).install(torch)),
        ("sparse_rows", lambda: values.join_rows(torch)),
        ("thread_lines", thread_lines.install),
        ("host_fills", lambda: host_fills.install(torch)),
        ("objects", lambda: values.keep_objects(torch)),
        ("autograd_threads", autograd_threads.install),
        ("collectives", lambda: collectives.install(torch)),
        ("diagnose", lambda: diagnose.install(torch)),
        ("modules", lambda: modules.install(torch)),
        ("verify", lambda: verify.install(torch)),
        ("own_snapshots", lambda: own_snapshots.install(torch)),
        ("coverage", coverage.install),
        ("census", lambda: census.install(torch)),
        ("unseen_blocks", lambda: unseen_blocks.install(torch)),
    )
    for name, put_in_place in parts:
        try:
            put_in_place()
        except Exception as error:
            notes.hook_failed(f"install {name}", error)


@notes.guarded("install private names")
def _look_for_private_names() -> None:
    """Looks for torch's and Python's names now; for each other library's once it is there; for what it imports late,
    when that is."""
    from vramfit import private
    from vramfit.steer.counting_on import stack

    found = (each.name for each in pkgutil.iter_modules(private.__path__, f"{private.__name__}."))
    files = [file for file in map(importlib.import_module, found) if hasattr(file, "LIBRARY")]
    for names in files:
        if names.LIBRARY in ("torch", "Python"):
            notes.look_for_names(names)
        for module in (*names.READY, *late_modules_of(names)):
            importing.after_import(module, functools.partial(_look_again, names))
        for package in packages_of(names):
            importing.after_import(package, functools.partial(notes.look_for_modules, names))
    stack.look_for_layout()


def _look_again(names: ModuleType, module: ModuleType) -> None:
    notes.look_for_names(names, module.__name__)


def begin_job() -> None:
    """Installs in a fork of a warm process, where torch is imported already, what the job's environment asks for."""
    import sys

    from vramfit import apply, diagnose, patch, values, verify
    from vramfit.observe import modules, own_snapshots
    from vramfit.steer import coverage, cut
    from vramfit.values import data_reads, host_fills, restart

    restart.follow_output()
    if values.policy() != "zeros":
        data_reads.stop()
        values.install(sys.modules["torch"])
    host_fills.begin()
    cut.cutter.begin()
    apply.before_torch()
    apply.install(sys.modules["torch"])
    patch.install(sys.modules["torch"])
    diagnose.install(sys.modules["torch"])
    modules.install(sys.modules["torch"])
    verify.install(sys.modules["torch"])
    own_snapshots.install(sys.modules["torch"])
    coverage.begin()
