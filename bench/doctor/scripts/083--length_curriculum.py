import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True).to(device)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(6):
    for length in range(32, 417, 32):
        x = torch.randn(4, length, 128, device=device)
        loss = (model(x) - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch + 1}: up to length {length}, loss {loss.item():.4f}")
