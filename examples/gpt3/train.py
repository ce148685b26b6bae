"""One training step of GPT-3 (175 billion parameters) or of a smaller GPT, as if a single card could hold it.

    python train.py                                              GPT-3: 96 layers of 12288
    python train.py --layers 24 --hidden 1024 --heads 16         GPT-2 medium

Needs `transformers`. Weights and text are random: nothing is downloaded.
"""

from __future__ import annotations

import argparse
import sys

import torch

try:
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError:
    sys.exit("this example needs transformers: pip install transformers")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=96)
    parser.add_argument("--hidden", type=int, default=12288)
    parser.add_argument("--heads", type=int, default=96)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--length", type=int, default=2048, help="tokens per text")
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--steps", type=int, default=4)
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    config = GPT2Config(
        vocab_size=args.vocabulary,
        n_positions=args.length,
        n_embd=args.hidden,
        n_layer=args.layers,
        n_head=args.heads,
        bos_token_id=args.vocabulary - 1,
        eos_token_id=args.vocabulary - 1,
    )
    model = GPT2LMHeadModel(config).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    texts = torch.randint(args.vocabulary, (args.steps * args.batch_size, args.length))
    loader = torch.utils.data.DataLoader(texts, batch_size=args.batch_size)
    for step, tokens in enumerate(loader):
        tokens = tokens.to("cuda")
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}: loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
