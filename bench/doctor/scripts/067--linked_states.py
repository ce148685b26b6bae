import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
cell = nn.Linear(512, 512).to(device)
mix = nn.Linear(512, 512).to(device)
opt = torch.optim.SGD([*cell.parameters(), *mix.parameters()], lr=0.01)


class State:
    def __init__(self, hidden, previous):
        self.hidden = hidden
        self.previous = previous


state = State(torch.zeros(512, 512, device=device), None)
for step in range(70):
    x = torch.randn(512, 512, device=device)
    hidden = torch.tanh(cell(x) + mix(state.hidden))
    loss = (hidden - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    state = State(hidden.detach(), state)
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}")
