import random

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
random.seed(0)
model = nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 4)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)


class Replay:
    def __init__(self, capacity):
        self.capacity = capacity
        self.items = []

    def push(self, item):
        if len(self.items) < self.capacity:
            self.items.append(item)
        else:
            self.items[random.randrange(self.capacity)] = item

    def sample(self):
        return random.choice(self.items)


replay = Replay(20)
for step in range(80):
    replay.push((torch.randn(512, 512, device=device), torch.randn(512, 4, device=device)))
    state, wanted = replay.sample()
    loss = (model(state) - wanted).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1}: items {len(replay.items)}, loss {loss.item():.4f}")
