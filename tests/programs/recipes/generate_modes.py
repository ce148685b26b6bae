"""transformers: every way of decoding that generate() has ends by itself, at the most tokens it may make."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM

MOST = 48  # new tokens
WAYS = {
    "greedy": {"eos_token_id": 2, "pad_token_id": 0},
    "sampling": {"do_sample": True, "top_p": 0.9, "top_k": 50, "repetition_penalty": 1.1},
    "beams": {"num_beams": 4, "early_stopping": True, "no_repeat_ngram_size": 3},
    "sampled beams": {"num_beams": 3, "do_sample": True, "num_return_sequences": 2},
    "prompt lookup": {"prompt_lookup_num_tokens": 4},
    "static cache": {"cache_implementation": "static"},
    "offloaded cache": {"cache_implementation": "offloaded"},
}


def llama(layers: int) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=32000, hidden_size=256, intermediate_size=512, num_hidden_layers=layers, num_attention_heads=8
    )
    return LlamaForCausalLM(config).cuda().half().eval()


def main() -> None:
    model = llama(4)
    for name, options in {**WAYS, "an assistant's guesses": {"assistant_model": llama(1)}}.items():
        alone = name in ("prompt lookup", "an assistant's guesses")  # for one sequence at a time
        prompts = torch.randint(10, 31000, (1 if alone else 4, 128)).cuda()
        made = model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=MOST, **options)
        assert 128 < made.shape[1] <= 128 + MOST, (name, made.shape)


main()
