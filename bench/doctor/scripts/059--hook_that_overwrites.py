import torch
from torch import nn

features = {}
net = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
for name, module in net.named_children():
    module.register_forward_hook(lambda m, i, o, name=name: features.__setitem__(name, o.detach()))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(100):
    loss = nn.functional.cross_entropy(
        net(torch.randn(128, 128, device="cuda")), torch.randint(0, 10, (128,), device="cuda")
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print({k: tuple(v.shape) for k, v in features.items()})
