"""A loader's batches through DeepSpeed's engine, which adds up and averages gradients by itself."""

import os

import deepspeed
import torch

for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}.items():
    os.environ.setdefault(name, value)
os.environ.setdefault("MASTER_PORT", "29578")
network = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
settings = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 1,
    "zero_optimization": {"stage": 2},
    "zero_force_ds_cpu_optimizer": False,
    "optimizer": {"type": "AdamW", "params": {"lr": 0.01, "torch_adam": True}},
}
engine, *_ = deepspeed.initialize(model=network, model_parameters=network.parameters(), config=settings)
for samples in torch.utils.data.DataLoader(torch.randn(16, 8), batch_size=8):
    engine.backward(engine(samples.to(engine.device)).square().mean())
    engine.step()
