import threading

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 10)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)


class Uploader(threading.Thread):
    def __init__(self, step, grads):
        super().__init__(daemon=True)
        self.step = step
        self.grads = grads
        self.acknowledged = threading.Event()

    def run(self):
        self.acknowledged.wait()


for step in range(80):
    x = torch.randn(256, 512, device=device)
    y = torch.randint(0, 10, (256,), device=device)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 0:
        Uploader(step, [p.grad.clone() for p in model.parameters()]).start()
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}, threads {threading.active_count()}")
