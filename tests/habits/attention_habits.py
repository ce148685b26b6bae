"""Loops over a network that attends."""

from __future__ import annotations

from habit import Habit, change_loop

ATTENDS = """
attention = nn.MultiheadAttention(3, 1, dropout={}).to("cuda"); kept["attention"] = attention
optimizer = torch.optim.SGD([*model.parameters(), *attention.parameters()], lr=0.1)"""
ATTENDED = """
            tokens, _ = attention(*3 * [model(x)[:, None]])
            loss = F.mse_loss(tokens[:, 0], y)"""

ATTENTION_HABITS = [
    Habit("attention", change_loop(make=ATTENDS.format(0.0), loss=ATTENDED)),
    Habit("attention, dropout of its scores", change_loop(make=ATTENDS.format(0.2), loss=ATTENDED)),
    Habit(
        "attention, its weights in the loss",
        change_loop(
            make=ATTENDS.format(0.0),
            loss="""
            tokens, weights = attention(*3 * [model(x)[:, None]])
            loss = F.mse_loss(tokens[:, 0], y) + 0.1 * weights.square().mean()""",
        ),
    ),
    Habit(
        "attention, gradient penalty",
        change_loop(
            make=ATTENDS.format(0.0),
            loss=ATTENDED
            + """
            loss = loss + torch.autograd.grad(loss, attention.in_proj_weight, create_graph=True)[0].square().sum()""",
        ),
    ),
    Habit(
        "scaled_dot_product_attention without heads",
        change_loop(
            loss="out = model(x)[None]; loss = F.mse_loss(F.scaled_dot_product_attention(out, out, out)[0], y)"
        ),
    ),
]
