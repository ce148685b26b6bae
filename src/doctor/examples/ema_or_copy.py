# vramfit doctor --gpu rtx3060 -- python ema_or_copy.py
import copy

from torch import nn

model = nn.Sequential(*(nn.Linear(8192, 8192, bias=False, device="cuda") for _ in range(28)))  # 7 GiB
averaged = copy.deepcopy(model)  # and 7 more
