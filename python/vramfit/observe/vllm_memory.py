"""vLLM's own breakdown of a card: what its profiling found, from the fields that its log lines are made of.

Written for vllm/v1/worker/gpu_worker.py of 0.20. A field that another release does not have is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from vramfit.base import importing, notes
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.private import vllm as of_vllm
from vramfit.private.names import Attribute


def install() -> None:
    importing.after_import(of_vllm.RUNNER_MODULE, _follow_graphs)
    importing.after_import(of_vllm.WORKER_MODULE, _follow_worker)


def _after(owner: Any, attribute: Attribute, look: Any) -> None:
    """Calls `look(self, returned)` when the method has returned; what it raises is noted, not the job's."""
    method = attribute.of(owner)
    if method is None:
        return

    def look_after(worker: Any, *_: Any, **__: Any) -> Iterator[None]:
        returned = yield
        look(worker, returned)

    attribute.put(owner, around(f"memory of vLLM after {attribute.name}", method, look_after))


def _follow_graphs(_: ModuleType) -> None:
    def keep_bytes(runner: Any, captured: Any) -> None:
        runner._vramfit_graph_bytes = captured

    _after(of_vllm.runner_class.get(), of_vllm.capture, keep_bytes)


def _follow_worker(_: ModuleType) -> None:
    _after(of_vllm.worker_class.get(), of_vllm.warm_up, lambda worker, _: _tell(worker))


def _tell(worker: Any) -> None:
    import vllm

    from vramfit.observe.ownership import census

    census.take()  # the cache has come, and a captured graph runs no forward that would be an occasion
    runner, cache = of_vllm.runner.of(worker), of_vllm.cache_config.of(worker)
    blocks, block_tokens = of_vllm.cache_blocks.of(cache), of_vllm.tokens_of_block.of(cache)
    notes.note(
        said.ServerMemory(
            framework="vLLM",
            version=vllm.__version__,
            device=getattr(of_vllm.device.of(worker), "index", None) or 0,
            weights_bytes=_bytes(of_vllm.weights.of(runner)),
            activation_bytes=_bytes(of_vllm.activations.of(worker)),
            outside_bytes=_bytes(of_vllm.outside.of(worker)),
            graph_bytes=_bytes(getattr(runner, "_vramfit_graph_bytes", None)),
            kv_cache_bytes=_bytes(of_vllm.kv_cache.of(worker)),
            kv_tokens=blocks * block_tokens if blocks and block_tokens else None,
        )
    )


def _bytes(value: Any) -> int | None:
    return None if value is None else int(value)
