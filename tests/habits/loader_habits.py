"""Where a loop has its batches from."""

from __future__ import annotations

from habit import SGD, Habit, change_loop

LOADER_HABITS = [
    Habit(
        "a smaller last batch", change_loop(loader="loader = DataLoader(TensorDataset(inputs[:21], targets[:21]), 8)")
    ),
    Habit("shuffled", change_loop(loader="loader = DataLoader(regression, 8, shuffle=True)")),
    Habit(
        "batch_sampler",
        change_loop(
            loader="loader = DataLoader(regression, batch_sampler=BatchSampler(RandomSampler(regression), 8, False))"
        ),
    ),
    Habit(
        "a list of batches", change_loop(loader="loader = [(inputs[i:i + 8], targets[i:i + 8]) for i in (0, 8, 16)]")
    ),
    Habit(
        "a loader made anew each epoch",
        SGD
        + """
BEFORE
for epoch in range(2):
    for x, y in DataLoader(regression, batch_size=8):
        loss = F.mse_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
    ),
    Habit(
        "steps counted, next(it)",
        SGD
        + """
loader = DataLoader(regression, batch_size=8)
BEFORE
batches = iter(loader)
for step in range(5):
    try:
        x, y = next(batches)
    except StopIteration:
        batches = iter(loader)
        x, y = next(batches)
    loss = F.mse_loss(model(x.cuda()), y.cuda())
    optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
    ),
    Habit(
        "an endless generator",
        SGD
        + """
def cycle(loader):
    while True:
        yield from loader

BEFORE
for step, (x, y) in enumerate(cycle(DataLoader(regression, batch_size=8))):
    if step == 5: break
    loss = F.mse_loss(model(x.cuda()), y.cuda())
    optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
    ),
]
