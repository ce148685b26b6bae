"""PyTorch's out-of-memory message, as 2.1 and later print it of the only process on a card."""

from __future__ import annotations

# `total`, `process`, `allocated` in GiB, `idle` in MiB.
MESSAGE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of {total:.2f} "
    "GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has {process:.2f} GiB memory in use. Of "
    "the allocated memory {allocated:.2f} GiB is allocated by PyTorch, with 24.00 MiB allocated in private pools "
    "(e.g., CUDA Graphs), and {idle:.2f} MiB is reserved by PyTorch but unallocated.\n"
)
