"""What a script under vramfit may say of itself. Everything else in this package is loaded by its hooks only."""

from __future__ import annotations

from typing import Any

__all__ = ["load_ipython_extension", "mark"]


def mark(text: str) -> None:
    """Names this moment on the timeline of a vramfit run. Does nothing outside one."""
    from vramfit.base import recorder

    recorder.mark(text)


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext vramfit: the cell magic %%vramfit."""
    from vramfit import jupyter

    jupyter.load_ipython_extension(ipython)
