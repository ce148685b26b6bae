"""Losses that are no plain mean: sums, labels left out, masks."""

from __future__ import annotations

from habit import EACH, EMPTY_PART, LATE_MASK, SCALED, SGD, Habit, change_loop

SMALL_STEPS = "optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9)\n"

LOSS_HABITS = [
    Habit("reduction='sum'", change_loop(loss="loss = 0.02 * F.mse_loss(model(x), y, reduction='sum')")),
    Habit(
        "reduction='sum', a smaller last batch",
        change_loop(
            loader="loader = DataLoader(regression, batch_size=7)",
            loss="loss = F.mse_loss(model(x), y, reduction='sum')",
            make=SMALL_STEPS,
        ),
    ),
    Habit(
        "a sum divided by the batch's size",
        change_loop(loss="loss = F.mse_loss(model(x), y, reduction='sum') / x.size(0)"),
    ),
    Habit(
        "a sum divided by the batch's size, a smaller last batch",
        change_loop(
            loader="loader = DataLoader(regression, batch_size=7)",
            loss="loss = F.mse_loss(model(x), y, reduction='sum') / len(x)",
        ),
    ),
    Habit(
        "a sum divided by its numbers",
        change_loop(loss="out = model(x); loss = 0.5 * (out - y).pow(2).sum() / (out.size(0) * out.size(1))"),
    ),
    Habit(
        "each divided by the batch's size, and summed",
        change_loop(loss="loss = ((model(x) - y).pow(2) / len(x)).sum()"),
    ),
    Habit("a mean times the batch's size", change_loop(loss="loss = 0.02 * (F.mse_loss(model(x), y) * x.size(0))")),
    Habit("a mean over samples, summed", change_loop(loss="loss = (model(x) - y).pow(2).mean(0).sum()")),
    Habit("a sum over samples, its mean", change_loop(loss="loss = 0.02 * (model(x) - y).pow(2).sum(dim=0).mean()")),
    Habit("a mean within samples, summed", change_loop(loss="loss = 0.05 * (model(x) - y).pow(2).mean(-1).sum()")),
    Habit(
        "a sum divided by a constant",
        change_loop(loss="loss = F.mse_loss(model(x), y, reduction='sum') / 50"),
    ),
    Habit(
        "a sum divided by the size of whole batches",
        change_loop(make=SGD + "batch_size = 8", loss="loss = F.mse_loss(model(x), y, reduction='sum') / batch_size"),
    ),
    Habit(
        "a sum divided by a number from elsewhere",
        change_loop(
            make=SGD + "norm = sum(range(9)) + 1", loss="loss = F.mse_loss(model(x), y, reduction='sum') / norm"
        ),
    ),
    Habit(
        "a sum divided by 2, in parts of two",
        change_loop(make=SMALL_STEPS, loss="loss = F.mse_loss(model(x), y, reduction='sum') / 2"),
    ),
    Habit(
        "a sum divided by 2, in parts of two and one",
        change_loop(
            make=SMALL_STEPS,
            loader="loader = DataLoader(regression, batch_size=7)",
            loss="loss = F.mse_loss(model(x), y, reduction='sum') / 2",
        ),
    ),
    Habit(
        "a sum, scaled",
        change_loop(
            make=SMALL_STEPS + "scaler = torch.amp.GradScaler('cuda', init_scale=64.0)",
            loss="loss = F.mse_loss(model(x), y, reduction='sum')",
            step=SCALED.format("pass"),
        ),
    ),
    Habit(
        "sums of a VAE",
        change_loop(
            make=SMALL_STEPS,
            loss="""
            out = model(x); mu, log_var = out[:, :2], out[:, 2:]
            kl = -0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp())
            loss = F.mse_loss(mu, y[:, :2], reduction='sum') + 0.3 * kl""",
        ),
    ),
    Habit(
        "sums of a VAE, over its batch's size",
        change_loop(
            loss="""
            out = model(x); mu, log_var = out[:, :2], out[:, 2:]
            kl = -0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp())
            loss = F.mse_loss(mu, y[:, :2], reduction='sum') / len(x) + 0.3 * kl / len(x)"""
        ),
    ),
    Habit(
        "a mean of sums within samples, and one of means",
        change_loop(
            loss="""
            out = model(x); mu, log_var = out[:, :2], out[:, 2:]
            kl = torch.mean(-0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp(), dim=1))
            loss = F.mse_loss(mu, y[:, :2]) + 0.3 * kl"""
        ),
    ),
    Habit(
        "a mean and a sum",
        change_loop(
            loss="out = model(x); loss = F.mse_loss(out, y) + 0.01 * out.pow(2).sum() + 0.1 * out.abs().mean()"
        ),
    ),
    Habit(
        "a mean and a penalty of weights",
        change_loop(
            loss="""
            loss = F.mse_loss(model(x), y) + 1e-2 * sum(p.pow(2).sum() for p in model.parameters())
            rows = model[0].weight; apart = rows @ rows.T - torch.eye(16, device="cuda")
            loss = loss + 1e-2 * rows.norm() + 1e-3 * apart.pow(2).sum()"""
        ),
    ),
    Habit(
        "a sum and a penalty of weights",
        change_loop(
            loss="""
            loss = 0.02 * F.mse_loss(model(x), y, reduction='sum')
            loss = loss + 1e-2 * sum(p.pow(2).sum() for p in model.parameters()) + 1e-2 * model[0].weight.norm()"""
        ),
    ),
    Habit(
        "a sum and something else",
        change_loop(loss="out = model(x); loss = 0.02 * F.mse_loss(out, y, reduction='sum') + 0.01 * out.norm()"),
    ),
    Habit(
        "two sums, one after the other",
        change_loop(
            loss="loss = 0.02 * (model(x) - y).abs().sum(); more = 0.002 * model(x).pow(2).sum() + model(x).mean()",
            step="optimizer.zero_grad(); loss.backward(); more.backward(); optimizer.step()",
        ),
    ),
    Habit(
        "a sum of what is divided by the batch's own",
        change_loop(
            make=SMALL_STEPS,
            loss="loss = ((model(x) - y).pow(2) / y.abs().sum(0) + 1).log().sum()",
        ),
    ),
    Habit(
        "a sum of squares of a mean",
        change_loop(loss="loss = F.mse_loss(model(x), y) + 0.1 * (model(x).mean(0) - 1).pow(2).sum()"),
    ),
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
        "cross entropy of a network that is cut out",
        change_loop(
            loader="loader = DataLoader(classes, batch_size=8)",
            loss="loss = F.cross_entropy(F.normalize(model[:3](x)) @ F.normalize(model[3].weight).T, y)",
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
