"""Trains all of a network of Llama 3.2 3B's shape in bfloat16 with AdamW on made-up packed texts.

    llama_3b.py                                        torchtune's ladder: 2 texts of 4096 tokens
    llama_3b.py --batch-size 4 --tokens 768 --clip     PEFT's comparison of methods on MetaMathQA, its longest batch

The weights are random; what they are is of no account to memory.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from transformers import LlamaConfig, LlamaForCausalLM

# config.json of meta-llama/Llama-3.2-3B
SHAPE = {
    "hidden_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
}


class Texts(Dataset):
    def __init__(self, count: int, tokens: int) -> None:
        self.count, self.tokens = count, tokens

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        if index >= self.count:
            raise IndexError(index)
        chance = torch.Generator().manual_seed(index)
        return torch.randint(SHAPE["vocab_size"], (self.tokens,), generator=chance)


def make_model(layers: int) -> LlamaForCausalLM:
    with torch.device("cuda"):
        model = LlamaForCausalLM(LlamaConfig(**{**SHAPE, "num_hidden_layers": layers}, dtype=torch.bfloat16))
    model.to(torch.bfloat16)
    model.config.use_cache = False
    model.load_state_dict(model.state_dict())  # stands for the weights that were learnt before
    return model.train()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=SHAPE["num_hidden_layers"])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--clip", action="store_true", help="gradients by their norm")
    options = parser.parse_args()
    torch.set_default_dtype(torch.bfloat16)
    model = make_model(options.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    for tokens in DataLoader(Texts(options.batch_size * options.steps, options.tokens), options.batch_size):
        tokens = tokens.cuda()
        logits = model(input_ids=tokens).logits
        targets = torch.cat([tokens[:, 1:], tokens.new_full((len(tokens), 1), -100)], 1)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        if options.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
