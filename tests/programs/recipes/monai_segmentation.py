"""MONAI: a 3-D UNet with Dice loss, validated by sliding windows."""

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceLoss
from monai.networks.nets import UNet

model = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(16, 32, 64), strides=(2, 2)).cuda()
optimizer = torch.optim.Adam(model.parameters())
loss = DiceLoss(to_onehot_y=True, softmax=True)
for _ in range(2):
    model.train()
    for _ in range(4):
        loss(model(torch.randn(2, 1, 64, 64, 64).cuda()), torch.randint(0, 2, (2, 1, 64, 64, 64)).cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        sliding_window_inference(torch.randn(1, 1, 96, 96, 96).cuda(), (64, 64, 64), 2, model)
