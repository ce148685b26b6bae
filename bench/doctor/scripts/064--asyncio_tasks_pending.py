import asyncio

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
body = nn.Sequential(nn.Linear(512, 512), nn.Tanh()).to(device)
head = nn.Linear(512, 10).to(device)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)


async def report(step, outputs, connected):
    await connected.wait()
    print(step, outputs.norm().item())


async def main():
    connected = asyncio.Event()
    pending = set()
    for step in range(60):
        x = torch.randn(512, 512, device=device)
        y = torch.randint(0, 10, (512,), device=device)
        hidden = body(x)
        loss = nn.functional.cross_entropy(head(hidden), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        pending.add(asyncio.create_task(report(step, hidden.detach(), connected)))
        await asyncio.sleep(0)
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}, tasks {len(pending)}")
    for task in pending:
        task.cancel()


asyncio.run(main())
