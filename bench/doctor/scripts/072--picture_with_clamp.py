import torch
from torch.nn import functional

device = "cuda"
torch.manual_seed(0)
target = torch.rand(1, 3, 512, 512, device=device)
picture = torch.rand(1, 3, 512, 512, device=device, requires_grad=True)

for step in range(60):
    rough = functional.avg_pool2d(picture - target, 8).square().mean()
    smooth = (picture[..., 1:] - picture[..., :-1]).square().mean()
    loss = rough + 0.1 * smooth
    (gradient,) = torch.autograd.grad(loss, picture)
    picture = (picture - 2000 * gradient).clamp(0, 1)
    if step % 15 == 14:
        print(f"step {step + 1}: loss {loss.item():.5f}")
