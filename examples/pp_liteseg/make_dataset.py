"""Draws a small street-scene dataset with labels, laid out like Cityscapes: enough to train and validate on.

python make_dataset.py data --images 48 --size 1024 512
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw

from classes import CLASSES, IGNORE

COLOURS = {
    "road": (128, 64, 128),
    "sidewalk": (200, 120, 180),
    "building": (90, 90, 90),
    "wall": (120, 110, 140),
    "fence": (170, 140, 140),
    "pole": (150, 150, 150),
    "traffic light": (230, 170, 40),
    "traffic sign": (210, 210, 20),
    "vegetation": (90, 130, 40),
    "terrain": (150, 220, 150),
    "sky": (120, 170, 220),
    "person": (200, 40, 70),
    "rider": (230, 30, 30),
    "car": (30, 40, 140),
    "truck": (20, 30, 80),
    "bus": (20, 70, 100),
    "train": (30, 90, 110),
    "motorcycle": (30, 30, 210),
    "bicycle": (110, 30, 40),
}


class Scene:
    """One image and its label map, drawn together so that they always agree."""

    def __init__(self, size: tuple[int, int], rng: random.Random) -> None:
        self.width, self.height = size
        self.rng = rng
        self.image = Image.new("RGB", size, COLOURS["sky"])
        self.label = Image.new("L", size, CLASSES.index("sky"))
        self._image = ImageDraw.Draw(self.image)
        self._label = ImageDraw.Draw(self.label)

    def polygon(self, name: str, points: list[tuple[float, float]]) -> None:
        shade = self.rng.uniform(0.8, 1.2)
        colour = tuple(min(255, int(channel * shade)) for channel in COLOURS[name])
        self._image.polygon(points, fill=colour)
        self._label.polygon(points, fill=CLASSES.index(name))

    def box(self, name: str, left: float, top: float, width: float, height: float) -> None:
        right, bottom = left + width, top + height
        self.polygon(name, [(left, top), (right, top), (right, bottom), (left, bottom)])

    def ignored_hood(self) -> None:
        """The bonnet of the car that films: Cityscapes labels it as "not evaluated"."""
        box = [0, self.height * 0.95, self.width, self.height]
        self._image.rectangle(box, fill=(20, 20, 20))
        self._label.rectangle(box, fill=IGNORE)


def draw_scene(size: tuple[int, int], rng: random.Random) -> Scene:
    scene = Scene(size, rng)
    width, height = size
    horizon = height * rng.uniform(0.4, 0.5)
    draw_background(scene, horizon)
    middle = width * rng.uniform(0.4, 0.6)
    scene.polygon("sidewalk", [(0, height), (middle - 30, horizon), (middle + 30, horizon), (width, height)])
    scene.polygon(
        "road", [(width * 0.1, height), (middle - 15, horizon), (middle + 15, horizon), (width * 0.9, height)]
    )
    draw_street_furniture(scene, horizon)
    draw_traffic(scene, horizon)
    scene.ignored_hood()
    return scene


def draw_background(scene: Scene, horizon: float) -> None:
    rng, width, height = scene.rng, scene.width, scene.height
    scene.box("terrain", 0, horizon, width, height - horizon)
    left = 0.0
    while left < width:
        step = width * rng.uniform(0.05, 0.15)
        name = rng.choice(["building", "building", "vegetation", "wall", "fence"])
        top = horizon - height * (rng.uniform(0.15, 0.4) if name in ("building", "vegetation") else 0.06)
        scene.box(name, left, top, step, horizon - top + height * 0.05)
        left += step


def draw_street_furniture(scene: Scene, horizon: float) -> None:
    rng, width, height = scene.rng, scene.width, scene.height
    for _ in range(rng.randint(2, 5)):
        left, top = rng.uniform(0, width), horizon - height * rng.uniform(0.1, 0.25)
        scene.box("pole", left, top, max(2.0, width * 0.005), height * 0.3)
        scene.box(rng.choice(["traffic light", "traffic sign"]), left - width * 0.008, top, width * 0.02, height * 0.05)


def draw_traffic(scene: Scene, horizon: float) -> None:
    rng, width, height = scene.rng, scene.width, scene.height
    sizes = {"car": (0.12, 0.12), "truck": (0.14, 0.2), "bus": (0.16, 0.22), "train": (0.2, 0.2)}
    sizes |= {"person": (0.02, 0.15), "rider": (0.02, 0.12), "motorcycle": (0.05, 0.08), "bicycle": (0.05, 0.08)}
    for _ in range(rng.randint(4, 10)):
        name = rng.choice(["car"] * 4 + list(sizes))
        depth = rng.uniform(0.3, 1.2)  # far ones are small and near the horizon
        w, h = sizes[name][0] * width * depth, sizes[name][1] * height * depth
        scene.box(name, rng.uniform(0, width - w), horizon + height * 0.35 * depth - h, w, h)


def add_noise(image: Image.Image, seed: int) -> Image.Image:
    """Sensor noise, coarse enough for files to stay small."""
    height, width = image.height // 4 + 1, image.width // 4 + 1
    small = Image.fromarray(np.random.default_rng(seed).integers(0, 25, (height, width), dtype=np.uint8))
    noise = small.resize((4 * width, 4 * height), Image.Resampling.NEAREST).crop((0, 0, *image.size))
    return ImageChops.add(image, Image.merge("RGB", [noise] * 3), offset=-12)


def write_dataset(root: Path, images: int, size: tuple[int, int], seed: int = 0) -> None:
    """Writes ``images`` scenes, a fifth of them for validation. ``root`` appears whole or not at all."""
    root.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=root.name + ".", dir=root.parent))
    try:
        for index in range(images):
            split = "val" if index % 5 == 4 else "train"
            scene = draw_scene(size, random.Random(seed * 100_003 + index))
            images, labels = (partial / kind / split for kind in ("images", "labels"))
            for folder in (images, labels):
                folder.mkdir(parents=True, exist_ok=True)
            # JPEG, as cameras write it: a sixth of the time that PNG takes.
            add_noise(scene.image, seed + index).save(images / f"scene_{index:05d}.jpg", quality=90)
            scene.label.save(labels / f"scene_{index:05d}.png", compress_level=1)
        partial.chmod(0o755)
        os.rename(partial, root)
    except OSError:
        shutil.rmtree(partial, ignore_errors=True)
        if not root.is_dir():  # otherwise another process was quicker: its copy is as good
            raise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--size", type=int, nargs=2, default=(1024, 512), metavar=("W", "H"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    write_dataset(args.root, args.images, tuple(args.size), args.seed)
    print(f"{args.images} scenes of {args.size[0]}x{args.size[1]} in {args.root}")


if __name__ == "__main__":
    main()
