"""DistributedDataParallel, one card a rank; `--share` puts every rank on card 0; `--view` lets gradients be views."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
from layers import Stack, train
from rank_report import parameter_bytes, report
from torch.nn.parallel import DistributedDataParallel

card = 0 if "--share" in sys.argv else int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(card)
dist.init_process_group("gloo" if "--share" in sys.argv else "nccl")
model = DistributedDataParallel(Stack().cuda(), device_ids=[card], gradient_as_bucket_view="--view" in sys.argv)
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
dist.barrier()
report(parameter_bytes=parameter_bytes(model), card=card, world_size=dist.get_world_size())
dist.destroy_process_group()
