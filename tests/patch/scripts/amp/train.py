"""Mixed precision and a scaler are there already."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build():
    layers = []
    for _ in range(4):
        layers += [nn.Linear(256, 256), nn.GELU()]
    return nn.Sequential(*layers, nn.Linear(256, 8))


def run(model, loader, optimizer, scaler):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(model(inputs.cuda()), targets.cuda())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = build().cuda()
    loader = DataLoader(TensorDataset(torch.randn(2048, 256), torch.randn(2048, 8)), batch_size=1024)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    for _ in range(2):
        run(model, loader, optimizer, scaler)
    print("weights", [round(float(p.double().abs().sum()), 4) for p in model.parameters()])
