"""An ordinary loop around transformers' GPT-2, to which plans are applied: prints losses, a step's time and peaks."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel


def main() -> None:
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, 50257, (16 * 12, 512), generator=torch.Generator().manual_seed(1))
    loader = DataLoader(TensorDataset(tokens), batch_size=16)
    model.train()
    losses, times = [], []
    for (batch,) in loader:
        begun = time.perf_counter()
        batch = batch.cuda()
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        times.append(time.perf_counter() - begun)
    times = sorted(times[3:])
    print("LOSSES", " ".join(f"{x:.5f}" for x in losses))
    peaks = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    print("STEP", times[len(times) // 2], *peaks)


if __name__ == "__main__":
    main()
