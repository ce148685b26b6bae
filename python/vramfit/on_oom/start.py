"""The import hook imports this module, which waits for torch. It must never keep Python from starting."""

from __future__ import annotations

import sys


def _start() -> None:
    try:
        from vramfit import on_oom
        from vramfit.base import importing

        if on_oom.is_wanted():
            importing.install()
            importing.after_import("torch", on_oom.install)
    except Exception as error:
        print(f"vramfit: the out-of-memory hook could not be installed: {error!r}", file=sys.stderr)


_start()
