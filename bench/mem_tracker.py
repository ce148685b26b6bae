"""PyTorch's own estimate: MemTracker over FakeTensorMode, two training steps of the bench's job."""

from __future__ import annotations

import json
import sys
import time

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torchvision.models import resnet50

batch = int(sys.argv[1])
begin = time.perf_counter()
torch.cuda.init()
with FakeTensorMode(), torch.device("cuda"):
    model = resnet50()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)  # the others read fake step counts on the host
    tracker = MemTracker()
    tracker.track_external(model, optimizer)
    with tracker:
        for _ in range(2):
            x, y = torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,))
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
            tracker.reset_mod_stats()
    peak = max(
        sum(v for k, v in kinds.items() if k != "Total") for kinds in tracker.get_tracker_snapshot("peak").values()
    )
print(json.dumps({"seconds": time.perf_counter() - begin, "peak_bytes": peak}), flush=True)
