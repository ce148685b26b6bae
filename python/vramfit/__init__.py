"""What a script under vramfit may say of itself. Everything else in this package is loaded by its hooks only."""

from __future__ import annotations

__all__ = ["mark"]


def mark(text: str) -> None:
    """Names this moment on the timeline of a vramfit run. Does nothing outside one."""
    from vramfit import recorder

    recorder.mark(text)
