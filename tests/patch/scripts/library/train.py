import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
from fitlib import fit

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 4096), nn.ReLU(), nn.Linear(4096, 8)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(512, 256), torch.randn(512, 8)), batch_size=256)
fit(model, nn.MSELoss(), loader, optimizer)
print("weights", [round(float(p.double().abs().sum()), 4) for p in model.parameters()])
