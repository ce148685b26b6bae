"""Searches for a batch that fits expect to run out of memory: their logs, as the libraries print them, are well."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctor_calls import Doctor

OOM = (
    "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.92 GiB total capacity; 5.73 GiB already allocated; "
    "14.56 MiB free; 5.77 GiB reserved in total by PyTorch)\n"
)
HEAD_OF_PROFILE = (
    "      Params      GFLOPs  GPU_mem (GB)  forward (ms) backward (ms)                   input     output"
)
PROFILE = HEAD_OF_PROFILE + "".join(
    f"\n     3011043       {4.609 * batch}         {0.25 * batch}        76.89         15.98     ({batch}, 3, 480, 480)"
    "                    list"
    for batch in (1, 2, 4)
)
PROFILE += "\n"
EPOCHS_OF_YOLO = "".join(
    "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
    f"        {epoch}/3      5.21G      1.213      2.871       1.31         42        480: 100%|####| 20/20 [00:08]\n"
    "                   all        128        929      0.661      0.543      0.612      0.451\n"
    for epoch in (1, 2)
)
EPOCHS_OF_LIGHTNING = "".join(
    f"Epoch {epoch}: 100%|####| 100/100 [00:10<00:00, 9.8it/s, v_num=1]\n" for epoch in (0, 1)
)
TRIES_OF_LIGHTNING = "Batch size 2 succeeded, trying batch size 4\nBatch size 4 succeeded, trying batch size 8\n"
DONE_OF_LIGHTNING = "Finished batch size finder, will continue with full run using batch size 8\n"
BAR_OF_COMPOSER = (
    "train          Epoch   0:  {share:3}%|####    | {done}/1251 [1:16:18<00:00,  3.66s/ba, loss/train/total=2.93]\n"
)
WARNING_OF_COMPOSER = (
    "/usr/lib/python3/dist-packages/composer/trainer/trainer.py:240: RuntimeWarning: {}\n  warnings.warn(\n"
)


def composer(*warnings: str) -> str:
    told = "".join(WARNING_OF_COMPOSER.format(warning) for warning in warnings)
    return BAR_OF_COMPOSER.format(share=0, done=0) + told + BAR_OF_COMPOSER.format(share=100, done=1251)


def smaller(before: int) -> str:
    return f"CUDA out of memory detected. Train microbatch size will be decreased from {before} -> {before // 2}."


WELL = {
    "yolov5": (
        f"autobatch: Computing optimal batch size for --imgsz 480\n{PROFILE}{OOM}"
        f"autobatch: Using batch-size 16 for CUDA:0 6.30G/7.92G (80%)\n{EPOCHS_OF_YOLO}"
    ),
    "yolov5_with_an_anomaly": (
        f"AutoBatch: Computing optimal batch size for --imgsz 480\n{PROFILE}{OOM}AutoBatch: WARNING: CUDA anomaly "
        "detected, recommend restart environment and retry command.\n"
        f"AutoBatch: Using batch-size 16 for CUDA:0 6.30G/7.92G (80%)\n{EPOCHS_OF_YOLO}"
    ),
    "ultralytics": (
        "AutoBatch: Computing optimal batch size for imgsz=480 at 60.0% CUDA memory utilization.\n"
        "AutoBatch: CUDA:0 (NVIDIA GeForce RTX 3070) 7.79G total, 0.22G reserved, 0.05G allocated, 7.52G free\n"
        f"{PROFILE}{OOM}AutoBatch: Using batch-size 8 for CUDA:0 5.23G/7.79G (67%) ✅\n{EPOCHS_OF_YOLO}"
    ),
    "ultralytics_that_takes_its_default": (
        f"AutoBatch: Computing optimal batch size for imgsz=480 at 60.0% CUDA memory utilization.\n{PROFILE}{OOM}"
        "AutoBatch: WARNING ⚠️ error detected: expected non-empty vector for x,  using default batch-size 16.\n"
        f"{EPOCHS_OF_YOLO}"
    ),
    "ultralytics_that_tries_its_first_epoch_again": (
        f"WARNING ⚠️ CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).\n{EPOCHS_OF_YOLO}"
    ),
    "ultralytics_that_assigns_on_the_host": (
        f"{EPOCHS_OF_YOLO}WARNING: CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU\n{EPOCHS_OF_YOLO}"
    ),
    "lightning_by_powers": (
        f"{TRIES_OF_LIGHTNING}Batch size 8 succeeded, trying batch size 16\nBatch size 16 failed, trying batch size 8\n"
        f"{DONE_OF_LIGHTNING}Restoring states from the checkpoint path at /tmp/.scale_batch_size_1.ckpt\n"
        f"Restored all states from the checkpoint at /tmp/.scale_batch_size_1.ckpt\n{EPOCHS_OF_LIGHTNING}"
    ),
    "lightning_by_halves": (
        f"{TRIES_OF_LIGHTNING}Batch size 16 failed, trying batch size 12\n{OOM}"
        "Batch size 12 failed, trying batch size 10\n"
        f"Batch size 10 failed, trying batch size 9\n{DONE_OF_LIGHTNING}{EPOCHS_OF_LIGHTNING}"
    ),
    "lightning_by_logging": (
        "INFO:pytorch_lightning.tuner.batch_size_scaling:Batch size 8 failed, trying batch size 4\n"
        f"INFO:pytorch_lightning.tuner.batch_size_scaling:{DONE_OF_LIGHTNING}{EPOCHS_OF_LIGHTNING}"
    ),
    "accelerate": "Decreasing batch size to: 64.\nDecreasing batch size to: 32.\n{'loss': 1.3, 'epoch': 0.5}\n",
    "accelerate_by_logging": "DEBUG:accelerate.utils.memory:Decreasing batch size to: 57.\nepoch 0: loss 0.5\n",
    "transformers": (
        f"Currently training with a batch size of: 32\n{OOM}Currently training with a batch size of: 16\n"
        "***** Running training *****\n  Num examples = 1,000\n{'loss': 1.3, 'epoch': 0.5}\n{'train_runtime': 12.1}\n"
    ),
    "composer": composer(smaller(1024)),
    "composer_twice": composer(smaller(1024), smaller(512)),
    "composer_of_later": composer(smaller(1024).replace("detected", "or excessive memory allocation retries detected")),
    "composer_of_before": composer(
        "CUDA out of memory detected. Gradient Accumulation increased from 1 -> 2, and the batch will be retrained."
    ),
    "a_search_with_many_tries": "".join(f"Trying batch size {200 - size}\n{OOM}" for size in range(40))
    + f"Trying batch size 3\n{EPOCHS_OF_LIGHTNING}",
}

# The search came to nothing, or what fitted in it did not in the training.
NOT_WELL = {
    "ultralytics_that_ran_out_later": (
        f"AutoBatch: Using batch-size 281 for CUDA:0 16.87G/23.99G (70%) ✅\n{EPOCHS_OF_YOLO}torch.cuda.{OOM}"
    ),
    "ultralytics_after_three_tries": (
        "WARNING ⚠️ CUDA out of memory with batch=2. Reducing to batch=1 and retrying (3/3).\n"
        f"torch.cuda.OutOfMemoryError: {OOM}"
    ),
    "composer_of_one_sample": (
        f"{composer(smaller(2))}RuntimeError: CUDA out of memory. The train loop failed with an internal microbatch of "
        "size 1.The GPU does not have enough memory to process even 1 sample during train.\n"
    ),
    "accelerate_that_reached_zero": (
        "Decreasing batch size to: 1.\nRuntimeError: No executable batch size found, reached zero.\n"
    ),
}


@pytest.mark.parametrize("name", WELL)
def test_a_search_that_went_on_is_well(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(WELL[name])
    done = doctor.look(str(log))
    assert done.exit_code == 0 and done.result["findings"] == [], done.stdout


@pytest.mark.parametrize("name", NOT_WELL)
def test_a_search_that_did_not_is_trouble(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(NOT_WELL[name])
    assert doctor.look(str(log)).exit_code == 1
