"""Trains a network of networks.py for a few steps on made-up samples, and evaluates it: train.py NETWORK"""

from __future__ import annotations

import argparse

import torch
from networks import CLASSES, JOBS, Job
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, job: Job, count: int) -> None:
        self.job, self.count = job, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if index >= self.count:
            raise IndexError(index)
        job, chance = self.job, torch.Generator().manual_seed(index)
        x = torch.randint(job.words, job.sample, generator=chance) if job.words else torch.rand(job.sample)
        if job.target == "next":
            return x, x.roll(-1, 0)
        if job.target.endswith("map"):
            fraction = 4 if job.target == "coarse map" else 1
            return x, torch.randint(CLASSES, [size // fraction for size in job.sample[1:]], generator=chance)
        return x, torch.tensor(index % CLASSES)


def loss_of(job: Job, network: nn.Module, x: Tensor, target: Tensor) -> Tensor:
    if job.target == "own loss":
        return network(x)
    found = network(x)
    if job.target == "next":
        return nn.functional.cross_entropy(found.flatten(0, 1), target.flatten())
    return nn.functional.cross_entropy(found, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=JOBS)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--evaluation", type=int, default=2, help="times the training batch; 0: none")
    parser.add_argument("--gradients-in-evaluation", action="store_true")
    parser.add_argument("--amp", action="store_true")
    options = parser.parse_args()
    job = JOBS[options.network]
    network = job.build().cuda()
    chosen = {"lr": 1e-4, "momentum": 0.9} if job.optimizer == "SGD" else {"lr": 1e-4}
    optimizer = getattr(torch.optim, job.optimizer)(network.parameters(), **chosen)
    training = DataLoader(Samples(job, job.batch * options.steps), job.batch, shuffle=True, drop_last=True)
    for x, target in training:
        x, target = x.cuda(), target.cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=options.amp):
            loss = loss_of(job, network, x, target)
        loss.backward()
        optimizer.step()
    if not options.evaluation:
        return
    network.eval()
    size = job.batch * options.evaluation
    total = 0.0
    with torch.set_grad_enabled(options.gradients_in_evaluation):
        for x, target in DataLoader(Samples(job, 2 * size), size):
            total += float(loss_of(job, network, x.cuda(), target.cuda()).detach())
    print(f"loss in evaluation: {total:.3f}")


if __name__ == "__main__":
    main()
