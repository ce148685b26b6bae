"""Loops over epochs: what they do after them, now and then, and at the end."""

from __future__ import annotations

import torch
from parts import CARD, Net, evaluate, loader, program, rows, setup, step


@program
def plain_epochs() -> None:
    model, optimizer = setup()
    for _ in range(6):
        for x in loader(1600, shuffle=True):
            step(model, optimizer, x.to(CARD))


@program
def train_and_validate() -> None:
    model, optimizer = setup()
    for _ in range(6):
        for x in loader(1600, shuffle=True):
            step(model, optimizer, x.to(CARD))
        with torch.no_grad():
            for x in loader(640, 128):
                model(x.to(CARD))


@program
def validation_every_third_epoch() -> None:
    model, optimizer = setup()
    data = loader(800, shuffle=True)
    for epoch in range(9):
        for x in data:
            step(model, optimizer, x.to(CARD))
        if epoch % 3 == 2:
            evaluate(model, size=4096)


@program
def validation_from_epoch_20() -> None:
    model, optimizer = setup()
    data = loader(480, shuffle=True)
    for epoch in range(25):
        for x in data:
            step(model, optimizer, x.to(CARD))
        if epoch >= 20:
            evaluate(model, size=4096)


@program
def predictions_gathered_on_the_card() -> None:
    model, optimizer = setup()
    data, held = loader(800, shuffle=True), loader(8000, 64)
    for _ in range(2):
        for x in data:
            step(model, optimizer, x.to(CARD))
        with torch.no_grad():
            torch.cat([model(x.to(CARD)) for x in held])


@program
def predictions_gathered_late() -> None:
    model, optimizer = setup()
    data, held = loader(16000, shuffle=True), loader(16000, 64)
    for _ in range(2):
        for x in data:
            step(model, optimizer, x.to(CARD))
        found = []
        with torch.no_grad():
            for x in held:
                found.append(model(x.to(CARD)))


@program
def second_stage_with_a_larger_model() -> None:
    model, optimizer = setup()
    for x in loader(6400, shuffle=True):
        step(model, optimizer, x.to(CARD))
    model, optimizer = setup(2048)
    for _ in range(20):
        step(model, optimizer, rows(64, 2048))


@program
def test_after_training() -> None:
    model, optimizer = setup()
    data = loader(6400, shuffle=True)
    for _ in range(2):
        for x in data:
            step(model, optimizer, x.to(CARD))
    evaluate(model, size=8192)


@program
def export_after_training() -> None:
    model, optimizer = setup()
    data = loader(3200, shuffle=True)
    for _ in range(4):
        for x in data:
            step(model, optimizer, x.to(CARD))
    big = Net(3000).to(CARD)
    big(rows(16, 3000))


@program
def progressive_resizing_by_epoch() -> None:
    model, optimizer = setup()
    for epoch in range(8):
        for _ in loader(480, shuffle=True):
            step(model, optimizer, rows(32 << epoch))


@program
def early_stopping() -> None:
    model, optimizer = setup()
    data, best, waited = loader(480, shuffle=True), 1e9, 0
    for epoch in range(30):
        for x in data:
            step(model, optimizer, x.to(CARD))
        score = 1.0 / (epoch + 1)
        waited = 0 if score < best else waited + 1
        best = min(best, score)
        if waited > 3:
            evaluate(model, size=8192)
            break


@program
def swap_to_average_for_validation() -> None:
    model, optimizer = setup(512)
    average = torch.optim.swa_utils.AveragedModel(model)
    data = loader(480, shuffle=True)
    for epoch in range(12):
        for _ in data:
            step(model, optimizer, rows(64, 512))
        if epoch >= 6:
            average.update_parameters(model)
            with torch.no_grad():
                average(rows(2048, 512))


@program
def break_after_so_many_batches() -> None:
    model, optimizer = setup()
    for _ in range(10):
        for number, x in enumerate(loader(16000, shuffle=True)):
            if number == 40:
                break
            step(model, optimizer, x.to(CARD))
        evaluate(model, size=1024)


@program
def two_loaders_in_step() -> None:
    model, optimizer = setup()
    for _ in range(3):
        for x, more in zip(loader(1600, shuffle=True), loader(6400, 64, shuffle=True)):
            step(model, optimizer, torch.cat([x, more]).to(CARD))


@program
def mixup_from_epoch_three() -> None:
    model, optimizer = setup()
    for epoch in range(6):
        for x in loader(1600, shuffle=True):
            x = x.to(CARD)
            if epoch >= 3:
                x = torch.cat([x, 0.5 * x + 0.5 * x.flip(0), x])
            step(model, optimizer, x)


@program
def validation_with_gradients() -> None:
    model, optimizer = setup()
    data = loader(1600, shuffle=True)
    for _ in range(4):
        for x in data:
            step(model, optimizer, x.to(CARD))
        outputs = [model(rows(256)) for _ in range(12)]
        del outputs
