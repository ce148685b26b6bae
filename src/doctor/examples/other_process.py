# vramfit doctor --gpu rtx3060 -- python other_process.py
import subprocess
import sys

import torch

HOG = (
    "import torch, time; x = torch.empty(8 << 30, dtype=torch.uint8, device='cuda'); print(flush=True); time.sleep(60)"
)
neighbour = subprocess.Popen([sys.executable, "-c", HOG], stdout=subprocess.PIPE)
neighbour.stdout.readline()
try:
    kept = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(4)]
finally:
    neighbour.kill()
