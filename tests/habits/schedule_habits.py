"""What changes as a loop goes on: schedules, counters, averages that begin late."""

from __future__ import annotations

from habit import SGD, Habit, change_loop, numbered_loop

SCHEDULE_HABITS = [
    Habit(
        "scheduler per step",
        change_loop(
            make=SGD + "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6); seen['lr'] = []",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); schedule.step()",
            epoch_end="seen['lr'].append(schedule.get_last_lr()[0])",
        ),
    ),
    Habit(
        "scheduler per epoch",
        change_loop(
            make=SGD + "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5); seen['lr'] = []",
            epoch_end="schedule.step(); seen['lr'].append(schedule.get_last_lr()[0])",
        ),
    ),
    Habit(
        "learning rate by a counter",
        change_loop(
            make=SGD + "done = 0",
            step="""
            for group in optimizer.param_groups: group['lr'] = 0.1 * (1 - done / 6)
            optimizer.zero_grad(); loss.backward(); optimizer.step(); done += 1""",
        ),
    ),
    Habit(
        "a weight of the loss by a counter",
        change_loop(
            make=SGD + "it = 0",
            loss="""
            it += 1
            weight = 0.0 if it < 5 else min(1.0, it / 1000)
            out = model(x)
            loss = F.mse_loss(out, y) + weight * out.abs().mean()""",
        ),
    ),
    Habit(
        "a counter of a trainer object",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            class Trainer:
                def __init__(self): self.step = 0
                def adjust(self):
                    for group in optimizer.param_groups: group['lr'] = 0.1 if self.step < 4 else 0.01
                def advance(self): self.step += 1
            trainer = Trainer()""",
            loss="trainer.adjust(); loss = F.mse_loss(model(x), y)",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); trainer.advance()",
            epoch_end="seen.setdefault('steps', []).append(trainer.step)",
        ),
    ),
    Habit(
        "a counter of a schedule object, in place",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            class Schedule:
                def __init__(self): self.done = 0
                def step(self):
                    self.done += 1
                    for group in optimizer.param_groups: group['lr'] *= 0.9 if self.done % 2 else 0.8
            schedule = Schedule()""",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); schedule.step()",
            epoch_end="seen.setdefault('rates', []).append(optimizer.param_groups[0]['lr'])",
        ),
    ),
    Habit(
        "a global that a function counts",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            done = 0
            def weight():
                global done
                done += 1
                return 1.0 if done > 4 else 0.1""",
            loss="loss = F.mse_loss(model(x), y) * weight()",
            epoch_end="seen.setdefault('steps', []).append(done)",
        ),
    ),
    Habit(
        "a counter in a closure",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            def make():
                done = 0
                def weight():
                    nonlocal done
                    done += 1
                    return 1.0 if done > 4 else 0.1
                return weight
            weight = make()""",
            loss="loss = F.mse_loss(model(x), y) * weight()",
        ),
    ),
    Habit(
        "a counter in a dictionary that a function counts",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            progress = {"done": 0}
            def weight(progress):
                progress["done"] += 1
                return 1.0 if progress["done"] > 4 else 0.1""",
            loss="loss = F.mse_loss(model(x), y) * weight(progress)",
            epoch_end="seen.setdefault('steps', []).append(progress['done'])",
        ),
    ),
    Habit(
        "a number that a function sets on the model",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            class Own(nn.Linear): pass
            model[3] = Own(16, 3).cuda(); model[3].done = 0
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            def weight(layer):
                layer.done += 1
                return 1.0 if layer.done > 4 else 0.1""",
            loss="loss = F.mse_loss(model(x), y) * weight(model[3])",
            epoch_end="seen.setdefault('steps', []).append(model[3].done)",
        ),
    ),
    Habit(
        "meters of numbers, which decide nothing",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            class Meter:
                def __init__(self): self.sum, self.count = 0.0, 0
                def update(self, value, n): self.sum += value * n; self.count += n
                def mean(self): return self.sum / max(self.count, 1)
            meter = Meter()""",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step(); meter.update(loss.item(), len(x))
            print(f"loss {meter.mean():.4f} of {meter.count}")""",
        ),
    ),
    Habit(
        "a weight annealed in an object",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            class Schedule:
                def __init__(self): self.weight = 1.0
                def next(self):
                    self.weight *= 0.9
                    return self.weight
            schedule = Schedule()""",
            loss="loss = F.mse_loss(model(x), y) * schedule.next()",
        ),
    ),
    Habit(
        "an average of an object that is not touched at first",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            class Average:
                def __init__(self): self.step = 0
                def update(self, averaged, model):
                    self.step += 1
                    if self.step > 2000:
                        for mean, p in zip(averaged.parameters(), model.parameters()): mean.data.lerp_(p.data, 0.1)
            average, averaged = Average(), copy.deepcopy(model); kept['averaged'] = averaged""",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); average.update(averaged, model)",
        ),
    ),
    Habit(
        "an average of an object that begins late",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            class Average:
                def __init__(self): self.step = 0
                def update(self, averaged, model):
                    if self.step < 2000: averaged.load_state_dict(model.state_dict())
                    else:
                        with torch.no_grad():
                            for mean, p in zip(averaged.parameters(), model.parameters()): mean.lerp_(p, 0.1)
                    self.step += 1
            average, averaged = Average(), copy.deepcopy(model); kept['averaged'] = averaged""",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); average.update(averaged, model)",
        ),
    ),
    Habit(
        "a weight of the loss by the round",
        numbered_loop(loss="loss = F.mse_loss(model(x), y) * min(1.0, (index + 1) / 4)"),
    ),
    Habit(
        "a break by the round, after the step",
        numbered_loop(
            first=1,
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if index == 2: break""",
        ),
    ),
    Habit(
        "a break by the round, before the step",
        numbered_loop(
            loss="""
            if index >= 2: break
            loss = F.mse_loss(model(x), y)"""
        ),
    ),
    Habit(
        "a break by the round that weighs too",
        numbered_loop(
            loss="loss = F.mse_loss(model(x), y) * (index + 1) / 4",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if index == 1: break""",
        ),
    ),
    Habit(
        "a loss by the average of losses",
        change_loop(
            make=SGD + "usual = 1.0",
            loss="""
            loss = F.mse_loss(model(x), y)
            usual = 0.9 * usual + 0.1 * loss.item()
            loss = loss / usual""",
        ),
    ),
    Habit(
        "a break by a counter",
        change_loop(
            make=SGD + "it = 0",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step(); it += 1
            if it >= 4: break""",
        ),
    ),
    Habit(
        "an average that begins late",
        change_loop(
            make=SGD + "averaged = copy.deepcopy(model); kept['averaged'] = averaged; it = 0",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step(); it += 1
            if it > 4:
                with torch.no_grad():
                    for mean, p in zip(averaged.parameters(), model.parameters()): mean.lerp_(p, 0.1)""",
        ),
    ),
    Habit(
        "an average of weights in a list",
        change_loop(
            make="""
            import types
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            averaged = [p.detach().clone() for p in model.parameters()]
            kept["averaged"] = types.SimpleNamespace(state_dict=lambda: {str(i): m for i, m in enumerate(averaged)})""",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            with torch.no_grad():
                for mean, p in zip(averaged, model.parameters()): mean.lerp_(p, 0.1)""",
        ),
    ),
    Habit(
        "an average from a later epoch on",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            averaged = copy.deepcopy(model); kept["averaged"] = averaged
            def average(mean, model):
                with torch.no_grad():
                    for one, p in zip(mean.parameters(), model.parameters()): one.lerp_(p, 0.1)""",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if epoch >= 1: average(averaged, model)""",
        ),
    ),
    Habit(
        "a counter that only tells",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            it, total, dry_run = 0, 0.0, False
            def train_step(model, x, y, index):
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                if index % 100 == 0: print("step", index, loss.item())
                return loss
            def evaluate(model):
                with torch.no_grad(): return float(model(inputs[:4].cuda()).sum())""",
            loss="it += 1",
            step="""
            loss = train_step(model, x, y, it)
            total += loss.item()
            if it % 3 == 0:
                print(it, total / it, optimizer.param_groups[0]["lr"])
                evaluate(model)
                if dry_run: break""",
        ),
    ),
]
