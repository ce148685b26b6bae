"""PyTorch Geometric: classification of graphs with pooling of nodes that the network chooses."""

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGPooling, global_mean_pool


def draw_graph() -> Data:
    nodes = int(torch.randint(20, 60, (1,)))
    edges = torch.randint(0, nodes, (2, 4 * nodes))
    return Data(x=torch.randn(nodes, 16), edge_index=edges, y=torch.randint(0, 3, (1,)))


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.pool, self.second = GCNConv(16, 64), SAGPooling(64), GATConv(64, 64)
        self.head = torch.nn.Linear(64, 3)

    def forward(self, data: Data) -> torch.Tensor:
        x = self.first(data.x, data.edge_index).relu()
        x, edges, _, batch, _, _ = self.pool(x, data.edge_index, None, data.batch)
        return self.head(global_mean_pool(self.second(x, edges).relu(), batch))


graphs = [draw_graph() for _ in range(256)]
training, validation = DataLoader(graphs[:192], 32, shuffle=True), DataLoader(graphs[192:], 32)
model = Network().cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    model.train()
    for data in training:
        data = data.cuda()
        optimizer.zero_grad()
        F.cross_entropy(model(data), data.y).backward()
        optimizer.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for data in validation:
            data = data.cuda()
            right += int((model(data).argmax(1) == data.y).sum())
    assert 0 <= right <= 64
