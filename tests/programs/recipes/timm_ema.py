"""timm: a ViT trained with an average of its weights beside it (ModelEmaV3)."""

import timm
import torch
from timm.utils import ModelEmaV3


def main() -> None:
    model = timm.create_model("vit_tiny_patch16_224", num_classes=10).cuda()
    average = ModelEmaV3(model, decay=0.999)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(8):
        images = torch.randn(2, 3, 224, 224, device="cuda")
        loss = torch.nn.functional.cross_entropy(model(images), torch.zeros(2, dtype=torch.long, device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update(model, step=step)


main()
