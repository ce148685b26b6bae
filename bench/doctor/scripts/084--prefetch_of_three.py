import queue
import threading

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
steps = 70
waiting = queue.Queue(maxsize=3)


def load():
    for _ in range(steps):
        waiting.put((torch.randn(512, 512, device=device), torch.randint(0, 10, (512,), device=device)))


loading = threading.Thread(target=load, daemon=True)
loading.start()
for step in range(steps):
    x, y = waiting.get()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 14:
        print(f"step {step + 1}: waiting {waiting.qsize()}, loss {loss.item():.4f}")
loading.join()
