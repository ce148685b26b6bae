"""Words and their neighbours, by plain SGD."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Embedding(20000, 32), nn.Embedding(20000, 32)

    def forward(self, a, b):
        return (self.inner(a) * self.outer(b)).sum(1)


def main():
    torch.manual_seed(5)
    a, b, y = torch.randint(0, 20000, (256,)), torch.randint(0, 20000, (256,)), torch.rand(256)
    words = Words().cuda()
    optimizer = torch.optim.SGD(words.parameters(), lr=0.5)
    for a, b, y in DataLoader(TensorDataset(a, b, y), 64):
        loss = nn.functional.mse_loss(words(a.cuda(), b.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("weights", [round(float(p.double().abs().sum()), 6) for p in words.parameters()])


if __name__ == "__main__":
    main()
