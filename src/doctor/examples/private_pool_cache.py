# vramfit doctor --gpu rtx3060 -- python private_pool_cache.py
import torch

graph = torch.cuda.CUDAGraph()
x = torch.zeros(1, device="cuda")
with torch.cuda.graph(graph):
    for _ in range(3):
        big = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
        bigger = torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
        del big, bigger  # free, but only for this graph
kept = [torch.empty(4 << 30, dtype=torch.uint8, device="cuda") for _ in range(2)]
