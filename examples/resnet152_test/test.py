"""Classifies large images with ResNet-152 and draws where each class was seen.

    python test.py --mode whole --size 2240
    python test.py --mode tiles --size 2240 --tile 512 --overlap 128

The network is run without its final pooling, so that it gives a map of class scores, one cell per 32x32 pixels; the
image's class is the best of the map's mean. Needs torchvision; weights are random unless --weights names a file.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from tiles import Stitcher, tiles

try:
    from torchvision import models
except ImportError:
    sys.exit("this example needs torchvision: pip install torchvision")

STRIDE = 32


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("whole", "tiles"), default="whole")
    parser.add_argument("--size", type=int, default=2240)
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=8, help="images (whole) or tiles at a time")
    parser.add_argument("--tile", type=int, default=512)
    parser.add_argument("--overlap", type=int, default=128)
    parser.add_argument("--half", action="store_true", help="fp16 weights and activations")
    parser.add_argument("--empty-cache", action="store_true", help="give cached memory back between images")
    parser.add_argument("--model", default="resnet152", help="any torchvision ResNet")
    parser.add_argument("--weights", type=Path, help="a state_dict")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


class ClassMap(nn.Module):
    """A ResNet without pooling: images (N, 3, H, W) to class scores (N, 1000, H / 32, W / 32)."""

    def __init__(self, resnet: nn.Module) -> None:
        super().__init__()
        self.features = nn.Sequential(*list(resnet.children())[:-2])
        self.classify = nn.Conv2d(resnet.fc.in_features, resnet.fc.out_features, 1)
        self.classify.weight.data = resnet.fc.weight.data[:, :, None, None].clone()
        self.classify.bias.data = resnet.fc.bias.data.clone()

    def forward(self, images: Tensor) -> Tensor:
        return self.classify(self.features(images))


def build_model(args: argparse.Namespace) -> ClassMap:
    resnet = getattr(models, args.model)(weights=None)
    if args.weights:
        resnet.load_state_dict(torch.load(args.weights, map_location="cpu", weights_only=True))
    model = ClassMap(resnet).eval()
    return (model.half() if args.half else model).to(args.device)


def load_image(index: int, size: int) -> Tensor:
    """A random image (3, size, size); the same index always gives the same one."""
    return torch.rand(3, size, size, generator=torch.Generator().manual_seed(index))


def run(model: nn.Module, images: Tensor, args: argparse.Namespace) -> Tensor:
    images = images.half() if args.half else images
    return model(images.to(args.device, non_blocking=True))


def classify_whole(model: nn.Module, images: list[Tensor], args: argparse.Namespace) -> list[Tensor]:
    return [scores.float().cpu() for scores in run(model, torch.stack(images), args)]


def classify_tiles(model: nn.Module, image: Tensor, args: argparse.Namespace) -> Tensor:
    """The same map as `classify_whole`, except near tile borders, where a tile sees less of its surroundings."""
    stitcher = Stitcher(model.classify.out_channels, image.shape[1], image.shape[2], STRIDE)
    waiting: list[tuple[int, int, Tensor]] = []

    def flush() -> None:
        results = run(model, torch.stack([part for _, _, part in waiting]), args)
        for (top, left, _), result in zip(waiting, results):
            stitcher.add(top, left, result)
        waiting.clear()

    for item in tiles(image, args.tile, args.overlap, STRIDE):
        waiting.append(item)
        if len(waiting) == args.batch_size:
            flush()
    if waiting:
        flush()
    return stitcher.result()


@torch.inference_mode()
def main() -> None:
    args = parse_args()
    torch.manual_seed(0)
    model = build_model(args)
    started = time.perf_counter()
    per_round = args.batch_size if args.mode == "whole" else 1
    for first in range(0, args.images, per_round):
        images = [load_image(i, args.size) for i in range(first, min(first + per_round, args.images))]
        if args.mode == "whole":
            maps = classify_whole(model, images, args)
        else:
            maps = [classify_tiles(model, image, args) for image in images]
        for index, scores in enumerate(maps, start=first):
            best = int(scores.mean((1, 2)).argmax())
            print(f"image {index}: class {best}, map {scores.shape[1]}x{scores.shape[2]}", flush=True)
        if args.empty_cache and args.device.startswith("cuda"):
            torch.cuda.empty_cache()
    print(f"{args.images} images, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
