"""Data made up for the scripts of public.py, in the formats and places where they look for theirs."""

from __future__ import annotations

import random
import struct
from array import array
from pathlib import Path

from public import EXAMPLES, MIN_GPT, NANO_GPT, checkout

_IMAGES = {"train": 6400, "t10k": 2000}  # of MNIST's two files
_PAPERS, _WORDS, _CLASSES = 300, 64, 7  # of the graph


def make(public: Path) -> None:
    examples = checkout(public, EXAMPLES)
    for folder in ("data/MNIST/raw", "mnist_forward_forward/data/MNIST/raw"):
        _digits(examples / folder)
    (examples / "vae" / "results").mkdir(exist_ok=True)  # where it draws
    _photographs(examples / "imagenet" / "made_up")
    _graph(examples / "gat" / "cora")
    _sentences(examples / "word_language_model" / "made_up")
    _play(checkout(public, MIN_GPT) / "input.txt")
    _tokens(checkout(public, NANO_GPT) / "data" / "made_up")


def _digits(folder: Path) -> None:
    """IDX files as http://yann.lecun.com/exdb/mnist describes them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in _IMAGES.items():
        pixels = random.Random(0).randbytes(count * 28 * 28)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + pixels)
        labels = bytes(index % 10 for index in range(count))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + labels)


def _photographs(folder: Path) -> None:
    """Portable pixmaps of 256 x 256, which are not to be decoded."""
    pixels = random.Random(0).randbytes(256 * 256 * 3)
    for split, count in (("train", 480), ("val", 160)):
        for index in range(count):
            file = folder / split / f"class{index % 4}" / f"{index}.ppm"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"P6 256 256 255\n" + pixels)


def _graph(folder: Path) -> None:
    """Papers with their words and their class, and who cites whom."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    rows = [
        " ".join([str(paper), *(str(chance.randrange(2)) for _ in range(_WORDS)), f"class{paper % _CLASSES}"])
        for paper in range(_PAPERS)
    ]
    (folder / "cora.content").write_text("\n".join(rows) + "\n")
    cites = {(chance.randrange(_PAPERS), chance.randrange(_PAPERS)) for _ in range(4 * _PAPERS)}
    (folder / "cora.cites").write_text("".join(f"{one} {other}\n" for one, other in sorted(cites)))


def _sentences(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    for split, lines in (("train", 2400), ("valid", 300), ("test", 300)):
        rows = (" ".join(f"word{chance.randrange(2000)}" for _ in range(30)) for _ in range(lines))
        (folder / f"{split}.txt").write_text("\n".join(rows) + "\n")


def _play(file: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,.!\n"
    file.write_text(letters + "".join(random.Random(0).choices(letters, k=40_000)))


def _tokens(folder: Path) -> None:
    """Numbers of 16 bits in a row, as nanoGPT's prepare.py scripts leave them."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, count in (("train", 200_000), ("val", 20_000)):
        (folder / f"{split}.bin").write_bytes(array("H", random.Random(0).choices(range(50_257), k=count)).tobytes())
