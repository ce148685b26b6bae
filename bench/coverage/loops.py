"""Loops that count steps: what happens every so many of them, or once they are many."""

from __future__ import annotations

import copy
from collections import deque

import torch
from parts import CARD, Net, endless, evaluate, loader, program, rows, setup, step
from torch import nn

STEPS = 1500


@program
def plain_steps() -> None:
    model, optimizer = setup()
    for _ in range(STEPS):
        step(model, optimizer, rows())


@program
def gradient_penalty_every_16() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        x = rows().requires_grad_()
        loss = model(x).pow(2).mean()
        if number % 16 == 15:
            (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            loss = loss + gradient.norm()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@program
def path_length_every_1000() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        x = rows().requires_grad_()
        loss = model(x).pow(2).mean()
        if number % 1000 == 999:
            (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            loss = loss + gradient.norm()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@program
def evaluation_every_100() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        step(model, optimizer, rows())
        if number % 100 == 99:
            evaluate(model, size=2048)


@program
def evaluation_every_1000() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        step(model, optimizer, rows())
        if (number + 1) % 1000 == 0:
            evaluate(model, size=4096)


@program
def evaluation_of_an_endless_loader() -> None:
    model, optimizer = setup()
    for number, x in enumerate(endless(loader(320, shuffle=True))):
        step(model, optimizer, x.to(CARD))
        if number and number % 500 == 0:
            evaluate(model, size=4096)
        if number == STEPS:
            break


@program
def activations_logged_every_50() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        step(model, optimizer, rows())
        if number % 50 == 49:
            kept: list[torch.Tensor] = []

            def log(_: nn.Module, __: object, output: torch.Tensor, kept: list[torch.Tensor] = kept) -> None:
                kept.append(output.clone())

            hooks = [layer.register_forward_hook(log) for layer in model.layers]
            model(rows(256))
            for hook in hooks:
                hook.remove()


@program
def feature_queue_that_fills() -> None:
    model, optimizer = setup()
    queue: deque[torch.Tensor] = deque(maxlen=80)
    for _ in range(STEPS):
        x = rows()
        step(model, optimizer, x)
        queue.append(model(x).detach())


@program
def long_queue_that_fills() -> None:
    model, optimizer = setup()
    queue: deque[torch.Tensor] = deque(maxlen=1000)
    for _ in range(STEPS):
        x = rows()
        step(model, optimizer, x)
        queue.append(model(x).detach())


@program
def replay_buffer_on_the_card() -> None:
    model, optimizer = setup()
    buffer: list[torch.Tensor] = []
    for number in range(STEPS):
        buffer.append(rows(8))
        if len(buffer) > 400:
            buffer.pop(0)
        step(model, optimizer, buffer[number % len(buffer)])


@program
def learns_after_a_warmup() -> None:
    model, optimizer = setup()
    memory: list[int] = []
    for number in range(STEPS):
        memory.append(number)
        if len(memory) < 100:
            with torch.no_grad():
                model(rows(4))
            continue
        step(model, optimizer, rows(512))


@program
def average_from_step_120() -> None:
    model, optimizer = setup(1024)
    average = None
    for number in range(STEPS):
        step(model, optimizer, rows(64, 1024))
        if number == 120:
            average = copy.deepcopy(model)
        if average is not None:
            for mean, weight in zip(average.parameters(), model.parameters()):
                mean.data.lerp_(weight.data, 0.01)


@program
def average_from_step_1200() -> None:
    model, optimizer = setup(1024)
    average = None
    for number in range(STEPS):
        step(model, optimizer, rows(64, 1024))
        if number == 1200:
            average = copy.deepcopy(model)
            average.to(CARD)


@program
def second_loss_from_step_150() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        loss = model(rows()).mean()
        if number >= 150:
            loss = loss + model(rows(256)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@program
def unfreezes_at_step_180() -> None:
    model, optimizer = setup(1024, 6)
    for layer in list(model.layers)[:5]:
        layer.requires_grad_(False)
    for number in range(STEPS):
        if number == 180:
            model.requires_grad_(True)
        step(model, optimizer, rows(256, 1024))


@program
def batch_grows_with_the_step() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        step(model, optimizer, rows(32 + number))


@program
def sequence_grows_with_the_step() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        step(model, optimizer, rows(8 * (8 + number // 10)))


@program
def resolution_doubles_at_half() -> None:
    model, optimizer = setup()
    for number in range(STEPS):
        step(model, optimizer, rows(64 if number < STEPS // 2 else 256))


@program
def optimizer_in_backward() -> None:
    model = Net(1024).to(CARD)
    optimizers = {p: torch.optim.Adam([p]) for p in model.parameters()}

    def hook(parameter: torch.Tensor) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(hook)
    for number in range(STEPS // 3):
        model(rows(64, 1024)).mean().backward()
        if number % 60 == 59:
            evaluate_wide(model)


def evaluate_wide(model: nn.Module) -> None:
    with torch.no_grad():
        model(rows(8192, 1024))


@program
def several_optimizers_by_turns() -> None:
    first, one = setup(512)
    second, two = setup(512)
    for number in range(STEPS):
        if number % 5 == 4:
            step(second, two, first(rows(128, 512)).detach())
        else:
            step(first, one, rows(128, 512))


@program
def generator_and_discriminator() -> None:
    generator, one = setup()
    judge, two = setup()
    for number in range(STEPS):
        fake = generator(rows())
        step(judge, two, fake.detach())
        if number % 3 == 2:
            one.zero_grad()
            judge(generator(rows(128))).mean().backward()
            one.step()


@program
def accumulates_over_32() -> None:
    model, optimizer = setup(1024)
    for number in range(STEPS):
        (model(rows(64, 1024)).mean() / 32).backward()
        if number % 32 == 31:
            optimizer.step()
            optimizer.zero_grad()


@program
def closure_of_lbfgs() -> None:
    model = Net(512).to(CARD)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=20)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(rows(64, 512)).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(200):
        optimizer.step(closure)


@program
def target_network_every_200() -> None:
    model, optimizer = setup(1024)
    target = None
    for number in range(STEPS):
        if number % 200 == 199:
            target = copy.deepcopy(model)
        step(model, optimizer, rows(64, 1024))
        if target is not None:
            with torch.no_grad():
                target(rows(128, 1024))


@program
def samples_at_the_end_of_many_steps() -> None:
    model, optimizer = setup()
    for _ in range(STEPS):
        step(model, optimizer, rows())
    with torch.no_grad():
        model(rows(8192))


@program
def resumed_at_a_late_step() -> None:
    model, optimizer = setup(1024)
    started = 5000
    for number in range(started, started + 600):
        step(model, optimizer, rows(64, 1024))
        if number % 100 == 0 and number > started:
            evaluate_wide(model)


@program
def while_loop_until_a_count() -> None:
    model, optimizer = setup()
    done = 0
    while done < STEPS * 64:
        step(model, optimizer, rows())
        done += 64
        if done % (64 * 150) == 0:
            evaluate(model, size=3000)
