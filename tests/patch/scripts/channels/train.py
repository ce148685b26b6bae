"""A small network of convolutions with a branch."""
import torch
from torch import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        x = self.stem(x)
        return self.head((x + self.body(x)).mean((2, 3)))


if __name__ == "__main__":
    torch.manual_seed(3)
    net = Net().cuda()
    data = torch.utils.data.TensorDataset(torch.randn(16, 3, 48, 48), torch.randint(0, 5, (16,)))
    optimizer = optim.Adam(net.parameters(), 1e-3)
    for x, y in torch.utils.data.DataLoader(data, 8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
        optimizer.step()
    print("weights", [round(float(p.double().abs().sum()), 6) for p in net.parameters()])
