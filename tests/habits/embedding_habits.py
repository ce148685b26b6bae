"""Loops over a network that begins with an embedding of more rows than a batch uses, as recommenders have."""

from __future__ import annotations

from habit import Habit, change_loop

ROWS = """
table = nn.Embedding(200, 6{}); table.to("cuda"); kept["table"] = table
words = torch.randint(0, 200, (24,), generator=torch.Generator().manual_seed(3))
both = [*table.parameters(), *model.parameters()]
regression = TensorDataset(words, targets)
"""
BY_SGD = ROWS.format("") + "optimizer = torch.optim.SGD(both, lr=0.1)"
BY_ADAM = ROWS.format("") + "optimizer = torch.optim.Adam(both, lr=0.01)"
LOSS = "loss = F.mse_loss(model(table(x)), y)"
CLIPPED = "optimizer.zero_grad(); loss.backward(); {}; optimizer.step()"


def _embeds(name: str, make: str = BY_SGD, loss: str = LOSS, **parts: str) -> Habit:
    return Habit("embeddings, " + name, change_loop(make=make, loss=loss, **parts))


EMBEDDING_HABITS = [
    _embeds("SGD"),
    _embeds("SGD with momentum", BY_SGD.replace("lr=0.1", "lr=0.1, momentum=0.9")),
    _embeds("SGD with weight decay", BY_SGD.replace("lr=0.1", "lr=0.1, weight_decay=0.1")),
    _embeds("Adagrad", ROWS.format("") + "optimizer = torch.optim.Adagrad(both, lr=0.1)"),
    _embeds("Adam", BY_ADAM),
    _embeds(
        "AdamW, two groups",
        ROWS.format("") + "optimizer = torch.optim.AdamW([{'params': both[:1]}, "
        "{'params': both[1:], 'lr': 0.001}], lr=0.01)",
    ),
    _embeds(
        "Adam, a schedule",
        BY_ADAM + "\nschedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)",
        epoch_end="schedule.step()",
    ),
    _embeds("padding_idx", ROWS.format(", padding_idx=3") + "optimizer = torch.optim.SGD(both, lr=0.1)"),
    _embeds("max_norm", ROWS.format(", max_norm=1.0") + "optimizer = torch.optim.SGD(both, lr=0.1)"),
    _embeds(
        "scale_grad_by_freq",
        ROWS.format(", scale_grad_by_freq=True").replace("200, (24", "5, (24")
        + "optimizer = torch.optim.SGD(both, lr=0.1)",
    ),
    _embeds("clipping by norm", step=CLIPPED.format("nn.utils.clip_grad_norm_(both, 0.1)")),
    _embeds("clipping by value", step=CLIPPED.format("nn.utils.clip_grad_value_(both, 0.01)")),
    _embeds(
        "gradients logged",
        BY_SGD + "\nseen['norms'] = []",
        step=CLIPPED.format("seen['norms'].append([float(p.grad.norm()) for p in both])"),
    ),
    _embeds("gradients changed in place", step=CLIPPED.format("[p.grad.mul_(0.5) for p in both]")),
    _embeds("gradients changed by an entry", step=CLIPPED.format("table.weight.grad[0] = 0")),
    _embeds(
        "accumulation by hand",
        step="""
            loss.backward()
            if int(x[0]) % 2:
                optimizer.step(); optimizer.zero_grad()""",
    ),
    _embeds(
        "zero_grad(set_to_none=False)", step="optimizer.zero_grad(set_to_none=False); loss.backward(); optimizer.step()"
    ),
    _embeds(
        "tied to the output",
        BY_SGD + "\nregression = TensorDataset(words, words)",
        loss="loss = F.cross_entropy(table(x) @ table.weight.T, y)",
    ),
    _embeds("a penalty of all rows", loss=LOSS + " + table.weight.square().mean()"),
    _embeds(
        "a hook on the weights",
        BY_SGD + "\nseen['hooked'] = []\ntable.weight.register_hook(lambda g: seen['hooked'].append(list(g.shape)))",
    ),
    _embeds(
        "a scaler",
        BY_SGD + "\nscaler = torch.amp.GradScaler('cuda', init_scale=8.0)",
        step="optimizer.zero_grad(); scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()",
    ),
    _embeds(
        "updated by hand",
        step="""
            optimizer.zero_grad(); loss.backward()
            with torch.no_grad():
                for p in both: p -= 0.1 * p.grad""",
    ),
    _embeds(
        "an EmbeddingBag",
        ROWS.format("")
        + """
table = nn.EmbeddingBag(200, 6).to("cuda"); kept["table"] = table
regression = TensorDataset(words[:, None], targets)
optimizer = torch.optim.SGD([*table.parameters(), *model.parameters()], lr=0.1)""",
    ),
    _embeds(
        "an average of weights",
        BY_SGD + "\naverage = torch.optim.swa_utils.AveragedModel(table); kept['average'] = average",
        step=CLIPPED.format("pass") + "; average.update_parameters(table)",
    ),
]
