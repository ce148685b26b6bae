"""torchtitan: its trainer of a small Llama 3 under torchrun; arguments: how many cards, options of its own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import tiny

# Where torchtitan's data set for tests lies.
text = Path("tests/assets/c4_test/data.json")
text.parent.mkdir(parents=True, exist_ok=True)
text.write_text("\n".join(json.dumps({"text": line * 50}) for line in tiny.TEXTS))
tiny.tokenizer().save_pretrained("tokenizer")
Path("llama3.toml").write_text("""
[model]
name = "llama3"
flavor = "debugmodel"
hf_assets_path = "tokenizer"

[optimizer]
name = "AdamW"
lr = 8e-4

[lr_scheduler]
warmup_steps = 2

[training]
local_batch_size = 8
seq_len = 2048
steps = 10
dataset = "c4_test"

[activation_checkpoint]
mode = "selective"
selective_ac_option = "2"
""")
cards, *options = sys.argv[1:]
launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", cards, "-m", "torchtitan.train"]
os.execv(sys.executable, [sys.executable, *launcher, "--job.config_file", "llama3.toml", *options])
