"""What a loop does around its optimizer's step: zeroing, scaling, clipping, looking at gradients."""

from __future__ import annotations

from habit import ADAM, SCALED, SGD, Habit, change_loop

STEP_HABITS = [
    Habit("plain", change_loop()),
    Habit("AdamW", change_loop(make=ADAM)),
    Habit("zero_grad after the step", change_loop(step="loss.backward(); optimizer.step(); optimizer.zero_grad()")),
    Habit("model.zero_grad", change_loop(step="model.zero_grad(); loss.backward(); optimizer.step()")),
    Habit(
        "zero_grad(set_to_none=False)",
        change_loop(step="optimizer.zero_grad(set_to_none=False); loss.backward(); optimizer.step()"),
    ),
    Habit(
        "zero_grad(set_to_none=False), a branch that ends",
        change_loop(
            make="""
            branch = nn.Linear(16, 3).to("cuda"); kept["branch"] = branch
            parameters = [*model.parameters(), *branch.parameters()]
            optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.1)""",
            loss="""
            hidden = model[:3](x)
            loss = F.mse_loss(model[3](hidden) if epoch == 0 else branch(hidden), y)""",
            step="""
            loss.backward(); nn.utils.clip_grad_norm_(parameters, 0.3)
            optimizer.step(); optimizer.zero_grad(set_to_none=False)""",
        ),
    ),
    Habit(
        "zero_grad(set_to_none=False), gradients looked at",
        change_loop(
            make=SGD + "seen['zeroed'] = []",
            step="""
            loss.backward(); optimizer.step(); optimizer.zero_grad(set_to_none=False)
            seen["zeroed"].append(float(model[0].weight.grad.abs().sum()))""",
        ),
    ),
    Habit(
        "p.grad = None",
        change_loop(step="loss.backward(); optimizer.step()\nfor p in model.parameters(): p.grad = None"),
    ),
    Habit(
        "p.grad.zero_()",
        change_loop(
            step="""
            for p in model.parameters():
                if p.grad is not None: p.grad.zero_()
            loss.backward(); optimizer.step()"""
        ),
    ),
    Habit(
        "own bf16 autocast",
        change_loop(loss="with torch.autocast('cuda', torch.bfloat16): loss = F.mse_loss(model(x), y)"),
    ),
    Habit(
        "disabled GradScaler",
        change_loop(make=SGD + "scaler = torch.amp.GradScaler('cuda', enabled=False)", step=SCALED.format("pass")),
    ),
    Habit(
        "enabled GradScaler without autocast",
        change_loop(make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=64.0)", step=SCALED.format("pass")),
    ),
    Habit(
        "GradScaler, unscale_, clipping",
        change_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=64.0)",
            step=SCALED.format("scaler.unscale_(optimizer); nn.utils.clip_grad_norm_(model.parameters(), 0.3)"),
        ),
    ),
    Habit(
        "disabled GradScaler, unscale_, clipping",
        change_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', enabled=False)",
            step=SCALED.format("scaler.unscale_(optimizer); nn.utils.clip_grad_norm_(model.parameters(), 0.3)"),
        ),
    ),
    Habit(
        "own fp16 autocast and GradScaler",
        change_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=1024.0)",
            loss="with torch.autocast('cuda', torch.float16): loss = F.mse_loss(model(x), y)",
            step=SCALED.format("pass"),
        ),
    ),
    Habit(
        "clip_grad_norm_",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.3); optimizer.step()"""
        ),
    ),
    Habit(
        "clip_grad_value_",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.02); optimizer.step()"""
        ),
    ),
    Habit(
        "clipping by hooks on parameters",
        change_loop(make=SGD + "for p in model.parameters(): p.register_hook(lambda g: g.clamp(-0.02, 0.02))"),
    ),
    Habit(
        "clipping by hand",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            for p in model.parameters(): p.grad.mul_((0.3 / norm).clamp(max=1))
            optimizer.step()"""
        ),
    ),
    Habit(
        "gradients logged",
        change_loop(
            make=SGD + "seen['norms'] = []",
            step="""
            optimizer.zero_grad(); loss.backward()
            seen['norms'].append(float(torch.stack([p.grad.norm() for p in model.parameters()]).norm()))
            optimizer.step()""",
        ),
    ),
]
