"""How many processes train together, and what they agree on without talking to each other."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from vramfit.private import python as of_python

_FILE = "budget_of_ranks"


def count() -> int:
    """The size of the process group once there is one (mp.spawn sets no variables), else as a launcher says."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    value = os.environ.get("WORLD_SIZE", "1")
    return max(1, int(value)) if value.isdigit() else 1


def serves_another() -> bool:
    """Whether this is a process of another's and no rank that trains with it: an engine or a worker of a server, which
    runs a model when asked to. Its parent waits for answers and takes its end for a death."""
    module = sys.modules.get("multiprocessing.process")
    if module is None or module.parent_process() is None:
        return False
    target = of_python.process_target.of(module.current_process())
    return getattr(target, "__module__", "") != "torch.multiprocessing.spawn"


def agree(proposal: int | None) -> int | None:
    """The proposal of the first rank that made one; None when nobody has. Ranks of one machine, once a run."""
    folder = os.environ.get("VRAMFIT_RUN_DIR")
    if not folder:
        return proposal
    path = Path(folder, _FILE)
    if proposal is not None and not path.exists():
        own = Path(folder, f"{_FILE}.{os.getpid()}")
        own.write_text(str(proposal))
        try:
            os.link(own, path)  # whole, and only once
        except FileExistsError:
            pass
        finally:
            own.unlink()
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
