"""vLLM's own breakdown of a card: what its profiling found, from the fields that its log lines are made of.

Written for vllm/v1/worker/gpu_worker.py of 0.20. A field that another release does not have is left out.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from vramfit.base import importing, notes
from vramfit.contract import notes as said


def install() -> None:
    importing.after_import("vllm.v1.worker.gpu_model_runner", _follow_graphs)
    importing.after_import("vllm.v1.worker.gpu_worker", _follow_worker)


def _after(owner: Any, name: str, told: Any) -> None:
    """Calls `told(self, returned)` when the method has returned; what it raises is noted, not the job's."""
    method = getattr(owner, name)

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        returned = method(self, *args, **kwargs)
        try:
            told(self, returned)
        except Exception as error:
            notes.hook_failed(f"memory of vLLM after {name}", error)
        return returned

    setattr(owner, name, wrapped)


def _follow_graphs(module: ModuleType) -> None:
    def told(runner: Any, captured: Any) -> None:
        runner._vramfit_graph_bytes = captured

    _after(module.GPUModelRunner, "capture_model", told)


def _follow_worker(module: ModuleType) -> None:
    _after(module.Worker, "compile_or_warm_up_model", lambda worker, _: _tell(worker))


def _tell(worker: Any) -> None:
    import vllm

    from vramfit.observe.ownership import census

    census.take()  # the cache has come, and a captured graph runs no forward that would be an occasion
    runner, cache = worker.model_runner, worker.cache_config
    blocks, block_tokens = getattr(cache, "num_gpu_blocks", None), getattr(cache, "block_size", None)
    notes.note(
        said.ServerMemory(
            framework="vLLM",
            version=vllm.__version__,
            device=worker.device.index or 0,
            weights_bytes=_bytes(runner, "model_memory_usage"),
            activation_bytes=_bytes(worker, "peak_activation_memory"),
            outside_bytes=_bytes(worker, "non_torch_memory"),
            graph_bytes=_bytes(runner, "_vramfit_graph_bytes"),
            kv_cache_bytes=_bytes(worker, "available_kv_cache_memory_bytes"),
            kv_tokens=blocks * block_tokens if blocks and block_tokens else None,
        )
    )


def _bytes(owner: Any, name: str) -> int | None:
    value = getattr(owner, name, None)
    return None if value is None else int(value)
