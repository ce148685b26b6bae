"""The job with accelerate's `find_executable_batch_size` around it, as its documentation shows."""

from __future__ import annotations

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
from network import make_loader, make_network
from torch import nn


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--start", type=int, default=128)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()
    accelerator = Accelerator()
    tried: list[int] = []

    @find_executable_batch_size(starting_batch_size=args.start)
    def train(batch_size: int) -> None:
        tried.append(batch_size)
        accelerator.free_memory()
        network = make_network()
        parts = accelerator.prepare(
            network, torch.optim.AdamW(network.parameters()), make_loader(batch_size, args.size)
        )
        model, optimizer, loader = parts
        for step, (images, labels) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            if step + 1 == args.steps:
                break

    train()
    print(f"finder: batch {tried[-1]}, {len(tried)} tried, {len(tried) - 1} ran out: {tried}", flush=True)


if __name__ == "__main__":
    main()
