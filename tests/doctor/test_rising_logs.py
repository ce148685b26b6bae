"""Memory that a log shows rising is told, whatever the program calls it, and level memory is not blamed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from doctor_calls import Doctor

ROUNDS = 24
START, RISE = 4000, 150  # MiB


def _level(_: int) -> float:
    return START


def _rising(round_: int) -> float:
    return START + RISE * round_


def _table(head: str, row: str) -> Callable[[int, float], str]:
    return lambda round_, mib: (
        (head if round_ == 0 else "")
        + row.format(
            n=round_,
            mib=mib,
            gib=mib / 1024,
            bytes=int(mib * 2**20),
            free=24576 - mib,
            share=mib / 245.76,
            share_free=100 - mib / 245.76,
        )
    )


FORMS = {
    "a_word_of_its_own": _table("", "step {n}: loss=2.1 cuda_mem={bytes}\n"),
    "behind_a_tab": _table("", "Train: [0/300][{n}/1251]\tloss 6.9 (6.9)\tmem {mib:.0f}MB\n"),
    "json_lines": _table("", '{{"step": {n}, "loss": 2.1, "gpu_mem_gb": {gib:.3f}}}\n'),
    "a_csv": _table("step,loss,gpu_mem_mb,lr\n", "{n},2.1,{mib:.0f},0.001\n"),
    "a_table_of_blanks": _table(
        "     Epoch   gpu_mem       box       obj\n", "     {n}/299     {gib:.2f}G   0.005   0.002: 100%|##| 250/250\n"
    ),
    "what_is_free": _table("", "epoch 001: {n} / 5000 loss=9.1, num_updates={n}, free_gpu_mb={free:.0f}\n"),
    "reserved_at_most": _table("", "step: {n}  loss: 9.27  memory: {gib:.2f}GiB(51.04%)  tps: 1,204\n"),
    "a_sentence": _table("", "CUDA memory after the compiled optimizer step:  {bytes}\n"),
    "a_share": _table("", "step {n} | loss 2.1 | GPU mem {share:.0f}% | 1.3 it/s\n"),
    "a_share_of_what_is_free": _table("", "[{n}] loss=2.1 gpu_mem_free: {share_free:.1f} %\n"),
    "a_column_of_shares": _table("step,loss,gpu_mem_pct,lr\n", "{n},2.1,{share:.2f},0.001\n"),
    "in_chinese": _table("", "显存占用: {mib:.0f}MB step {n}\n"),
    "nvidia_smi_in_a_loop": _table(
        "timestamp, name, memory.used [MiB], memory.total [MiB]\n",
        "2024/01/01 10:{n:02}:00.000, NVIDIA GeForce RTX 3090, {mib:.0f} MiB, 24576 MiB\n",
    ),
    "pmon": _table(
        "# gpu   pid  type    sm   mem   enc   dec    fb   command\n"
        "# Idx     #   C/G     %     %     %     %    MB   name\n",
        "    0  12345     C    80    40     -     -  {mib:.0f}   python\n",
    ),
}


def _log(form: Callable[[int, float], str], level: Callable[[int], float]) -> str:
    return "".join(form(round_, level(round_)) for round_ in range(ROUNDS))


@pytest.mark.parametrize("name", FORMS)
def test_memory_that_rises_is_told_in_any_form(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(_log(FORMS[name], _rising))
    told = doctor.look(str(log)).result
    assert told["findings"][0]["label"] == "leak_growth", told["verdict"]


@pytest.mark.parametrize("name", FORMS)
def test_memory_that_is_level_is_not_blamed(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(_log(FORMS[name], _level))
    assert doctor.look(str(log)).result["findings"] == []


def test_memory_that_may_follow_its_inputs_is_a_possibility(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {n} loss 2.1 seq_len {128 + 16 * n} memory_mb {_rising(n)}\n" for n in range(ROUNDS)))
    first = doctor.look(str(log)).result["findings"][0]
    assert first["label"] == "leak_growth"
    assert first["confidence"] < 0.5
    assert any("seq_len 128" in str(item) for item in first["evidence"])


def test_two_cards_in_one_loop_of_nvidia_smi_are_two_series(doctor: Doctor, tmp_path: Path) -> None:
    rows = "".join(
        f"2024/01/01 10:{n:02}:00.000, NVIDIA A100, {used} MiB, 81920 MiB\n"
        for n in range(ROUNDS)
        for used in (900, 70000)
    )
    log = tmp_path / "smi.csv"
    log.write_text("timestamp, name, memory.used [MiB], memory.total [MiB]\n" + rows)
    assert doctor.look(str(log)).result["findings"] == []
