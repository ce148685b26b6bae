from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset


class StreetScenes(Dataset):
    """``root/images/<split>/<name>.jpg`` or .png, ``root/labels/<split>/<name>.png`` (8-bit train ids, 255: ignore)."""

    def __init__(self, root: Path, split: str, transform: Callable) -> None:
        self.images = sorted(path for path in (root / "images" / split).glob("*") if path.suffix in (".jpg", ".png"))
        if not self.images:
            raise FileNotFoundError(f"no images in {root / 'images' / split}")
        self.labels = root / "labels" / split
        self.transform = transform

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        path = self.images[index]
        with Image.open(path) as image, Image.open(self.labels / f"{path.stem}.png") as label:
            return self.transform(image.convert("RGB"), label.convert("L"))
