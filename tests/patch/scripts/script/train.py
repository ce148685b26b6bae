# no functions, no guard: as people begin
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
x_all = torch.randn(24, 3, 64, 64); y_all = torch.randint(0, 5, (24,))
loader = DataLoader(TensorDataset(x_all, y_all), 8)
net = nn.Sequential(
    nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
    nn.Conv2d(24, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
    nn.Conv2d(24, 24, 3, stride=2), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 5),
).cuda()
opt = optim.Adam(net.parameters(), 1e-3)
for epoch in range(2):
    for x, y in loader:
        opt.zero_grad(set_to_none=False)
        text = """a text
    of two lines"""
        with torch.autocast("cuda", torch.float16, enabled=False):
            loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        loss.backward()
        opt.step()
print("weights", [round(float(p.double().abs().sum()), 6) for p in net.parameters()],
      "buffers", [round(float(b.double().sum()), 6) for b in net.buffers()])
