import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

device = "cuda"
torch.manual_seed(0)


class Views(Dataset):
    def __init__(self):
        self.base = torch.randn(8, 512, 512, device=device)
        self.epoch = 0
        self.views = {}

    def __len__(self):
        return len(self.base)

    def __getitem__(self, number):
        key = (number, self.epoch)
        if key not in self.views:
            self.views[key] = self.base[number] + 0.1 * torch.randn_like(self.base[number])
        return self.views[key]


dataset = Views()
loader = DataLoader(dataset, batch_size=None, shuffle=True)
model = nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 512)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(9):
    dataset.epoch = epoch
    for x in loader:
        loss = (model(x) - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
