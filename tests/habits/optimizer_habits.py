"""Several optimizers, closures, averages of weights."""

from __future__ import annotations

from habit import SGD, Habit, change_loop

OPTIMIZER_HABITS = [
    Habit(
        "two optimizers, one step",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
            other = torch.optim.AdamW(model[2:].parameters(), lr=0.01)""",
            step="""
            optimizer.zero_grad(); other.zero_grad(); loss.backward()
            optimizer.step(); other.step()""",
        ),
    ),
    Habit(
        "GAN: two optimizers in turn",
        """
judge = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).to('cuda')
kept['judge'] = judge
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
judging = torch.optim.Adam(judge.parameters(), lr=0.01)
logit = nn.BCEWithLogitsLoss()
BEFORE
for epoch in range(2):
    for x, y in DataLoader(regression, batch_size=8):
        x, y = x.cuda(), y.cuda()
        made = model(x)
        real, false = judge(y), judge(made.detach())
        loss = logit(real, torch.ones_like(real)) + logit(false, torch.zeros_like(false))
        judging.zero_grad(); loss.backward(); judging.step()
        answer = judge(made)
        loss = logit(answer, torch.ones_like(answer))
        optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
    ),
    Habit(
        "LBFGS with a closure",
        """
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
BEFORE
for epoch in range(2):
    for x, y in DataLoader(regression, batch_size=8):
        x, y = x.cuda(), y.cuda()
        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss
        optimizer.step(closure)
""",
    ),
    Habit(
        "SGD with a closure",
        change_loop(
            loss="""
            def closure():
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                return loss""",
            step="optimizer.step(closure)",
        ),
    ),
    Habit(
        "EMA per iteration",
        change_loop(
            make=SGD + "averaged = copy.deepcopy(model); kept['averaged'] = averaged",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            with torch.no_grad():
                for mean, p in zip(averaged.parameters(), model.parameters()): mean.lerp_(p, 0.1)""",
        ),
    ),
    Habit(
        "AveragedModel per iteration",
        change_loop(
            make=SGD + "averaged = torch.optim.swa_utils.AveragedModel(model); kept['averaged'] = averaged",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); averaged.update_parameters(model)",
        ),
    ),
]
