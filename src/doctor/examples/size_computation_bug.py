# vramfit doctor --gpu rtx3060 -- python size_computation_bug.py
import struct

import torch

(length,) = struct.unpack("<Q", b"\x00\x00\x00\x00\x00\x00\x04\x00")  # read at the wrong place of a file
buffer = torch.empty(length, dtype=torch.uint8, device="cuda")
