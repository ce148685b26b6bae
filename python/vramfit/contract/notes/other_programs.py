"""What other frameworks and servers in the job hold."""

from __future__ import annotations

from vramfit.contract.fields import Bytes, Note


class FrameworkMemory(Note, kind="framework_memory"):
    """Memory by the own count of JAX or TensorFlow; once, at the end."""

    framework: str
    version: str
    device: int
    peak_bytes: Bytes  # in use
    pool_bytes: Bytes | None  # that it took for itself


class ServerMemory(Note, kind="server_memory"):
    """Memory by the own profiling of a server of language models."""

    framework: str  # `vLLM`
    version: str
    device: int
    weights_bytes: Bytes | None
    activation_bytes: Bytes | None
    outside_bytes: Bytes | None  # of PyTorch's allocator
    graph_bytes: Bytes | None
    kv_cache_bytes: Bytes | None
    kv_tokens: int | None
