"""Fine-tunes BERT-large on made-up texts of 512 tokens: the job below the ladder of Hugging Face's guide to one GPU.

"Efficient Training on a Single GPU" (transformers v4.21) trains with its Trainer. As in bench/published, what its time
had otherwise is restored: attention whose softmax saves its input too, and gradients that are zeroed, not freed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "published"))

from bert_ladder import softmax_of_2021

TOKENS = 512


class Texts(Dataset):
    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        if index >= self.count:
            raise IndexError(index)
        chance = torch.Generator().manual_seed(index)
        return {
            "input_ids": torch.randint(100, 30000, (TOKENS,), generator=chance),
            "labels": torch.tensor(index % 2),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--texts", type=int, default=16)
    options = parser.parse_args()
    torch.nn.functional.softmax = softmax_of_2021
    shape = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
    model = BertForSequenceClassification(BertConfig(**shape, attn_implementation="eager")).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, foreach=False)
    for batch in DataLoader(Texts(options.texts), options.batch_size):
        batch = {name: value.cuda() for name, value in batch.items()}
        model(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


if __name__ == "__main__":
    main()
