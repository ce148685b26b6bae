"""Batch norms, a schedule of single steps, and names that PyTorch has too."""
import torch as th
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

th.manual_seed(5)


def block(channels):
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels),
        nn.SiLU(),
        nn.Conv2d(channels, channels, 1),
        nn.BatchNorm2d(channels, momentum=None),
        nn.Dropout(0.1),
    )


net = nn.Sequential(nn.Conv2d(3, 16, 3), block(16), block(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
checkpoint = {"model": net.state_dict()}
net = net.cuda()


def make_optimizer(parameters):
    return th.optim.NAdam(parameters, lr=3e-3)


optimizer = make_optimizer(net.parameters())
loader = DataLoader(TensorDataset(th.randn(32, 3, 64, 64), th.randint(0, 5, (32,))), 8)
schedule = th.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=8)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        schedule.step()
    checkpoint["model"] = net.state_dict()
print("weights", [float(p.double().abs().sum()) for p in net.parameters()],
      "buffers", [float(b.double().sum()) for b in net.buffers()])
