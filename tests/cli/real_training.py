"""A training of two epochs of twelve batches with workers that are forked, and a checkpoint at its end."""

import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", type=int, default=0)
parser.add_argument("--extra", type=int, default=0, help="MiB held beside it")
parser.add_argument("--empty-cache", action="store_true")
args = parser.parse_args()
card = torch.device("cuda", args.device)
torch.cuda.set_device(card)
extra = [torch.empty(1 << 20, dtype=torch.uint8, device=card) for _ in range(args.extra)]
net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10)).to(card)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
samples = TensorDataset(torch.randn(96, 1024), torch.zeros(96, dtype=torch.long))
loader = DataLoader(samples, batch_size=8, num_workers=1)
steps = 0
for _ in range(2):
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(net(inputs.to(card)), labels.to(card))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if args.empty_cache:
            torch.cuda.empty_cache()
torch.save({"net": net.state_dict(), "steps": steps}, "last.pt")
print(f"saved after {steps} steps")
