"""Object collectives keep their contents under `--values zeros` too.

`all_gather_object` and its kin send pickles through small device tensors and work with their sizes on the card: with
sizes that read as zeros, no object could be unpickled. Their operators are run on the CPU as `--values cpu` does, for
the length of the call.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

_COLLECTIVES = (
    "all_gather_object",
    "gather_object",
    "broadcast_object_list",
    "scatter_object_list",
    "send_object_list",
    "recv_object_list",
)


def install(torch: ModuleType) -> None:
    """Wraps c10d's object collectives in both modules that name them."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d

    for name in _COLLECTIVES:
        original = getattr(distributed_c10d, name, None)
        if original is None:
            continue
        exact = _exact(original)
        for module in (distributed_c10d, torch.distributed):
            if getattr(module, name, None) is original:
                setattr(module, name, exact)


def _exact(original: Any) -> Any:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        from vramfit.values.mode import CpuValues

        with CpuValues(tells_device=True):
            return original(*args, **kwargs)

    return call
