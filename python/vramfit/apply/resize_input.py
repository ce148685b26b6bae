"""Smaller inputs: images and label maps scaled, token sequences cut, on the host, as the loader yields them."""

from __future__ import annotations

from typing import Any

from vramfit import apply
from vramfit.contract import plans
from vramfit.observe import loaders
from vramfit.observe.loaders import Pass

ID = "resize_input"
_SMALLEST_SIDE = 32  # pixels; smaller spatial dimensions are not images


class ResizeInput:
    def __init__(self, torch: Any, options: plans.ResizeInput) -> None:
        self._torch = torch
        self._scale = options.scale
        self._sides: set[tuple[int, int]] = set()  # of the images of this batch

    def __call__(self, this_pass: Pass, batch: Any) -> Any:
        if self._has_boxes(batch):
            apply.refused(ID, "the batches hold boxes, which would have to be scaled with the images")
            return batch
        self._sides = {side for side in self._image_sides(batch)}
        return self._resize(batch)

    def side(self, length: int) -> int:
        """Scaled; a multiple of 32 stays one, because networks that halve five times need it."""
        step = 32 if length % 32 == 0 and length * self._scale >= 32 else 1
        return max(step, int(length * self._scale / step + 0.5) * step)

    def _has_boxes(self, value: Any) -> bool:
        if isinstance(value, dict):
            return "boxes" in value or any(self._has_boxes(item) for item in value.values())
        return isinstance(value, (list, tuple)) and any(self._has_boxes(item) for item in value)

    def _image_sides(self, value: Any) -> list[tuple[int, int]]:
        if hasattr(value, "dim"):
            large = value.dim() == 4 and min(value.shape[-2:]) >= _SMALLEST_SIDE
            return [(int(value.shape[-2]), int(value.shape[-1]))] if large else []
        items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        return [side for item in items for side in self._image_sides(item)]

    def _resize(self, value: Any) -> Any:
        if hasattr(value, "dim"):
            return self._resize_tensor(value)
        if isinstance(value, dict):
            changed = {key: self._resize(item) for key, item in value.items()}
            try:
                return type(value)(changed)  # transformers' BatchEncoding takes a dict too
            except TypeError:
                return changed
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._resize(item) for item in value))
        if isinstance(value, (list, tuple)):
            return type(value)(self._resize(item) for item in value)
        return value

    def _resize_tensor(self, tensor: Any) -> Any:
        side = tuple(int(n) for n in tensor.shape[-2:])
        if tensor.dim() in (3, 4) and side in self._sides:
            return self._interpolate(tensor, (self.side(side[0]), self.side(side[1])))
        integer = not tensor.is_floating_point()
        if not self._sides and tensor.dim() == 2 and tensor.shape[1] >= _SMALLEST_SIDE and integer:
            kept = self.side(int(tensor.shape[1]))
            apply.applied(ID, f"token sequences cut from {tensor.shape[1]} to {kept}")
            return tensor[:, :kept].contiguous()
        return tensor

    def _interpolate(self, tensor: Any, side: tuple[int, int]) -> Any:
        functional = self._torch.nn.functional
        apply.applied(ID, f"images scaled from {tuple(tensor.shape[-2:])} to {side}")
        planes = tensor if tensor.dim() == 4 else tensor.unsqueeze(1)
        is_image = tensor.dim() == 4 and (tensor.is_floating_point() or tensor.dtype == self._torch.uint8)
        mode = {"mode": "bilinear", "align_corners": False} if is_image else {"mode": "nearest"}
        scaled = functional.interpolate(planes.float(), size=side, **mode)
        scaled = scaled.round() if not tensor.is_floating_point() else scaled
        return (scaled if tensor.dim() == 4 else scaled.squeeze(1)).to(tensor.dtype)


def install(torch: Any, options: plans.ResizeInput) -> None:
    loaders.transforms.append(ResizeInput(torch, options))
