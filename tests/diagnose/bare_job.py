"""Jobs run without vramfit: an interpreter on a virtual card, as though the card were real. No recorder, no run folder.

The virtual card stands in for a real one: what is tested uses nothing of it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest
from product import STAGE, Finished

LEDGER_TOOL = STAGE.parent / "vramfit_ledger_tool"
CONTEXT = 272629760
HOOK = str(STAGE / "python" / "vramfit" / "hook")


def torch_folder() -> Path:
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        pytest.skip("no torch in this environment")
    return Path(torch.origin).parent


def cuda_major() -> str:
    cuda = re.search(r"^cuda\b.*= '(\d+)", (torch_folder() / "version.py").read_text(), re.MULTILINE)
    if cuda is None:
        pytest.skip("not a CUDA build of torch")
    return cuda[1]


@dataclass
class BareJob:
    folder: Path
    python: str = sys.executable

    def run(self, text: str, *, total: int = 4 << 30, timeout: float = 240, **variables: str) -> Finished:
        script = self.folder / "train.py"
        script.write_text(textwrap.dedent(text))
        if not LEDGER_TOOL.exists():
            pytest.skip("the ledger tool is not built")
        card = f"/dev/shm/vramfit-test-{uuid.uuid4().hex}"
        figures = {"name": "NVIDIA GeForce RTX 3090", "cc": "8.6", "sms": "82", "total": total, "context": CONTEXT}
        words = [str(word) for name, value in figures.items() for word in (f"--{name}", value)]
        subprocess.run([str(LEDGER_TOOL), "create", card, *words], check=True, capture_output=True)
        stand_ins = STAGE / "lib" / f"cu{cuda_major()}"
        own = {name: value for name, value in os.environ.items() if not name.startswith("VRAMFIT_")}
        environment = {
            **own,
            "LD_PRELOAD": str(stand_ins / "libvramfit_preload.so"),
            "LD_LIBRARY_PATH": str(stand_ins),
            "VRAMFIT_LEDGER": card,
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        try:
            done = subprocess.run(
                [self.python, str(script)],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        finally:
            Path(card).unlink(missing_ok=True)
        return Finished(done.returncode, done.stdout, done.stderr)
