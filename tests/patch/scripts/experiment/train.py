"""A model that its class holds, frozen in part, and an optimizer that a method returns."""

import copy
import io

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


torch.manual_seed(2)


class Experiment:
    net = nn.Sequential(
        conv(3, 16), nn.Sequential(conv(16, 16), conv(16, 16)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4)
    ).cuda()
    scaler = torch.amp.GradScaler("cuda", enabled=False)

    def __init__(self):
        for p in self.net[0].parameters():
            p.requires_grad_(False)
        self.opt = self.configure_optimizers()
        self.ema = copy.deepcopy(self.net)

    def configure_optimizers(self):
        # all of them, the frozen ones too
        return torch.optim.RMSprop(self.net.parameters(), lr=1e-3, momentum=0.9)

    def step(self, x, y):
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad()
        with torch.no_grad():
            for a, b in zip(self.ema.parameters(), self.net.parameters()):
                a.lerp_(b, 0.1)
        return loss.detach()

    def fit(self, loader):
        for epoch in range(2):
            self.net.train()
            for x, y in loader:
                self.step(x.cuda(), y.cuda())
            self.net.eval()
            with torch.no_grad():
                print("mean loss", float(self.net(x.cuda()).sum()))
            saved = io.BytesIO()
            torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict()}, saved)
            saved.seek(0)
            state = torch.load(saved, map_location="cuda")
            self.net.load_state_dict(state["net"])
            self.opt.load_state_dict(state["opt"])


experiment = Experiment()
experiment.fit(DataLoader(TensorDataset(torch.randn(32, 3, 48, 48), torch.randint(0, 4, (32,))), 8))
parameters = [*experiment.net.parameters(), *experiment.ema.parameters()]
print("weights", [float(p.double().abs().sum()) for p in parameters])
print("outputs", float(experiment.ema.eval()(torch.ones(2, 3, 48, 48).cuda()).double().sum()))
