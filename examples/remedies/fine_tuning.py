"""A decoder of text that was loaded in bfloat16 and is fine-tuned as a whole: weights, gradients and moments."""

import torch
from torch import nn

WIDTH, HEADS, BLOCKS, WORDS, LENGTH, BATCH = 2048, 16, 8, 8192, 256, 4


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.attend, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.attend(self.norms[0](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.logits = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.logits(self.blocks(self.words(tokens)))


def main() -> None:
    torch.manual_seed(0)
    model = Decoder().to(torch.bfloat16)
    model.load_state_dict(model.state_dict())  # of a checkpoint, in earnest
    model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    texts = torch.randint(0, WORDS, (16, LENGTH + 1))
    for tokens in torch.utils.data.DataLoader(texts, batch_size=BATCH):
        logits = model(tokens[:, :-1].cuda())
        loss = nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten().cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("done")


if __name__ == "__main__":
    main()
