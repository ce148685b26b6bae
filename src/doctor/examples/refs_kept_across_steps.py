# vramfit doctor --gpu rtx3060 -- python refs_kept_across_steps.py
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(1024, 8192), nn.ReLU(), nn.Linear(8192, 8192)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = [torch.zeros(1024)] * (32768 * 4)
for batch in DataLoader(rows, batch_size=32768):
    out = model(batch.cuda())
    probabilities = out.softmax(1)
    loss = out.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def validate() -> None:  # batch, out and probabilities of the last step live on: 2.2 GiB and their graph
    model.eval()
    with torch.no_grad():
        for batch in DataLoader(rows, batch_size=131072):
            model(batch.cuda())


validate()
