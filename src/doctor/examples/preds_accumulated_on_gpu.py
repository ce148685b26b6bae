# vramfit doctor --gpu rtx3060 -- python preds_accumulated_on_gpu.py
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Linear(1024, 4096).cuda()
rows = [torch.zeros(1024)] * 32768 * 16


def validate() -> float:
    model.eval()
    kept = []
    with torch.no_grad():
        for batch in DataLoader(rows, batch_size=32768):
            kept.append(model(batch.cuda()))  # 512 MiB more for every batch
    return torch.cat(kept).mean().item()


validate()
