# vramfit doctor --gpu rtx3060 -- python data_dependent_blowup.py
import torch


def pairwise_iou(boxes: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    left_top = torch.max(boxes[:, None, :2], anchors[:, :2])  # every box with every anchor
    right_bottom = torch.min(boxes[:, None, 2:], anchors[:, 2:])
    return (right_bottom - left_top).clamp(min=0).prod(2)


anchors = torch.zeros(400_000, 4, device="cuda")
for objects in (8, 12, 9, 1200):  # the last image is a crowd
    pairwise_iou(torch.zeros(objects, 4, device="cuda"), anchors)
