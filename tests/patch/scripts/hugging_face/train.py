"""The Trainer of transformers runs the loop."""

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        words = torch.arange(64) * (index + 1) % 100
        return {"input_ids": words, "labels": torch.tensor(index % 2)}


torch.manual_seed(0)
config = BertConfig(
    vocab_size=100, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)
model = BertForSequenceClassification(config)
args = TrainingArguments("out", per_device_train_batch_size=8, num_train_epochs=1, report_to=[], save_strategy="no")
Trainer(model, args, train_dataset=Texts()).train()
print("weights", [round(float(p.double().abs().sum()), 4) for p in model.parameters()])
