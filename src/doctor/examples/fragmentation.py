# vramfit doctor --gpu rtx3060 -- python fragmentation.py
import torch


def buffers(count: int, mib: int) -> list[torch.Tensor]:
    return [torch.empty(mib << 20, dtype=torch.uint8, device="cuda") for _ in range(count)]


large = buffers(10, 1024)  # ten segments of 1 GiB
del large
kept = buffers(10, 600)  # one in each of them: 424 MiB are left over in every segment
buffers(1, 3000)  # 4.1 GiB are idle, and no piece is larger than 424 MiB
