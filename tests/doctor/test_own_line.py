"""The line of the user's own files at which a pasted traceback failed: what everybody looks for first."""

from __future__ import annotations

from pathlib import Path

from doctor_calls import Doctor

FRAMES = """step 12 loss 0.5
Traceback (most recent call last):
  File "/opt/env/bin/torchrun", line 8, in <module>
    sys.exit(main())
  File "/data/job/train.py", line 50, in <module>
    main()
  File "/data/job/train.py", line 21, in train_step
    out = model(batch)
  File "/opt/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1511, in _call_impl
    return forward_call(*args, **kwargs)
  File "/opt/env/lib/python3.11/site-packages/torch/nn/modules/conv.py", line 456, in _conv_forward
    return F.conv2d(input, weight)
"""
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 200.00 MiB. GPU 0 has a total capacity of 7.92 GiB "
    "of which 100.00 MiB is free. Including non-PyTorch memory, this process has 7.80 GiB memory in use. Of the "
    "allocated memory 7.50 GiB is allocated by PyTorch, and 50.00 MiB is reserved by PyTorch but unallocated.\n"
)


def test_the_line_of_the_users_own_files_is_told_and_never_torchs(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(FRAMES + OOM)
    done = doctor.look(str(log))
    assert done.result["findings"][0]["label"] == "capacity_exceeded"
    assert done.result["failed_at"] == {
        "file": "/data/job/train.py",
        "line": 21,
        "function": "train_step",
        "code": "out = model(batch)",
    }
    own = done.stdout.partition("Your own line where it failed\n")[2].splitlines()
    assert [line.strip() for line in own[:3]] == ["/data/job/train.py:21", "in train_step", "out = model(batch)"]


def test_another_error_has_its_line_too(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(FRAMES + "ValueError: shapes do not agree\n")
    done = doctor.look(str(log))
    assert done.exit_code == 0 and done.result["failed_at"]["line"] == 21


def test_no_line_is_told_where_none_is_known(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(OOM)
    assert doctor.look(str(log)).result["failed_at"] is None
    log.write_text("".join(FRAMES.splitlines(keepends=True)[:2] + FRAMES.splitlines(keepends=True)[-4:]) + OOM)
    assert doctor.look(str(log)).result["failed_at"] is None
