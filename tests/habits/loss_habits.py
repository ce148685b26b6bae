"""Losses that are no plain mean: sums, labels left out, masks."""

from __future__ import annotations

from habit import EACH, EMPTY_PART, LATE_MASK, SCALED, SGD, Habit, change_loop

LOSS_HABITS = [
    Habit("reduction='sum'", change_loop(loss="loss = 0.02 * F.mse_loss(model(x), y, reduction='sum')")),
    Habit(
        "ignore_index",
        change_loop(
            make=SGD + "labels[1:5] = -100; labels[9:16] = -100; classes = TensorDataset(inputs, labels)",
            loader="loader = DataLoader(classes, batch_size=8)",
            loss="loss = F.cross_entropy(model(x), y)",
        ),
    ),
    Habit(
        "cross entropy, no label left out",
        change_loop(
            loader="loader = DataLoader(classes, batch_size=8)", loss="loss = nn.CrossEntropyLoss()(model(x), y)"
        ),
    ),
    Habit(
        "class weights",
        change_loop(
            loader="loader = DataLoader(classes, batch_size=8)",
            loss="loss = F.cross_entropy(model(x), y, weight=torch.tensor([1., 2., 5.], device='cuda'))",
        ),
    ),
    Habit(
        "a sum divided by its mask",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = each.sum() / mask.sum()"),
    ),
    Habit(
        "a sum divided by its mask, an empty part",
        change_loop(make=EMPTY_PART, loss=EACH + "            loss = each.sum() / mask.sum()"),
    ),
    Habit(
        "a sum divided by its mask or 1",
        change_loop(make=EMPTY_PART, loss=EACH + "            loss = each.sum() / mask.sum().clamp(min=1)"),
    ),
    Habit(
        "a sum divided by a count that is read",
        change_loop(make=EMPTY_PART, loss=EACH + "            loss = each.sum() / max(int(mask.sum()), 1)"),
    ),
    Habit(
        "a sum times one over its mask",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = 0.5 * (each.sum() * (1 / mask.sum()))"),
    ),
    Habit(
        "a mean divided by that of its mask",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = each.mean() / mask.mean()"),
    ),
    Habit(
        "two sums divided by one mask",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = (each.sum() + each.pow(2).sum()) / mask.sum()"),
    ),
    Habit(
        "a mean over what a mask chooses",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = F.mse_loss(model(x)[mask > 0], y[mask > 0])"),
    ),
    Habit(
        "a sum divided by its mask, scaled",
        change_loop(
            make=LATE_MASK + "; scaler = torch.amp.GradScaler('cuda', init_scale=64.0)",
            loss=EACH + "            loss = each.sum() / mask.sum()",
            step=SCALED.format("pass"),
        ),
    ),
    Habit(
        "a sum divided by its mask, and another term",
        change_loop(
            make=LATE_MASK, loss=EACH + "            loss = each.sum() / mask.sum() + 0.1 * model(x).pow(2).mean()"
        ),
    ),
    Habit(
        "a mean over what a mask chooses, and another term",
        change_loop(
            make=LATE_MASK,
            loss=EACH + "            loss = F.mse_loss(model(x)[mask > 0], y[mask > 0]) + 0.1 * model(x).pow(2).mean()",
        ),
    ),
    Habit(
        "a sum divided by a count that is read, and another term",
        change_loop(
            make=LATE_MASK, loss=EACH + "            loss = each.sum() / int(mask.sum()) + 0.1 * model(x).pow(2).mean()"
        ),
    ),
    Habit(
        "two masked losses, one after the other",
        change_loop(
            make=LATE_MASK,
            loss=EACH + "            loss = each.sum() / mask.sum(); more = 0.1 * model(x).pow(2).mean()",
            step="optimizer.zero_grad(); loss.backward(); more.backward(); optimizer.step()",
        ),
    ),
    Habit(
        "ignore_index, a part of the loss",
        change_loop(
            make=SGD + "labels[1:5] = -100; labels[9:16] = -100; classes = TensorDataset(inputs, labels)",
            loader="loader = DataLoader(classes, batch_size=8)",
            loss="loss = F.cross_entropy(model(x), y) / 2",
        ),
    ),
]
