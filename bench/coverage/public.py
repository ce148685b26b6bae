"""Training scripts that others published, each at one commit, with the command that trains something small with it.

They are nowhere in this repository: who has cloned them makes data for them with `prepare_public`.
The options only make runs short enough to be run whole; what the scripts do is as their authors wrote it.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = "pytorch/examples"
MIN_GPT = "karpathy/minGPT"
NANO_GPT = "karpathy/nanoGPT"
COMMITS = {
    EXAMPLES: "77f55b912142e11fcfdf5b530231fb9c52f181e8",
    MIN_GPT: "37baab71b9abea1b76ab957409a1cc2fbfba8a26",
    NANO_GPT: "3adf61e154c3fe3fca428ad6bc3818b27a3b8291",
}


@dataclass(frozen=True)
class Public:
    """One command in a folder of a repository."""

    repository: str
    folder: str
    command: str  # after the interpreter

    def where(self, public: Path) -> Path:
        return checkout(public, self.repository) / self.folder

    def words(self, python: str) -> list[str]:
        return [python, *shlex.split(self.command)]


def checkout(public: Path, repository: str) -> Path:
    return public / repository


def is_there(public: Path) -> bool:
    return all(program.where(public).is_dir() for program in PROGRAMS.values())


_NANO_GPT = (
    "train.py --dataset=made_up --compile=False --batch_size=4 --block_size=128 --n_layer=4 --n_embd=256 --n_head=4 "
    "--gradient_accumulation_steps=2 --eval_iters=20 --max_iters={steps} --eval_interval={evaluation}"
)

PROGRAMS = {
    "mnist": Public(EXAMPLES, "mnist", "main.py --epochs 5"),
    "mnist_save": Public(EXAMPLES, "mnist", "main.py --epochs 3 --test-batch-size 2000 --save-model"),
    "mnist_rnn": Public(EXAMPLES, "mnist_rnn", "main.py --epochs 5 --accel"),
    "mnist_forward_forward": Public(EXAMPLES, "mnist_forward_forward", "main.py --epochs 400 --train_size 2000"),
    "siamese": Public(EXAMPLES, "siamese_network", "main.py --epochs 4"),
    "vae": Public(EXAMPLES, "vae", "main.py --epochs 6"),
    "dcgan": Public(EXAMPLES, "dcgan", "main.py --dataset fake --accel --niter 15 --workers 0"),
    "imagenet": Public(EXAMPLES, "imagenet", "main.py -a resnet18 -b 8 -j 1 --epochs 6 made_up"),
    "gat": Public(EXAMPLES, "gat", "main.py --epochs 400"),
    "lstm": Public(EXAMPLES, "word_language_model", "main.py --accel --data made_up --epochs 4"),
    "transformer": Public(
        EXAMPLES, "word_language_model", "main.py --accel --data made_up --epochs 4 --model Transformer --lr 5"
    ),
    "transformer_adamw": Public(
        EXAMPLES,
        "word_language_model",
        "main.py --accel --data made_up --epochs 4 --model Transformer --use-optimizer --lr 0.001",
    ),
    "adder": Public(
        MIN_GPT, "", "-m projects.adder.adder --trainer.max_iters=1200 --trainer.num_workers=0 --data.ndigit=1"
    ),
    "chargpt": Public(MIN_GPT, "", "-m projects.chargpt.chargpt --trainer.max_iters=700 --trainer.num_workers=0"),
    "nanogpt": Public(NANO_GPT, "", _NANO_GPT.format(steps=500, evaluation=150)),
    "nanogpt_late": Public(NANO_GPT, "", _NANO_GPT.format(steps=900, evaluation=400)),
}
