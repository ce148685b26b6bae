"""Data made up for programs.py, in the formats and places where the scripts look for theirs."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from programs import EXAMPLES, MIN_GPT, NANO_GPT, UNET


def make(public: Path) -> None:
    """What is there already stays."""
    _photographs(public / "images")
    if (public / UNET).is_dir():
        _masks(public / UNET / "data")
    if (public / NANO_GPT).is_dir():
        _tokens(public / NANO_GPT / "data" / "made_up")
    if (public / MIN_GPT).is_dir():
        (public / MIN_GPT / "input.txt").write_text("".join(random.Random(0).choices("abcdefghij \n", k=300_000)))
    if (public / EXAMPLES).is_dir():
        _sentences(public / EXAMPLES / "word_language_model" / "made_up")
        _digits(public / EXAMPLES / "data" / "MNIST" / "raw")


def _png(path: Path, width: int, height: int, values: Callable[[int], bytes], bytes_per_pixel: int) -> None:
    """8 bits a channel: of grey, or of red, green and blue."""
    row = width * bytes_per_pixel
    pixels = values(row * height)
    rows = b"".join(b"\0" + pixels[at : at + row] for at in range(0, len(pixels), row))
    header = struct.pack(">2I5B", width, height, 8, 2 if bytes_per_pixel == 3 else 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def _photographs(folder: Path) -> None:
    """256 x 256, which are not to be decoded."""
    for split, count in (("train", 160), ("val", 48)):
        for index in range(count):
            path = folder / split / f"c{index % 4}" / f"{index}.png"
            if not path.exists():
                _png(path, 256, 256, random.Random(index).randbytes, 3)


def _masks(folder: Path) -> None:
    """960 x 640, with masks of two classes."""
    for index in range(60):
        chance = random.Random(index)
        mask = folder / "masks" / f"a{index}_mask.png"
        if not mask.exists():
            _png(folder / "imgs" / f"a{index}.png", 960, 640, chance.randbytes, 3)
            _png(mask, 960, 640, lambda count, chance=chance: bytes(chance.choices((0, 1), k=count)), 1)


def _tokens(folder: Path) -> None:
    """Numbers of 16 bits in a row, as nanoGPT's prepare.py scripts leave them."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "val"):
        numbers = random.Random(0).choices(range(50_000), k=400_000)
        (folder / f"{split}.bin").write_bytes(struct.pack(f"<{len(numbers)}H", *numbers))


def _sentences(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    for split in ("train", "valid", "test"):
        rows = (" ".join(f"w{chance.randrange(20_000)}" for _ in range(20)) for _ in range(6000))
        (folder / f"{split}.txt").write_text("\n".join(rows) + "\n")


def _digits(folder: Path) -> None:
    """MNIST's IDX files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 12_800), ("t10k", 4096)):
        pixels = random.Random(0).randbytes(count * 28 * 28)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + pixels)
        labels = bytes(index % 10 for index in range(count))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + labels)
