"""A network that torch.compile works on, by a backend that needs no compiler of C."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 1)).cuda()
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(TensorDataset(torch.rand(1024, 64), torch.rand(1024, 1)), 512):
        loss = nn.functional.mse_loss(compiled(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("weights", [round(float(p.double().abs().sum()), 6) for p in model.parameters()])


if __name__ == "__main__":
    main()
