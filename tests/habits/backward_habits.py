"""What a loop does with its network and its gradients beside the usual forward, backward and step."""

from __future__ import annotations

from habit import ADAM, SGD, Habit, change_loop

BACKWARD_HABITS = [
    Habit(
        "batch norm",
        change_loop(make="model.insert(1, nn.BatchNorm1d(16).to('cuda'))\n" + SGD),
    ),
    Habit("dropout", change_loop(make="model.insert(2, nn.Dropout(0.3))\n" + SGD)),
    Habit(
        "contrastive loss in the batch",
        change_loop(
            loss="""
            left, right = F.normalize(model(x), dim=1), F.normalize(model(x + 0.1), dim=1)
            loss = F.cross_entropy(left @ right.T / 0.5, torch.arange(len(x), device='cuda'))"""
        ),
    ),
    Habit(
        "torch.autograd.grad by hand",
        change_loop(
            make="optimizer = None",
            step="""
            with torch.no_grad():
                for p, g in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()))):
                    p -= 0.1 * g""",
        ),
    ),
    Habit(
        "SGD by hand from p.grad",
        change_loop(
            make="optimizer = None",
            step="""
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None""",
        ),
    ),
    Habit(
        "gradient penalty",
        change_loop(
            loss="""
            x.requires_grad_()
            out = model(x)
            (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
            loss = F.mse_loss(out, y) + 0.1 * (slope.norm(dim=1) ** 2).mean()"""
        ),
    ),
    Habit(
        "gradients edited",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            for p in model.parameters(): p.grad = p.grad.sign() * p.grad.abs().sqrt()
            optimizer.step()"""
        ),
    ),
    Habit(
        "backward twice",
        change_loop(
            loss="loss = F.mse_loss(model(x), y); more = 0.1 * model(x + 0.1).pow(2).mean()",
            step="optimizer.zero_grad(); loss.backward(); more.backward(); optimizer.step()",
        ),
    ),
    Habit(
        "retain_graph",
        change_loop(
            loss="out = model(x); loss = F.mse_loss(out, y); more = 0.1 * out.pow(2).mean()",
            step="optimizer.zero_grad(); loss.backward(retain_graph=True); more.backward(); optimizer.step()",
        ),
    ),
    Habit(
        "several losses at once",
        change_loop(
            loss="out = model(x); loss = [F.mse_loss(out, y), 0.1 * out.pow(2).mean()]",
            step="optimizer.zero_grad(); torch.autograd.backward(loss); optimizer.step()",
        ),
    ),
    Habit(
        "weight decay in the loss",
        change_loop(loss="loss = F.mse_loss(model(x), y) + 0.01 * sum(p.pow(2).sum() for p in model.parameters())"),
    ),
    Habit(
        "gradients of inputs (FGSM)",
        change_loop(
            loss="""
            x.requires_grad_()
            F.mse_loss(model(x), y).backward()
            x = (x + 0.1 * x.grad).detach()
            loss = F.mse_loss(model(x), y)"""
        ),
    ),
    Habit(
        "optimizer in backward",
        """
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
def step(p):
    optimizers[p].step(); optimizers[p].zero_grad()
for p in model.parameters(): p.register_post_accumulate_grad_hook(step)
BEFORE
for epoch in range(2):
    for x, y in DataLoader(regression, batch_size=8):
        F.mse_loss(model(x.cuda()), y.cuda()).backward()
""",
    ),
    Habit(
        "weights decayed by hand before the step",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            with torch.no_grad():
                for p in model.parameters(): p.mul_(0.9)
            optimizer.step()"""
        ),
    ),
    Habit(
        "weights decayed through .data before the step",
        change_loop(
            make=ADAM,
            step="""
            optimizer.zero_grad(); loss.backward()
            for p in model.parameters(): p.data.mul_(0.9)
            optimizer.step()""",
        ),
    ),
    Habit(
        "reentrant checkpointing",
        change_loop(
            loss="""
            from torch.utils.checkpoint import checkpoint
            loss = F.mse_loss(model[3](checkpoint(model[2], model[:2](x), use_reentrant=True)), y)"""
        ),
    ),
    Habit(
        "evaluation in between",
        change_loop(
            make=SGD + "seen['types'] = []; seen['score'] = []",
            epoch_end="""
            model.eval()
            with torch.no_grad(): out = model(inputs.cuda())
            seen['types'].append(str(out.dtype)); seen['score'].append(float((out @ torch.eye(3, device='cuda')).sum()))
            model.train()""",
        ),
    ),
    Habit(
        "metrics after backward",
        change_loop(
            make=SGD + "seen['types'] = []",
            loss="out = model(x); loss = F.mse_loss(out, y)",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            seen['types'].append(str((torch.eye(3, device='cuda') @ torch.eye(3, device='cuda')).dtype))""",
        ),
    ),
]
