import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 10)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)


class Shelf:
    def __init__(self):
        self.slots = {}
        self.count = 0

    def pack(self, tensor):
        self.count += 1
        self.slots[self.count] = tensor
        return self.count

    def unpack(self, number):
        return self.slots[number]


shelf = Shelf()
for step in range(60):
    x = torch.randn(512, 512, device=device)
    y = torch.randint(0, 10, (512,), device=device)
    with torch.autograd.graph.saved_tensors_hooks(shelf.pack, shelf.unpack):
        loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}")
