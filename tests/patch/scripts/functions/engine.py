import torch


def train_one_epoch(model, criterion, optimizer, data_loader, device):
    model.train()
    for i, (image, target) in enumerate(data_loader):
        image, target = image.to(device), target.to(device)
        output = model(image)
        loss = criterion(output, target)

        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def evaluate(model, criterion, data_loader, device):
    model.eval()
    losses = []
    for image, target in data_loader:
        output = model(image.to(device))
        losses.append(criterion(output, target.to(device)))
    return torch.stack(losses).mean()
