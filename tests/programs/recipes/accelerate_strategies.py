"""accelerate: `accelerate launch` of a Llama on two cards; DDP, FSDP or FSDP 2 by the launcher's options."""

from __future__ import annotations

import tiny
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM

accelerator = Accelerator(mixed_precision="bf16")
with accelerator.main_process_first():
    folder = tiny.llama()
model = AutoModelForCausalLM.from_pretrained(folder)
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
tokens = torch.randint(4, 1000, (256, 128))
training = DataLoader(tokens[:192], batch_size=8, shuffle=True)
validation = DataLoader(tokens[192:], batch_size=8)
model, optimizer, training, validation = accelerator.prepare(model, optimizer, training, validation)
for _ in range(3):
    model.train()
    for batch in training:
        loss = model(input_ids=batch, labels=batch).loss
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    losses = []
    for batch in validation:
        with torch.no_grad():
            losses.append(accelerator.gather(model(input_ids=batch, labels=batch).loss.detach()))
    accelerator.print(torch.stack(losses).mean())
