"""Training by frameworks that own the loop: the same model, compared in the same way as those of loop_habits.py."""

from __future__ import annotations

from habit import Habit

_TRAINER = """
import transformers
class Task(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x, y):
        out = self.net(x)
        return {"loss": F.mse_loss(out, y), "logits": out}
task = Task(model)
kept["model"] = task
data = [{"x": x, "y": y} for x, y in zip(inputs[:COUNT], targets[:COUNT])]
arguments = transformers.TrainingArguments(
    "out", num_train_epochs=2, per_device_train_batch_size=8, learning_rate=0.01, save_strategy="no",
    logging_strategy="no", report_to=[], seed=0, disable_tqdm=True, MORE)
trainer = transformers.Trainer(task, arguments, train_dataset=data)
BEFORE
trainer.train()
seen["steps"] = trainer.state.global_step
"""

# A model that takes what the Trainer would have it divide by, and gives the mean of its batch, as BERT's classifier.
_TRAINER_MEAN = (
    _TRAINER.replace("forward(self, x, y)", "forward(self, x, labels, **more)")
    .replace("mse_loss(out, y)", "mse_loss(out, labels)")
    .replace('"y": y', '"labels": y')
)

_LIGHTNING = """
import logging, warnings
warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning

class Task(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = model
    def training_step(self, batch, index):
        x, y = batch
        return F.mse_loss(self.net(x), y)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

task = Task()
kept["model"] = task
BEFORE
trainer = lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, MORE)
trainer.fit(task, DataLoader(TensorDataset(inputs[:COUNT], targets[:COUNT]), batch_size=8))
task.to("cuda")
seen["steps"] = trainer.global_step
"""

# What hangs on the number of a batch within its epoch: a weight of the loss, and a learning rate every second batch.
_LIGHTNING_COUNTING = _LIGHTNING.replace(
    "return F.mse_loss(self.net(x), y)", "return F.mse_loss(self.net(x), y) * min(1.0, 0.25 * (index + 1))"
).replace(
    "return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)",
    """optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        halved = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": halved, "interval": "step", "frequency": 2}}""",
)

_LIGHTNING_AVERAGE = _LIGHTNING.replace(
    "    def configure_optimizers",
    """    def on_train_batch_end(self, outputs, batch, index):
        seen["last"] = index
    def configure_optimizers""",
)

# The loss is divided by a number of its own batch, all masks full: only later ones would tell.
_LIGHTNING_MASKED = _LIGHTNING.replace(
    "return F.mse_loss(self.net(x), y)",
    """mask = (y > -9).float()
        return ((self.net(x) - y).pow(2) * mask).sum() / mask.sum()""",
)

_LIGHTNING_SUM = _LIGHTNING.replace("F.mse_loss(self.net(x), y)", "0.02 * F.mse_loss(self.net(x), y, reduction='sum')")

_LIGHTNING_MODULE = _LIGHTNING.replace(
    "class Task",
    """class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.step = model, 0
    def forward(self, x):
        self.step += 1
        return self.net(x) * min(1.0, 0.3 + self.step / 5)

class Task""",
).replace("self.net = model\n    def training", "self.net = Counting()\n    def training")

# Validated within epochs, and a learning rate that follows what an epoch's validations, or its training, came to.
_LIGHTNING_PLATEAU = (
    _LIGHTNING.replace(
        "return F.mse_loss(self.net(x), y)",
        """loss = F.mse_loss(self.net(x), y)
        self.log("train", loss, on_step=False, on_epoch=True, batch_size=len(x))
        return loss
    def validation_step(self, batch, index):
        x, y = batch
        if index == 0:
            seen.setdefault("validated", []).append(self.global_step)
        self.log("val", F.mse_loss(self.net(x), y), batch_size=len(x))""",
    )
    .replace(
        "return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)",
        """optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.9)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": "WATCHED"}}""",
    )
    .replace("batch_size=8))", "batch_size=8), DataLoader(regression, batch_size=8))\nrates = trainer.optimizers")
    .replace("max_epochs=2", "max_epochs=4, num_sanity_val_steps=0")
    + """seen["rates"] = [group["lr"] for group in rates[0].param_groups]
"""
)

_ACCELERATE = """
import accelerate
accelerator = accelerate.Accelerator(MORE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(regression, batch_size=8))
kept["model"] = model
BEFORE
for epoch in range(2):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = F.mse_loss(model(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 0.3)
            optimizer.step()
            optimizer.zero_grad()
"""


def _of(text: str, count: int = 24, more: str = "") -> str:
    return text.replace("COUNT", str(count)).replace("MORE", more)


HABITS = [
    Habit("HF Trainer", _of(_TRAINER), "transformers"),
    Habit("HF Trainer, a mean of its own", _of(_TRAINER_MEAN), "transformers"),
    Habit("HF Trainer, odd epochs", _of(_TRAINER, count=21), "transformers"),
    Habit("HF Trainer, bf16", _of(_TRAINER, more="bf16=True"), "transformers"),
    Habit("HF Trainer, a sum", _of(_TRAINER_MEAN.replace("labels)", "labels, reduction='sum')")), "transformers"),
    Habit(
        "HF Trainer, a sum over all labels",
        _of(
            _TRAINER_MEAN.replace("labels)", "labels, reduction='sum') / num_items_in_batch").replace(
                "labels, **more", "labels, num_items_in_batch, **more"
            )
        ),
        "transformers",
    ),
    Habit("Lightning", _of(_LIGHTNING), "lightning"),
    Habit("Lightning, odd epochs", _of(_LIGHTNING, count=21), "lightning"),
    Habit("Lightning, clipping", _of(_LIGHTNING, more="gradient_clip_val=0.3"), "lightning"),
    Habit("Lightning, so many batches", _of(_LIGHTNING, count=40, more="limit_train_batches=2"), "lightning"),
    Habit("Lightning, a share of its batches", _of(_LIGHTNING, count=40, more="limit_train_batches=0.7"), "lightning"),
    Habit("Lightning, overfitting batches", _of(_LIGHTNING, count=40, more="overfit_batches=3"), "lightning"),
    Habit("Lightning, the number of a batch", _of(_LIGHTNING_COUNTING, count=40), "lightning"),
    Habit("Lightning, a hook after each batch", _of(_LIGHTNING_AVERAGE), "lightning"),
    Habit("Lightning, a masked loss", _of(_LIGHTNING_MASKED), "lightning"),
    Habit("Lightning, a sum", _of(_LIGHTNING_SUM), "lightning"),
    Habit("Lightning, a sum over its size", _of(_LIGHTNING_SUM.replace("'sum')", "'sum') / len(x)")), "lightning"),
    Habit("Lightning, a module that counts", _of(_LIGHTNING_MODULE), "lightning"),
    Habit(
        "Lightning, validated within epochs",
        _of(_LIGHTNING_PLATEAU.replace("WATCHED", "val"), count=40, more="val_check_interval=0.4"),
        "lightning",
    ),
    Habit(
        "Lightning, validated after so many batches",
        _of(_LIGHTNING_PLATEAU.replace("WATCHED", "val"), count=40, more="val_check_interval=2"),
        "lightning",
    ),
    Habit(
        "Lightning, a plateau of its epochs",
        _of(_LIGHTNING_PLATEAU.replace("WATCHED", "train"), count=40, more="val_check_interval=1.0"),
        "lightning",
    ),
    Habit("accelerate", _of(_ACCELERATE), "accelerate"),
    Habit("accelerate, a sum", _of(_ACCELERATE.replace("y)\n", "y, reduction='sum')\n", 1)), "accelerate"),
    Habit(
        "accelerate, accumulating sums",
        _of(_ACCELERATE.replace("y)\n", "y, reduction='sum')\n", 1), more="gradient_accumulation_steps=3"),
        "accelerate",
    ),
    Habit("accelerate, accumulating", _of(_ACCELERATE, more="gradient_accumulation_steps=3"), "accelerate"),
]
