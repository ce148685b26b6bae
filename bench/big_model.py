"""A model of 7 billion parameters, made from a config: seconds, host memory and how much was ever drawn.

    vramfit run --gpu "H100 80GB" --steps all -- PYTHON bench/big_model.py [--real-fills] [--billions 7]

PYTHON has a CUDA build of torch and transformers. `--real-fills` draws every weight, for comparison: it needs the host
memory for them. Peaks on the card are printed to the byte: they must be the same.
"""

from __future__ import annotations

import argparse
import resource
import time

import torch
from transformers import AutoModelForCausalLM, LlamaConfig
from vramfit.values import host_fills

LAYERS_PER_BILLION = 4.57  # of Llama-2's width: 32 layers make 6.7 billion


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--real-fills", action="store_true")
    arguments.add_argument("--billions", type=float, default=7.0)
    asked = arguments.parse_args()
    host_fills.fills.on = host_fills.fills.on and not asked.real_fills
    config = LlamaConfig(num_hidden_layers=max(1, round(asked.billions * LAYERS_PER_BILLION)), pad_token_id=0)
    torch.manual_seed(1)
    begun = time.monotonic()
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).cuda()
    made = time.monotonic()
    model(torch.ones(1, 64, dtype=torch.long, device="cuda"))
    print(f"made and moved in {made - begun:.1f} s, forward in {time.monotonic() - made:.1f} s")
    print(f"host memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    library = host_fills.fills.library
    if library is not None:
        put_off, drawn = library.vramfit_host_deferred_bytes(), library.vramfit_host_filled_bytes()
        print(f"put off {put_off >> 20} MiB, of which {drawn >> 20} MiB were looked at")
    print(f"on the card {torch.cuda.max_memory_allocated()} allocated, {torch.cuda.max_memory_reserved()} reserved")
    print(f"generator {int(torch.get_rng_state().sum())}")


if __name__ == "__main__":
    main()
