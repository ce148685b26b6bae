"""Memory that grows: at every step, now and then, once an epoch; and what only seems to."""

from __future__ import annotations

import torch
from parts import CARD, loader, program, rows, setup, step

STEPS = 1500


@program
def leak_at_every_step() -> None:
    model, optimizer = setup()
    kept = []
    for _ in range(STEPS):
        kept.append(step(model, optimizer, rows()).expand(4096).clone())


@program
def leak_every_fifth_step() -> None:
    model, optimizer = setup()
    kept = []
    for number in range(STEPS):
        loss = step(model, optimizer, rows())
        if number % 5 == 4:
            kept.append(loss.expand(65536).clone())


@program
def leak_every_40_steps() -> None:
    model, optimizer = setup()
    kept = []
    for number in range(STEPS):
        loss = step(model, optimizer, rows())
        if number % 40 == 39:
            kept.append(loss.expand(1 << 20).clone())


@program
def leak_once_an_epoch() -> None:
    model, optimizer = setup()
    data, kept = loader(320, shuffle=True), []
    for _ in range(40):
        for x in data:
            loss = step(model, optimizer, x.to(CARD))
        kept.append(loss.expand(1 << 20).clone())


@program
def losses_with_their_graphs() -> None:
    model, optimizer = setup()
    total = torch.zeros((), device=CARD)
    for _ in range(STEPS):
        loss = model(rows()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        total = total + loss


@program
def a_leak_under_lengths_by_chance() -> None:
    model, optimizer = setup()
    kept = []
    for number in range(STEPS):
        step(model, optimizer, rows(32 + (number * 7919) % 64))
        kept.append(torch.ones(16384, device=CARD))


@program
def a_cache_that_is_bounded() -> None:
    model, optimizer = setup()
    cache: dict[int, torch.Tensor] = {}
    for number in range(STEPS):
        step(model, optimizer, rows())
        cache[number % 100] = torch.ones(1 << 16, device=CARD)


@program
def a_cache_by_length() -> None:
    model, optimizer = setup()
    masks: dict[int, torch.Tensor] = {}
    for number in range(STEPS):
        length = 16 + (number * 37) % 400
        if length not in masks:
            masks[length] = torch.ones(length, length, device=CARD)
        step(model, optimizer, rows(length))


@program
def a_metric_kept_of_an_evaluation() -> None:
    model, optimizer = setup()
    data, history = loader(800, shuffle=True), []
    for _ in range(12):
        for x in data:
            step(model, optimizer, x.to(CARD))
        with torch.no_grad():
            history.append(model(rows(2048)))
