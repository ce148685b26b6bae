"""Fully sharded training with AdamW: `1` is FullyShardedDataParallel, `2` is fully_shard."""

from __future__ import annotations

import functools
import os
import sys

import torch
import torch.distributed as dist
from layers import Stack, train
from rank_report import parameter_bytes, report
from torch import nn


def shard_old(model: nn.Module) -> nn.Module:
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear})
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=torch.cuda.current_device())


def shard_new(model: nn.Module) -> nn.Module:
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:  # torch 2.5
        from torch.distributed._composable.fsdp import fully_shard
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    return model


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
whole = parameter_bytes(Stack())
model = (shard_old if sys.argv[1] == "1" else shard_new)(Stack().cuda())
after_sharding = torch.cuda.memory_allocated()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)  # kept: its state is counted below
train(model, optimizer)
dist.barrier()
report(parameter_bytes=whole, after_sharding=after_sharding, world_size=dist.get_world_size())
dist.destroy_process_group()
