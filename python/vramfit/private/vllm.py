"""vLLM's fields that its log lines are made of, and the methods after which they are set: no interface of it."""

from __future__ import annotations

from vramfit.private.names import Attribute, Name

LIBRARY = "vllm"
RUNNER_MODULE, WORKER_MODULE = "vllm.v1.worker.gpu_model_runner", "vllm.v1.worker.gpu_worker"
READY = (WORKER_MODULE,)
_RUNNER, _WORKER = f"{RUNNER_MODULE}:GPUModelRunner", f"{WORKER_MODULE}:Worker"

capture = Attribute(f"{_RUNNER}.capture_model", "what its graphs hold is not told", later=True)
warm_up = Attribute(f"{_WORKER}.compile_or_warm_up_model", "its own breakdown of the card is not told")
weights = Attribute(f"{_RUNNER}.model_memory_usage", "what its weights hold is not told", later=True)
activations = Attribute(f"{_WORKER}.peak_activation_memory", "what its activations held is not told")
outside = Attribute(f"{_WORKER}.non_torch_memory", "what it holds beside PyTorch is not told")
kv_cache = Attribute(f"{_WORKER}.available_kv_cache_memory_bytes", "what its cache holds is not told")

_BREAKDOWN = "its own breakdown of the card is not told"
runner_class = Name(_RUNNER, _BREAKDOWN, later=True)
worker_class = Name(_WORKER, _BREAKDOWN)
runner = Attribute(f"{_WORKER}.model_runner", _BREAKDOWN)
_TOKENS = "how many tokens its cache holds is not told"
CONFIG = "vllm.config"
cache_blocks = Attribute(f"{CONFIG}:CacheConfig.num_gpu_blocks", _TOKENS, later=True)
tokens_of_block = Attribute(f"{CONFIG}:CacheConfig.block_size", _TOKENS, later=True)
device = Attribute(f"{_WORKER}.device", "its breakdown is told of the first card")
cache_config = Attribute(f"{_WORKER}.cache_config", _TOKENS)
