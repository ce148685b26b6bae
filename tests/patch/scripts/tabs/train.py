import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
	torch.manual_seed(0)
	model = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 8)).cuda()
	optimizer = torch.optim.AdamW(model.parameters())
	loader = DataLoader(TensorDataset(torch.randn(256, 64), torch.randn(256, 8)), batch_size=128)
	for x, y in loader:
		optimizer.zero_grad()
		loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
		loss.backward(); optimizer.step()
	print("weights", [round(float(p.double().abs().sum()), 4) for p in model.parameters()])


main()