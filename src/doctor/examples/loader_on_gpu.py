# vramfit doctor --gpu rtx3060 -- python loader_on_gpu.py
import torch
from torch import nn
from torch.utils.data import DataLoader


class Batch:
    def __init__(self, rows: list[torch.Tensor]) -> None:
        self.rows = torch.stack(rows)

    def pin_memory(self) -> "Batch":
        self.rows = self.rows.cuda().repeat(1, 64)  # on the card, ahead of the loop
        return self


if __name__ == "__main__":
    model = nn.Linear(65536, 16).cuda()
    rows = [torch.zeros(1024)] * 8192 * 8
    for batch in DataLoader(rows, batch_size=8192, collate_fn=Batch, num_workers=2, pin_memory=True):
        (model(batch.rows).mean() + model(batch.rows * 2).mean()).backward()
