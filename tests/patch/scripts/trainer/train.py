import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(1)
        self.images = torch.randn(count, 3, 48, 48, generator=generator)
        self.masks = torch.randint(0, 4, (count, 48, 48), generator=generator)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return {"image": self.images[index], "mask": self.masks[index]}


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)

    def forward(self, x):
        return x + F.gelu(self.norm(self.conv(x)))


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(Block(width) for _ in range(4))
        self.head = nn.Conv2d(width, 4, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Trainer:
    def __init__(self, model, batch_size=8):
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        self.loader = DataLoader(Shapes(16), batch_size=batch_size, shuffle=False, drop_last=True)

    def compute_loss(self, batch):
        images, masks = batch["image"].cuda(), batch["mask"].cuda()
        logits = self.model(images)
        return F.cross_entropy(logits, masks)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for batch in self.loader:
            loss = self.compute_loss(batch)
            total += loss.item()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()
        print("mean loss", round(total / len(self.loader), 6))

    def fit(self, epochs):
        for _ in range(epochs):
            self.train_epoch()


torch.manual_seed(0)
trainer = Trainer(Net())
trainer.fit(2)
print("weights", [round(float(p.double().abs().sum()), 6) for p in trainer.model.parameters()])
