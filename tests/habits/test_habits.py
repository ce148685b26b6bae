"""No technique trains something else without a word: every habit under every technique, with values computed.

`./test` runs those pairs in which something went wrong once, `./test --all` all of them. The same table for people:
tests/habits/table.py.
"""

from __future__ import annotations

import importlib.util

import pytest
from embedding_habits import EMBEDDING_HABITS
from framework_habits import HABITS as FRAMEWORK_HABITS
from habit import Habit
from hooked_job import Finished, Job
from loop_habits import HABITS
from outcomes import PROMISES, TECHNIQUES, is_found_by_verify, judge, train

BY_NAME = {habit.name: habit for habit in HABITS + EMBEDDING_HABITS + FRAMEWORK_HABITS}
QUICK = [
    ("fp16", "plain"),
    ("fp16", "disabled GradScaler"),
    ("fp16", "disabled GradScaler, unscale_, clipping"),
    ("fp16", "enabled GradScaler without autocast"),
    ("fp16", "clipping by hooks on parameters"),
    ("fp16", "gradients logged"),
    ("fp16", "SGD with a closure"),
    ("fp16", "GAN: two optimizers in turn"),
    ("fp16", "reentrant checkpointing"),
    ("fp16", "evaluation in between"),
    ("fp16", "optimizer in backward"),
    ("bf16", "metrics after backward"),
    ("checkpoint", "dropout"),
    ("selective", "dropout"),
    ("selective", "gradient penalty"),
    ("chunked_loss", "ignore_index"),
    ("chunked_loss", "class weights"),
    ("chunked_loss", "contrastive loss in the batch"),
    ("offload", "dropout"),
    ("offload", "gradient penalty"),
    ("offload", "reentrant checkpointing"),
    ("offload_optimizer", "AdamW"),
    ("offload_optimizer", "SGD with a closure"),
    ("offload_optimizer", "GAN: two optimizers in turn"),
    ("release", "AdamW"),
    ("release", "clip_grad_norm_"),
    ("release", "gradients logged"),
    ("release", "GAN: two optimizers in turn"),
    ("release", "gradients of inputs (FGSM)"),
    ("release", "own accumulation"),
    ("release", "enabled GradScaler without autocast"),
    ("release", "optimizer in backward"),
    ("micro_batch", "a smaller last batch"),
    ("micro_batch", "ignore_index"),
    ("micro_batch", "AveragedModel per iteration"),
    ("micro_batch", "SGD with a closure"),
    ("micro_batch", "optimizer in backward"),
    ("micro_batch", "a counter that only tells"),
    ("micro_batch", "a weight of the loss by the round"),
    ("micro_batch", "a break by the round, after the step"),
    ("micro_batch", "a break by the round, before the step"),
    ("micro_batch", "Lightning, so many batches"),
    ("micro_batch", "Lightning, a share of its batches"),
    ("micro_batch", "Lightning, overfitting batches"),
    ("micro_batch", "Lightning, the number of a batch"),
    ("micro_batch", "Lightning, a hook after each batch"),
    ("micro_batch", "a sum divided by its mask"),
    ("micro_batch", "a sum divided by its mask, an empty part"),
    ("micro_batch", "a sum divided by its mask or 1"),
    ("micro_batch", "a sum divided by a count that is read"),
    ("micro_batch", "a sum times one over its mask"),
    ("micro_batch", "a mean divided by that of its mask"),
    ("micro_batch", "two sums divided by one mask"),
    ("micro_batch", "a mean over what a mask chooses"),
    ("micro_batch", "a sum divided by its mask, scaled"),
    ("micro_batch", "ignore_index, a part of the loss"),
    ("micro_batch", "a loss that counts"),
    ("micro_batch", "own accumulation, by the round"),
    ("micro_batch", "own accumulation, to the end of each pass"),
    ("micro_batch", "own accumulation of a cross entropy, scaled"),
    ("micro_batch", "own accumulation, a rate for each batch"),
    ("micro_batch", "backward twice"),
    ("micro_batch", "retain_graph"),
    ("checkpoint", "retain_graph"),
    ("checkpoint", "gradient penalty"),
    ("micro_batch", "spectral norm"),
    ("micro_batch", "spectral norm by a hook"),
    ("checkpoint", "spectral norm"),
    ("checkpoint", "spectral norm by a hook"),
    ("checkpoint", "weight norm"),
    ("micro_batch", "a module that counts its forwards"),
    ("micro_batch", "a module that counts in a buffer"),
    ("micro_batch", "a module whose temperature falls"),
    ("micro_batch", "a module that notes what it sees"),
    ("micro_batch", "a module that begins with its first batch"),
    ("fp16+micro_batch", "a sum divided by its mask"),
    ("fp16+micro_batch", "a mean and a sum"),
    ("fp16+micro_batch", "a sum, scaled"),
    ("micro_batch", "attention, gradient penalty"),
    ("micro_batch", "Lightning, validated within epochs"),
    ("micro_batch", "Lightning, validated after so many batches"),
    ("micro_batch", "Lightning, a plateau of its epochs"),
    ("lora", "AdamW"),
    ("lora", "GAN: two optimizers in turn"),
    ("lora", "AveragedModel per iteration"),
    ("half_weights", "AdamW"),
    ("half_weights", "enabled GradScaler without autocast"),
    ("attention", "attention"),
    ("attention", "attention, dropout of its scores"),
    ("attention", "attention, its weights in the loss"),
    ("attention", "scaled_dot_product_attention without heads"),
    ("zero_grad", "zero_grad(set_to_none=False), a branch that ends"),
    ("sparse", "embeddings, Adagrad"),
    ("sparse", "embeddings, gradients changed in place"),
    ("sparse", "embeddings, zero_grad(set_to_none=False)"),
    ("sparse", "embeddings, accumulation by hand"),
    ("sparse", "embeddings, updated by hand"),
    ("sparse", "embeddings, an EmbeddingBag"),
    ("sparse", "embeddings, tied to the output"),
    ("sparse", "embeddings, clipping by norm"),
    ("sparse_adam", "embeddings, AdamW, two groups"),
    ("sparse_adam", "embeddings, Adam, a schedule"),
    ("micro_batch", "embeddings, scale_grad_by_freq"),
    ("micro_batch", "a counter of a trainer object"),
    ("micro_batch", "a counter of a schedule object, in place"),
    ("micro_batch", "a global that a function counts"),
    ("micro_batch", "a counter in a closure"),
    ("micro_batch", "a counter in a dictionary that a function counts"),
    ("micro_batch", "a number that a function sets on the model"),
    ("micro_batch", "meters of numbers, which decide nothing"),
    ("split_forward", "steps counted, next(it)"),
    ("split_forward", "GAN: two optimizers in turn"),
    ("split_forward", "LBFGS with a closure"),
    ("split_forward", "contrastive loss in the batch"),
    ("split_forward", "gradient penalty"),
    ("split_forward", "own accumulation"),
    ("split_forward", "dropout"),
    ("split_forward", "batch norm"),
    ("split_forward", "spectral norm by a hook"),
]


def _skip_without(habit: Habit) -> None:
    if habit.needs and importlib.util.find_spec(habit.needs) is None:
        pytest.skip(f"this environment has no {habit.needs}")


def check(job: Job, plain_runs: dict[str, Finished], habit: Habit, technique: str) -> None:
    _skip_without(habit)
    if habit.name not in plain_runs:
        plain_runs[habit.name] = train(job, habit, None)
    plain = plain_runs[habit.name]
    assert plain.exit_code == 0, plain.stderr
    outcome = judge(plain, train(job, habit, technique), technique)
    is_found = not outcome.is_honest and is_found_by_verify(job.folder, habit, technique)
    assert outcome.is_honest or is_found, f"{outcome} where {technique} promises {PROMISES[technique]}"
    assert outcome.word not in ("refused", "broke") or outcome.text


@pytest.mark.parametrize(("technique", "name"), QUICK)
def test_where_something_went_wrong_once(job: Job, plain_runs: dict[str, Finished], technique: str, name: str) -> None:
    check(job, plain_runs, BY_NAME[name], technique)


@pytest.mark.every_version
@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("name", BY_NAME)
def test_every_habit_under_every_technique(
    job: Job, plain_runs: dict[str, Finished], technique: str, name: str
) -> None:
    check(job, plain_runs, BY_NAME[name], technique)


LARGE_LOSS = Habit(
    "a loss whose scaled gradients overflow",
    """
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
seen["sizes"] = []
BEFORE
for epoch in range(8):
    for x, y in DataLoader(regression, batch_size=8):
        loss = 1000 * F.mse_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad(); loss.backward()
        optimizer.step()
        seen["sizes"].append(float(sum(p.abs().sum() for p in model.parameters())))
""",
)


def test_steps_that_overflow_are_left_out_until_the_scale_is_found(job: Job) -> None:
    finished = train(job, LARGE_LOSS, "fp16")
    assert "optimizer steps were left out, of 24" in finished.only("plan_effect")["text"]
    sizes = finished.output()["seen"]["sizes"]
    assert sizes[0] == sizes[1]  # left out
    assert len(set(sizes)) > len(sizes) // 2  # found
    assert all(size == size and size < 1e4 for size in sizes)


REFUSED = {
    "own accumulation of a masked loss": "divided by a number of its batch's own",
    "own accumulation of a cross entropy, labels left out": "divided by a number of its batch's own",
    "a sum divided by its mask, and another term": "train.py:30 in <module> is made of several terms",
    "a mean over what a mask chooses, and another term": "a mean over what a mask chooses",
    "a sum divided by a count that is read, and another term": "a number which is another for each part",
    "a sum and something else": "one of them a sum over its batch and something else",
    "a sum divided by a number from elsewhere": "divided by 37, and nothing tells whether",
    "a sum of what is divided by the batch's own": "a sum of what is divided by numbers of its batch's own",
    "a sum of squares of a mean": "a sum of what is made of a mean over all samples",
    "a mean times the batch's size": "a mean times 2, and nothing tells whether",
    "HF Trainer, a sum": "a sum over its batch, and the trainer would divide it",
    "Lightning, a sum": "a sum over its batch, and the trainer would divide it",
    "two masked losses, one after the other": "differentiated one after the other",
    "a module that averages what it sees": "`Own.usual` changes with each forward (train.py:26), by what the data are",
    "a module that averages from its fourth forward on": "`Own.usual` changes with each forward (train.py:27)",
    "a module that keeps an average in a buffer": "`Own.usual` changes with each forward (a buffer), by what the data",
    "Lightning, a masked loss": "the trainer would give each part of a batch the same weight",
    "Lightning, a module that counts": "the trainer would have it advance with each part of a batch",
    "a weight of the loss by a counter": "`it`, which the script carries over",
    "a break by the round that weighs too": "`index`, which the script carries over",
    "a loss by the average of losses": "`usual`, which the script carries over",
    "EMA per iteration": "a copy of weights, is changed with each part of a batch",
    "an average of an object that begins late": "a copy of weights, is changed with each part of a batch",
    "an average of an object that is not touched at first": "beside `kept['averaged']`, which may be an average",
    "a weight annealed in an object": "`Schedule.weight` goes on with each part of a batch, by a rule of its own",
    "a break by a counter": "`it`, which the script carries over",
    "an average that begins late": "`it`, which the script carries over",
    "an average from a later epoch on": "from some `epoch` on the script does something with a model",
    "learning rate by a counter": "`done`, which the script carries over",
    "p.grad = None": "changes, replaces or zeroes gradients itself",
    "clipping by hooks on parameters": "hooks on parameters",
    "steps counted, next(it)": "batches are drawn one by one",
    "a list of batches": "trains without a DataLoader",
    "GAN: two optimizers in turn": "goes on training on a batch after the optimizer's step",
    "LBFGS with a closure": "several times a step",
    "own accumulation": "accumulates gradients itself",
    "torch.autograd.grad by hand": "trains without backward()",
}


@pytest.mark.parametrize("name", REFUSED)
def test_loops_that_micro_batches_would_train_otherwise_are_refused(job: Job, name: str) -> None:
    _skip_without(BY_NAME[name])
    assert REFUSED[name] in train(job, BY_NAME[name], "micro_batch").of_kind("plan_refused")[0]["text"]


def test_what_may_be_a_number_of_samples_is_named(job: Job) -> None:
    finished = train(job, BY_NAME["a sum divided by 2, in parts of two"], "micro_batch")
    assert "the 2 that a sum is divided by was taken for a number of samples" in finished.only("plan_effect")["text"]


def test_a_script_that_never_asks_for_a_step_is_refused(job: Job) -> None:
    text = BY_NAME["a weight of the loss by the round"].text.replace("optimizer.step()", "pass")
    (refusal,) = train(job, Habit("no step", text), "micro_batch").of_kind("plan_refused")
    assert "never asked for an optimizer step" in refusal["text"]


BY_HAND = BY_NAME["SGD by hand from p.grad"]


def test_steps_by_hand_can_not_be_left_out_and_are_refused(job: Job) -> None:
    (refusal,) = train(job, BY_HAND, "fp16").of_kind("plan_refused")
    assert "no optimizer of torch.optim takes the steps" in refusal["text"]


def test_a_loss_that_is_not_a_number_is_no_training(job: Job) -> None:
    text = LARGE_LOSS.text.replace("1000 *", "float('nan') *").replace("range(8)", "range(10)")
    (refusal,) = train(job, Habit("a loss that is not a number", text), "fp16").of_kind("plan_refused")
    assert "overflow at every loss scale" in refusal["text"]


EXACT = [
    *((technique, name) for technique in ("checkpoint", "micro_batch") for name in ("spectral norm", "weight norm")),
    ("checkpoint", "spectral norm by a hook"),
    ("micro_batch", "spectral norm by a hook"),
    ("micro_batch", "a loss that counts"),
    ("micro_batch", "own accumulation, by the round"),
    ("micro_batch", "own accumulation, to the end of each pass"),
    ("micro_batch", "own accumulation of a cross entropy, scaled"),
    ("micro_batch", "a module that counts its forwards"),
    ("micro_batch", "a module that counts in a buffer"),
    ("micro_batch", "a sum divided by its mask, an empty part"),
    ("micro_batch", "a mean over what a mask chooses"),
    ("micro_batch", "a sum divided by a count that is read"),
    ("micro_batch", "reduction='sum'"),
    ("micro_batch", "reduction='sum', a smaller last batch"),
    ("micro_batch", "a sum divided by the batch's size"),
    ("micro_batch", "a sum divided by the batch's size, a smaller last batch"),
    ("micro_batch", "a sum divided by its numbers"),
    ("micro_batch", "cross entropy of a network that is cut out"),
    ("micro_batch", "each divided by the batch's size, and summed"),
    ("micro_batch", "a mean over samples, summed"),
    ("micro_batch", "a sum over samples, its mean"),
    ("micro_batch", "a mean within samples, summed"),
    ("micro_batch", "a sum divided by a constant"),
    ("micro_batch", "a sum divided by the size of whole batches"),
    ("micro_batch", "a sum divided by 2, in parts of two and one"),
    ("micro_batch", "a sum, scaled"),
    ("micro_batch", "sums of a VAE"),
    ("micro_batch", "sums of a VAE, over its batch's size"),
    ("micro_batch", "a mean of sums within samples, and one of means"),
    ("micro_batch", "a mean and a sum"),
    ("micro_batch", "a mean and a penalty of weights"),
    ("micro_batch", "a sum and a penalty of weights"),
    ("micro_batch", "two sums, one after the other"),
    ("micro_batch", "own accumulation of sums, scaled"),
    ("micro_batch", "HF Trainer, a sum over all labels"),
    ("micro_batch", "Lightning, a sum over its size"),
    ("micro_batch", "accelerate, a sum"),
    ("micro_batch", "accelerate, accumulating sums"),
]


@pytest.mark.parametrize(("technique", "name"), EXACT)
def test_what_a_model_or_a_loss_counts_stays_what_it_was(
    job: Job, plain_runs: dict[str, Finished], technique: str, name: str
) -> None:
    _skip_without(BY_NAME[name])
    plain = plain_runs.get(name) or plain_runs.setdefault(name, train(job, BY_NAME[name], None))
    outcome = judge(plain, train(job, BY_NAME[name], technique), technique)
    assert outcome.word == ("equal" if technique == "checkpoint" else "rounding"), outcome
