"""A fork of the warm process enters the job's private layer (src/isolate)."""

from __future__ import annotations

import ctypes
import signal

from vramfit.contract import asked
from vramfit.contract.functions import bind

_MAX_REASON = 4096
_PR_SET_PDEATHSIG = 1


class Refused(Exception):
    """The layer could not be entered; the text says why. The process must end."""


def enter(request: asked.EnteredLayer | None) -> None:
    """None where the job has none. One thread only."""
    if not request:
        return
    reason = ctypes.create_string_buffer(_MAX_REASON)
    try:
        enter_layer = bind(ctypes.CDLL(request.library), "vramfit_enter_layer")
    except (OSError, AttributeError) as error:
        raise Refused(str(error)) from error
    if enter_layer(request.spec.encode("utf-8", "surrogateescape"), reason, _MAX_REASON) != 0:
        raise Refused(reason.value.decode(errors="replace"))


def die_with_parent() -> None:
    """Nobody ends a job whose warm process was killed. Entering a layer makes the kernel forget it: call it after."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
