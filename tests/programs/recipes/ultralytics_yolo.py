"""Ultralytics YOLO: train, val and predict."""

from pathlib import Path

import numpy as np
from PIL import Image
from ultralytics import YOLO

FOLDER = Path("street").resolve()
rng = np.random.default_rng(0)
for part in ("train", "val"):
    images, labels = FOLDER / "images" / part, FOLDER / "labels" / part
    images.mkdir(parents=True, exist_ok=True)
    labels.mkdir(parents=True, exist_ok=True)
    for number in range(16):
        Image.fromarray(rng.integers(0, 255, (240, 320, 3), dtype=np.uint8)).save(images / f"{number}.jpg")
        boxes = rng.uniform(0.3, 0.7, (4, 2))
        lines = [f"{i % 3} {x:.3f} {y:.3f} 0.2 0.3" for i, (x, y) in enumerate(boxes)]
        (labels / f"{number}.txt").write_text("\n".join(lines))
Path("street.yaml").write_text(f"path: {FOLDER}\ntrain: images/train\nval: images/val\nnames: [car, bus, tram]\n")

model = YOLO("yolo11n.yaml")
settings = dict(data="street.yaml", imgsz=160, batch=8, workers=0, plots=False)
model.train(epochs=2, device=0, amp=False, **settings)
model.val(**settings)
model.predict(str(FOLDER / "images" / "val" / "0.jpg"), imgsz=160)
