"""A Python that has imported torch on a virtual card: runs of tests marked `warm` are forks of it, through vramfit.

A second and a half less of a processor for each. What a test of the start itself, of signals, terminals, time limits or
several processes is about happens in a process of the job's own, so those are not marked.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from product import Product

# Variables of the run that told the environment, not of those that will be served.
_OF_ONE_RUN = {
    *("VRAMFIT_LAYER", "VRAMFIT_LEDGER", "VRAMFIT_OUTPUT_1", "VRAMFIT_OUTPUT_2", "VRAMFIT_RESTART", "VRAMFIT_RUN_DIR"),
}


class SharedPython:
    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "socket")
        product = Product(folder)
        told = product.run("import json, os; print(json.dumps(dict(os.environ)))")
        assert told.exit_code == 0, str(told)
        environment = {name: value for name, value in json.loads(told.stdout).items() if name not in _OF_ONE_RUN}
        words = ["-c", "import sys; sys.path[0] = sys.path[1]; from vramfit import zygote; zygote.main()", "listen"]
        with socket.socket(socket.AF_UNIX) as listener, (folder / "log").open("wb") as log:
            listener.bind(self.path)
            listener.listen()
            self.process = subprocess.Popen(
                [sys.executable, *words, str(listener.fileno())],
                pass_fds=[listener.fileno()],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=folder,
            )

    def close(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()  # it ends with it, as it would if we were killed
        return self.process.wait(timeout=120)


def is_wanted(markers: list[str]) -> bool:
    """The nearest of the two marks counts. VRAMFIT_TESTS_COLD=1: of no test, to tell what forks are to blame for."""
    return os.environ.get("VRAMFIT_TESTS_COLD") != "1" and markers[:1] == ["warm"]
