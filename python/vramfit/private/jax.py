"""JAX's private names."""

from __future__ import annotations

from vramfit.private.names import Name

LIBRARY = "jax"
READY = ("jax",)

backends = Name("jax._src.xla_bridge:_backends", "how much of the card JAX used is not told", {})
