"""PyTorch Geometric: classification of the nodes of one large graph, its masks on the card."""

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

NODES, CLASSES = 20000, 7


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = GCNConv(500, 256), GCNConv(256, CLASSES)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        x = F.dropout(self.first(x, edges).relu(), training=self.training)
        return self.second(x, edges)


data = Data(
    x=torch.randn(NODES, 500),
    edge_index=torch.randint(0, NODES, (2, 10 * NODES)),
    y=torch.randint(0, CLASSES, (NODES,)),
    train_mask=torch.arange(NODES) < 12000,
    val_mask=torch.arange(NODES) >= 16000,
).cuda()
model = Network().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def train() -> torch.Tensor:
    model.train()
    optimizer.zero_grad()
    scores = model(data.x, data.edge_index)
    loss = F.cross_entropy(scores[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    return loss


@torch.no_grad()
def validate() -> float:
    model.eval()
    found = model(data.x, data.edge_index).argmax(dim=-1)
    return int((found[data.val_mask] == data.y[data.val_mask]).sum()) / int(data.val_mask.sum())


best = 0.0
for _ in range(20):
    train()
    best = max(best, validate())
assert 0 <= best <= 1
