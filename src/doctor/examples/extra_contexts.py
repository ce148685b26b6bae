# vramfit doctor --gpu rtx3060:4GiB -- python extra_contexts.py
import torch
from torch.utils.data import DataLoader, Dataset


class OnTheCard(Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.zeros(1000, device="cuda")  # every worker opens a context of its own


if __name__ == "__main__":
    held = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    for batch in DataLoader(OnTheCard(), num_workers=8, multiprocessing_context="spawn"):
        print(batch.shape)
