"""JAX and TensorFlow: how much of the card they used at their peak, by their own count.

Both take most of the card as a pool before the first step, so what is taken of the card says little. Nothing here
starts a framework that the job did not start: that would take its pool.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from vramfit.base import importing, notes
from vramfit.contract import notes as said
from vramfit.private import jax as of_jax
from vramfit.private import tensorflow as of_tensorflow


def install(follow_errors: Callable[[], None]) -> None:
    """`follow_errors` is called once a framework is there, on a virtual card."""
    importing.after_import("jax", lambda jax: _follow(jax, of_jax, _note_jax, follow_errors))
    importing.after_import(
        "tensorflow", lambda tensorflow: _follow(tensorflow, of_tensorflow, _note_tensorflow, follow_errors)
    )


def _follow(framework: ModuleType, names: ModuleType, note: Any, follow_errors: Callable[[], None]) -> None:
    notes.look_for_names(names)
    notes.process_begins()
    if os.environ.get("VRAMFIT_REAL") != "1":
        follow_errors()
    own = os.getpid()

    def at_exit() -> None:
        if os.getpid() != own:
            return  # a fork of it: the card is the parent's
        with contextlib.redirect_stderr(None):
            try:
                note(framework)
            except Exception as error:
                notes.hook_failed(f"memory of {framework.__name__}", error)

    atexit.register(at_exit)


def _tell(name: str, version: str, device: int, peak: int, pool: int | None) -> None:
    notes.note(said.FrameworkMemory(framework=name, version=version, device=device, peak_bytes=peak, pool_bytes=pool))


def _note_jax(jax: ModuleType) -> None:
    if "cuda" not in of_jax.backends.get():
        return
    for device in jax.local_devices(backend="cuda"):
        stats = device.memory_stats() or {}
        if "peak_bytes_in_use" in stats:
            pool = stats.get("peak_pool_bytes") or stats.get("pool_bytes")
            _tell("JAX", jax.__version__, device.local_hardware_id, stats["peak_bytes_in_use"], pool)


def _note_tensorflow(tensorflow: ModuleType) -> None:
    context = of_tensorflow.context()
    if context is None or not of_tensorflow.is_initialized.of(context, False):
        return
    devices = of_tensorflow.devices.of(context)
    for index, device in enumerate(devices("GPU") if devices else ()):
        peak = tensorflow.config.experimental.get_memory_info(device.name)["peak"]
        _tell("TensorFlow", tensorflow.__version__, index, peak, None)
