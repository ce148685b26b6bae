# vramfit doctor --gpu rtx3060 -- python allocator_config_bug.py
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:4"  # at least 20 are wanted

import torch

torch.zeros(1, device="cuda")
