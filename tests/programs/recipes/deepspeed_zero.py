"""DeepSpeed ZeRO; arguments: the stage, and `offload` for the optimizer's state on the host."""

import os
import sys

import deepspeed
import torch

for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}.items():
    os.environ.setdefault(name, value)
os.environ.setdefault("MASTER_PORT", "29571")
zero: dict[str, object] = {"stage": int(sys.argv[1])}
if "offload" in sys.argv:
    zero["offload_optimizer"] = {"device": "cpu"}
model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)])
settings = {
    "train_micro_batch_size_per_gpu": 4,
    "zero_optimization": zero,
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
    "zero_force_ds_cpu_optimizer": False,
}
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
for _ in range(6):
    loss = engine(torch.randn(4, 1024).to(engine.device, torch.bfloat16)).float().pow(2).mean()
    engine.backward(loss)
    engine.step()
