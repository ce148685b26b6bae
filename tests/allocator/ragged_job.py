"""A job whose sizes change from step to step, so that memory falls to pieces: ragged_job.py SNAPSHOT [late].

Says what it reserved at the most, and whether it ran out. `late`: the recording begins after some steps, as that of a
ring buffer does.
"""

from __future__ import annotations

import json
import sys
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


def step(model: nn.Module, optimizer: torch.optim.Optimizer, length: int, kept: list[torch.Tensor]) -> None:
    tokens = torch.zeros(2, length, 256, device="cuda")
    mask = torch.zeros(length, length, device="cuda")
    out = model(tokens, mask)
    scores = torch.empty(8, length, length, device="cuda").softmax(-1)
    kept.append(out.detach()[:, ::7].clone())  # small pieces that stay among large ones
    (out.float().mean() + scores.mean()).backward()
    optimizer.step()
    optimizer.zero_grad()


def main() -> None:
    late = "late" in sys.argv[2:]
    memory = torch.cuda.memory
    if not late:
        memory._record_memory_history(stacks="python")
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    side = torch.cuda.Stream()
    kept: list[torch.Tensor] = []
    ran_out = False
    try:
        for number in range(14):
            if late and number == 4:
                memory._record_memory_history(stacks="python")
            step(model, optimizer, 160 + 137 * number % 1400, kept)
            copied = torch.zeros(1 << 20, device="cuda")
            with torch.cuda.stream(side):
                copied.record_stream(side)
                copied.add_(1)
            del copied
    except torch.cuda.OutOfMemoryError:
        ran_out = True
    peak = torch.cuda.max_memory_reserved()
    memory._dump_snapshot(sys.argv[1])
    print(json.dumps({"ran_out": ran_out, "peak_reserved": peak, "steps": number + 1}))


if __name__ == "__main__":
    main()
