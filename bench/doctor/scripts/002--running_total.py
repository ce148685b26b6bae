import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.mean((2, 3)))


def train():
    net = Net().cuda()
    opt = torch.optim.Adam(net.parameters())
    total_loss = 0
    for i in range(80):
        inputs = torch.randn(16, 3, 32, 32).cuda()
        labels = torch.randint(0, 10, (16,)).cuda()
        opt.zero_grad()
        loss = F.cross_entropy(net(inputs), labels)
        penalty = net.fc.weight.norm() + net(inputs).var()
        loss.backward()
        opt.step()
        total_loss += loss + 0.01 * penalty
        if i % 20 == 19:
            print("step", i)
    return total_loss


train()
