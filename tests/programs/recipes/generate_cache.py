"""transformers: a Llama writes on from long prompts, with its cache of keys and values."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def main() -> None:
    config = LlamaConfig(
        hidden_size=512, intermediate_size=1024, num_hidden_layers=8, num_attention_heads=8, vocab_size=1000
    )
    model = LlamaForCausalLM(config).cuda().half().eval()
    prompts = torch.ones(4, 2048, dtype=torch.long, device="cuda")
    model.generate(prompts, max_new_tokens=12, do_sample=False, pad_token_id=0)


main()
