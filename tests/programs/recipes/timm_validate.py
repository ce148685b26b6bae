"""timm: a network's accuracy over a data set, with autocast, as its validate.py measures it."""

import timm
import torch
from timm.data import create_loader
from timm.utils import AverageMeter, accuracy
from torch.utils.data import Dataset


class Pictures(Dataset):
    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.randint(0, 256, (3, 128, 128), dtype=torch.uint8), index % 10


model = timm.create_model("resnet18", num_classes=10).cuda().to(memory_format=torch.channels_last).eval()
loader = create_loader(Pictures(), (3, 128, 128), 32, use_prefetcher=True, num_workers=1)
losses, top1 = AverageMeter(), AverageMeter()
with torch.inference_mode():
    for pictures, classes in loader:
        with torch.autocast("cuda"):
            scores = model(pictures.contiguous(memory_format=torch.channels_last))
            loss = torch.nn.functional.cross_entropy(scores, classes)
        first, _ = accuracy(scores.detach(), classes, topk=(1, 5))
        losses.update(loss.item(), len(pictures))
        top1.update(first.item(), len(pictures))
assert 0 <= top1.avg <= 100
