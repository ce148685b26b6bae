# vramfit doctor --gpu rtx3060 --steps all -- python variable_length_spike.py
import torch
from torch import nn
from torch.utils.data import DataLoader

lengths = [300, 280, 310, 290, 305, 295, 300, 60_000]  # tokens; one document is very long
layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
model = nn.TransformerEncoder(layer, 6).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader([torch.zeros(n, 512) for n in lengths], batch_size=1):
    loss = model(batch.cuda()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
