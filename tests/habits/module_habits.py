"""Modules that remember something from one forward to the next."""

from __future__ import annotations

from habit import SGD, Habit, change_loop, loop_with_module

MODULE_HABITS = [
    Habit(
        "a module that counts its forwards",
        loop_with_module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.step = net, 0
            def forward(self, x):
                self.step += 1
                return self.net(x) * min(1.0, 0.3 + self.step / 5)"""),
    ),
    Habit(
        "a module that counts in a buffer",
        loop_with_module("""
            def __init__(self, net):
                super().__init__()
                self.net = net; self.register_buffer("step", torch.zeros((), dtype=torch.long))
            def forward(self, x):
                self.step += 1
                return self.net(x) * (0.3 + self.step / 5).clamp(max=1.0)"""),
    ),
    Habit(
        "a module whose temperature falls",
        loop_with_module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.heat = net, 1.0
            def forward(self, x):
                self.heat *= 0.9
                return self.net(x) * self.heat"""),
    ),
    Habit(
        "a module that averages what it sees",
        loop_with_module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.usual = net, 1.0
            def forward(self, x):
                out = self.net(x)
                self.usual = 0.5 * self.usual + 0.5 * float(out.abs().mean())
                return out / self.usual"""),
    ),
    Habit(
        "a module that averages from its fourth forward on",
        loop_with_module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.step, self.usual = net, 0, 1.0
            def forward(self, x):
                out = self.net(x)
                self.step += 1
                if self.step > 4: self.usual = 0.5 * self.usual + 0.5 * float(out.abs().mean())
                return out / self.usual"""),
    ),
    Habit(
        "a module that keeps an average in a buffer",
        loop_with_module("""
            def __init__(self, net):
                super().__init__()
                self.net = net; self.register_buffer("usual", torch.ones(3))
            def forward(self, x):
                out = self.net(x)
                with torch.no_grad(): self.usual.lerp_(out.abs().mean(0), 0.5)
                return out / self.usual"""),
    ),
    Habit(
        "a module that notes what it sees",
        loop_with_module("""
            def __init__(self, net):
                super().__init__()
                self.net = net
            def forward(self, x):
                out = self.net(x)
                self.size, self.seen = len(x), float(out.abs().mean())
                return out * (self.size / self.size)"""),
    ),
    Habit(
        "a module that begins with its first batch",
        loop_with_module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.ready = net, False
            def forward(self, x):
                out = self.net(x)
                if not self.ready:
                    self.scale = float(out.abs().mean()); self.ready = True
                return out / (1.0 + self.scale)"""),
    ),
    Habit(
        "a loss that counts",
        change_loop(
            make="""
            class Annealed(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.beta = 0.1
                def forward(self, out, y):
                    self.beta = min(1.0, self.beta * 1.5)
                    return self.beta * F.mse_loss(out, y)
            optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), Annealed()""",
            loss="loss = criterion(model(x), y)",
        ),
    ),
    Habit(
        "spectral norm",
        change_loop(make="nn.utils.parametrizations.spectral_norm(model[2][0])\n" + SGD),
    ),
    Habit(
        "spectral norm by a hook",
        change_loop(make="nn.utils.spectral_norm(model[2][0])\n" + SGD),
    ),
    Habit(
        "weight norm",
        change_loop(make="nn.utils.parametrizations.weight_norm(model[2][0])\n" + SGD),
    ),
]
