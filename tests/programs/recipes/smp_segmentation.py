"""segmentation-models-pytorch: U-Net on a ResNet-18."""

import segmentation_models_pytorch as smp
import torch

model = smp.Unet("resnet18", encoder_weights=None, classes=3).cuda()
loss = smp.losses.DiceLoss("multiclass")
optimizer = torch.optim.Adam(model.parameters())
for _ in range(2):
    model.train()
    for _ in range(4):
        loss(model(torch.randn(4, 3, 128, 128).cuda()), torch.randint(0, 3, (4, 128, 128)).cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        model(torch.randn(4, 3, 128, 128).cuda())
