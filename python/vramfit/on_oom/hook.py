"""Puts the import hook into an environment: one line in its site-packages that does nothing without VRAMFIT_ON_OOM.

    python -m vramfit.on_oom.hook install | remove        (what `vramfit env hook` runs)

Python executes lines of .pth files that begin with `import` at every start; this one costs a look at an environment
variable.
"""

from __future__ import annotations

import os
import sys
import sysconfig

FILE_NAME = "vramfit_on_oom.pth"


def line() -> str:
    """The package's folder is named, because the environment need not have vramfit installed."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    start = f"sys.path.append({folder!r}), __import__('vramfit.on_oom.start')"
    return f"import os, sys; os.environ.get('VRAMFIT_ON_OOM') and os.path.isdir({folder!r}) and ({start})\n"


def path() -> str:
    return os.path.join(sysconfig.get_path("purelib"), FILE_NAME)


def main(words: list[str]) -> int:
    place = path()
    if words == ["install"]:
        with open(place, "w", encoding="utf-8") as file:
            file.write(line())
        print(place)
        return 0
    if words == ["remove"]:
        if os.path.exists(place):
            os.remove(place)
            print(place)
        return 0
    print("usage: python -m vramfit.on_oom.hook install | remove", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
