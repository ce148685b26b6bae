"""A small Faster R-CNN: a training step and an evaluation, whose sizes are all in the data."""

from __future__ import annotations

import json
import sys

import torch
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

torch.manual_seed(0)
model = fasterrcnn_mobilenet_v3_large_320_fpn(
    weights=None, weights_backbone=None, num_classes=5, min_size=96, max_size=128
).cuda()
pictures = [torch.rand(3, 96, 96).cuda() for _ in range(2)]
boxes = torch.tensor([[5.0, 5, 60, 60], [20, 20, 80, 90]])
targets = [{"boxes": boxes.cuda(), "labels": torch.tensor([1, 2]).cuda()} for _ in pictures]
losses = model(pictures, targets)
sum(losses.values()).backward()
found = {name: value.item() for name, value in losses.items()}
model.eval()
found["detections"] = len(model(pictures)[0]["boxes"])
sys.stdout.write(json.dumps(found) + "\n")
