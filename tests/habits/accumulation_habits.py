"""Loops that add up gradients themselves, and what comes at the end of a pass."""

from __future__ import annotations

from habit import EACH, LATE_MASK, SGD, Habit, change_loop, numbered_loop

ACCUMULATION_HABITS = [
    Habit(
        "own accumulation",
        change_loop(
            loader="loader = DataLoader(regression, batch_size=4)",
            make=SGD + "count = 0",
            loss="loss = F.mse_loss(model(x), y) / 3",
            step="""
            loss.backward(); count += 1
            if count % 3 == 0:
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation, by the round",
        numbered_loop(
            loader="loader = DataLoader(regression, batch_size=4)",
            loss="loss = F.mse_loss(model(x), y) / 3",
            step="""
            loss.backward()
            if (index + 1) % 3 == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 0.3)
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation, to the end of each pass",
        numbered_loop(
            loader="loader = DataLoader(TensorDataset(inputs[:21], targets[:21]), batch_size=4)",
            loss="loss = F.mse_loss(model(x), y) / 4",
            step="""
            if index % 4 == 0: optimizer.zero_grad()
            loss.backward()
            if (index + 1) % 4 == 0 or index + 1 == len(loader): optimizer.step()""",
        ),
    ),
    Habit(
        "own accumulation of a cross entropy, scaled",
        numbered_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=64.0)",
            loader="loader = DataLoader(classes, batch_size=4, shuffle=True)",
            loss="loss = F.cross_entropy(model(x), y) / 3",
            step="""
            scaler.scale(loss).backward()
            if not (index + 1) % 3:
                scaler.unscale_(optimizer); nn.utils.clip_grad_norm_(model.parameters(), 0.3)
                scaler.step(optimizer); scaler.update(); optimizer.zero_grad(set_to_none=True)""",
        ),
    ),
    Habit(
        "own accumulation of a cross entropy, labels left out",
        numbered_loop(
            make=SGD + "labels[9:16] = -100; classes = TensorDataset(inputs, labels)",
            loader="loader = DataLoader(classes, batch_size=4)",
            loss="loss = F.cross_entropy(model(x), y) / 3",
            step="""
            loss.backward()
            if index % 3 == 2:
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation, a rate for each batch",
        numbered_loop(
            make=SGD + "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)",
            loader="loader = DataLoader(regression, batch_size=4)",
            loss="loss = F.mse_loss(model(x), y) / 3",
            step="""
            loss.backward(); schedule.step()
            if index % 3 == 2:
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation of a masked loss",
        numbered_loop(
            make=LATE_MASK,
            loss=EACH + "            loss = each.sum() / mask.sum() / 3",
            step="""
            loss.backward()
            if (index + 1) % 3 == 0:
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation of sums, scaled",
        numbered_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=64.0)",
            loader="loader = DataLoader(regression, batch_size=4)",
            loss="loss = 0.02 * F.mse_loss(model(x), y, reduction='sum') / 3",
            step="""
            scaler.scale(loss).backward()
            if not (index + 1) % 3:
                scaler.step(optimizer); scaler.update(); optimizer.zero_grad(set_to_none=True)""",
        ),
    ),
    Habit(
        "a rate that falls at the end of a pass",
        numbered_loop(
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if index == len(loader) - 1: optimizer.param_groups[0]["lr"] *= 0.5"""
        ),
    ),
    Habit(
        "a schedule by the length of the loader",
        change_loop(
            make=SGD + "schedule = None",
            loss="""
            if schedule is None:
                schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2 * len(loader))
            loss = F.mse_loss(model(x), y)""",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); schedule.step()",
        ),
    ),
]
