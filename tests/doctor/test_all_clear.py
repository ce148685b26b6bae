"""What is green and what is not: the all-clear is for texts that were read, understood and speak of no trouble."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctor_calls import Doctor

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 7.79 GiB "
    "of which 6.38 MiB is free. Of the allocated memory 7.41 GiB is allocated by PyTorch, and 88.19 MiB is reserved "
    "by PyTorch but unallocated."
)

EPOCHS = "".join(f"epoch {i} train {2.3 - i / 10:.3f} val {2.4 - i / 10:.3f}\n" for i in range(8))

UNKNOWN = {
    "a_card_that_is_hidden": (
        "Traceback (most recent call last):\n"
        '  File "bug.py", line 4, in <module>\n'
        '    print(torch.cuda.memory_allocated("cuda:1"))\n'
        "RuntimeError: 0 <= device && device < device_num INTERNAL ASSERT FAILED at "
        "/c10/cuda/CUDACachingAllocator.cpp:667, please report a bug to PyTorch. Invalid device argument.\n"
    ),
    "another_device": "RuntimeError: XPU out of memory. Please use `empty_cache` to release all unoccupied memory.",
    "a_number_of_bytes": "E0101 executor.cc:12] failed to allocate 17179869184 bytes of device memory",
    "a_warning_of_little_memory": (
        "[Low VRAM warning] 190.5 MB of the card are free for this picture.\n 10%|#  | 2/20 [03:10<28:30, 95.0s/it]\n"
    ),
    "a_count_of_what_is_left": "Note: after loading the encoder only 0.3 GB of GPU memory are left\n",
    "a_value_below_what_is_safe": "loader: free VRAM (611 MB) is below the recommended 2048 MB\n",
    "a_card_that_fills_up_in_prose": "It trains for a while, then the VRAM fills up and my pc crashes. Any hints?\n",
    "a_percentage_in_prose": "with two images the gpu memory shoots to 100% and python dies without a message\n",
    "a_model_that_was_left_half_on_the_host": (
        "Requested to load Unet\nloaded partially 4100.2 MB, 3900.1 MB offloaded, lowvram patches: 12\n"
    ),
    "a_memory_error_of_a_card": "MemoryError: could not place 12 GB on GPU 0\n",
    "a_traceback_that_is_cut_off": (
        'step 1 loss 0.2\nTraceback (most recent call last):\n  File "a.py", line 1, in f\n    x = g(y)\n'
    ),
    "a_buffer_of_a_mac": "RuntimeError: Invalid buffer size: 32.00 GB",
    "resources_of_an_old_sycl": "RuntimeError: Native API failed. Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES)",
    "a_card_that_is_nearly_full": "WARNING: Your GPU memory is low, consider a smaller model",
    "a_number_of_the_kernel": (
        "(Worker pid=9) ERROR 07-26 10:29:34 [executor.py:24] RuntimeError: CUDA driver error: device not ready\n"
        "[ 4182.11] misc dxg: dxgk: dxgkio_make_resident: Ioctl failed: -12\n"
    ),
    "a_kernel_that_restarted": "WARNING:root:kernel 5f1e-4c53 restarted\n",
    "nothing": "",
    "blanks": "\n \n\t\n",
    "a_finder_that_found_nothing": (
        "Decreasing batch size to: 1.\nRuntimeError: No executable batch size found, reached zero.\n"
    ),
    "a_worker_that_was_too_large": (
        "TerminatedWorkerError: A worker process was unexpectedly terminated. This could be caused by an excessive "
        "memory usage causing the system to kill the worker.\n"
    ),
    "a_signal_in_new_words": "step 3 loss 0.5\nlauncher: rank 2 went away: SIGKILL\n",
    "a_cure_that_is_named_after_memory": (
        "BrokenPipeError: [Errno 32] Broken pipe\n\nA larger memory limit of the pod fixed it.\n"
    ),
    "an_assertion_of_a_setting": (
        'Running this in the published image ends with\n\nassert "expandable_segments:True" not in conf\n\n'
        "python3 -m tune.ppo \\\n   --micro_train_batch_size 1 \\\n   --gpu_memory_utilization 0.6\n"
    ),
    "a_last_line_in_another_language": "step 1 loss 0.5\nstep 2 loss 0.4\nLỗi: GPU hết bộ nhớ\n",
    "a_last_line_of_a_driver": "step 1 loss 0.5\nstep 2 loss 0.4\nNVRM: RmInitAdapter failed! (0x24:0x51:1524)\n",
    "a_last_line_of_plain_words": "step 1 loss 0.5\nstep 2 loss 0.4\nand then the screen went black\n",
    "a_last_line_of_plain_words_by_logging": (
        "2026-11-21 10:01:05 INFO step 1 loss 0.5\n2026-11-21 10:02:05 INFO the other worker is not there any longer\n"
    ),
    "a_last_line_of_figures": EPOCHS + "hbm_used=100% hbm_free=0 status=7\n",
    "a_last_line_of_all_that_there_is": EPOCHS + "VRAM Usage [##########] 24564 / 24564 MiB\n",
    "a_last_word_that_is_cut": EPOCHS + "torch.OutOfMe",
    "a_frame_that_is_cut": EPOCHS + '  File "/usr/lib/python3.10/site-packages/transfor',
    "a_bar_that_is_cut": EPOCHS + "Epoch 7:  99%|####| 990/1000 [00:10<00:00, 88.1it/s, loss=0.1",
    "zeros_at_the_end": EPOCHS + "\0" * 8,
    "a_date_that_is_cut": EPOCHS + "2020-05-08 18:5",
    "retries_of_the_allocator": EPOCHS + "num_alloc_retries: 412\n" + EPOCHS,
    "a_count_of_ooms": EPOCHS + '{"loss": 0.3, "num_ooms": 2}\n' + EPOCHS,
    "flushes_of_the_cache": (
        EPOCHS + "[stage3.py:1949:step] 4 pytorch allocator cache flushes since last step.\n" + EPOCHS
    ),
    "memory_that_is_oversubscribed": EPOCHS + "cudaMallocManaged oversubscription active\n" + EPOCHS,
    "a_model_that_accelerate_left_out": (
        EPOCHS + "Some parameters are on the meta device because they were offloaded to the cpu and disk.\n" + EPOCHS
    ),
    "a_host_that_fills_up": "".join(f"step {i} loss 0.5 rss {4.1 + i * 1.9:.1f}GB\n" for i in range(20)),
    "arguments_by_themselves": "Namespace(lr=0.001, batch_size=64, epochs=10, gpu=0)\n",
    "a_name_for_no_memory": EPOCHS + "RuntimeError: CNRT error: CNRT_RET_ERR_NOMEM\n",
    "an_error_that_is_cut": EPOCHS + "RuntimeError: CUDA out of me",
    "a_container_that_used_it_all": (
        "docker: Error response from daemon: OCI runtime: cannot start a container that has used all its memory.\n"
    ),
    "prose_of_something_else": "Dear neighbour,\nthe bins are to be put out before seven.\n",
}

# What failed, if anything did, is no matter of memory.
NO_TROUBLE = {
    "a_loss_of_a_kernel": (
        "Loss.cu:250: nll_loss_forward: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.\n"
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n"
    ),
    "an_index": (
        "Indexing.cu:1146: indexSelectLargeIndex: block: [0,0,0], thread: [96,0,0] Assertion `srcIndex < "
        "srcSelectDimSize` failed.\nRuntimeError: CUDA error: device-side assert triggered\n"
    ),
    "open_files": (
        "RuntimeError: unable to open shared memory object </torch_77_12> in read-write mode\n"
        "OSError: [Errno 24] Too many open files\n"
    ),
    "a_message_of_grpc": (
        'Traceback (most recent call last):\n  File "client.py", line 8, in <module>\n    stub.Predict(request)\n'
        "grpc.RpcError: StatusCode.RESOURCE_EXHAUSTED: Received message larger than max (5242880 vs. 4194304)\n"
    ),
    "a_test_named_so": (
        "FAILED tests/unit/test_queue.py::test_killed_by_oom - assert False\n= 1 failed, 12 passed in 1.2s =\n"
    ),
    "a_status_of_a_launcher": "[launch.py:310] ['python', 'fit.py'] exits with return code = -11\n",
    "a_block_of_the_loader": (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import torch\n'
        "OSError: /usr/lib/libgomp.so.1: cannot allocate memory in static TLS block\n"
    ),
    "an_oom_that_a_test_makes": (
        "memory leak check: 0 bytes leaked in 5 runs\n40 tests, 0 failed. OOM simulated in 2 tests, all recovered.\n"
        "step 9 loss 0.1 Mem: 5.2GB\n"
    ),
    "a_trainer_that_finds_its_batch": (
        f"Currently training with a batch size of: 32\n{OOM}\nCurrently training with a batch size of: 28\n"
        "{'loss': 1.3, 'epoch': 0.5}\n"
    ),
    "another_error_on_a_card_with_memory": (
        "We have one card with 24 GB of memory and nothing else on it.\n\nValueError: shapes do not agree\n"
    ),
    "another_error": "step 3 loss 0.5\nValueError: shapes do not agree\n",
    "a_search_for_the_batch": (
        f"epoch 0\nTrying batch size 64\n{OOM}\nTrying batch size 32\n"
        "Finished batch size finder, will continue with full run using batch size 32\nepoch 1 loss 0.4\n"
    ),
    "an_assertion_before_cublas": (
        "Loss.cu:115: operator(): block: [0,0,0], thread: [3,0,0] Assertion `input_val >= zero` failed.\n"
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n"
    ),
    "a_second_try_that_went_well": (
        "E alloc_buffer: allocating 51748.72 MiB on device 1: cudaMalloc failed: out of memory\n"
        "E graph_reserve: failed to allocate compute buffers\n"
        "W reserve: compute buffer allocation failed, retrying without pipeline parallelism\n"
        "I main: model loaded\n"
    ),
    "a_choice_that_was_left_out": (
        "No valid triton configs. OutOfMemoryError: out of resource: triton_mm Required: 298816 Hardware limit:232448\n"
        "Ignoring this choice.\nstep: 1 loss: 12.2\n"
    ),
    "a_large_share_of_the_host": (
        "W cpu_allocator_impl.cc:81] Allocation of 44089200 exceeds 10% of free system memory.\nEpoch 2/10\n"
    ),
    "a_summary_without_ooms": (
        "|            CUDA OOMs: 0            |        cudaMalloc retries: 0         |\nepoch 1 done in 4 s\n"
        "| Allocated memory      |  10344 MiB |  14441 MiB |  45674 MiB |  35330 MiB |\nstep 9 loss 0.1 Mem: 5.2GB\n"
    ),
    "tests_that_passed": (
        "tests/test_oom.py::test_cuda_out_of_memory_message PASSED [ 50%]\nstep 9 loss 0.1 Mem: 5.2GB\n"
    ),
    "a_pool_that_grows": (
        "W bfc_allocator.cc:215] Allocator (GPU_0_bfc) ran out of memory trying to allocate 217.69MiB. The caller "
        "indicates that this is not a failure, but may mean that there could be performance gains.\nstep 9 loss 0.1\n"
    ),
}


SHORT_OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 7.92 GiB "
    "of which 10.00 MiB is free.\n"
)


@pytest.mark.parametrize("end", ["", "\r", "\n"], ids=["nothing", "a_return", "a_line_end"])
def test_words_of_progress_bars_before_an_error_are_no_leak(doctor: Doctor, tmp_path: Path, end: str) -> None:
    log = tmp_path / "job.log"
    bar = "Epoch 1:  50%|#####     | 500/1000 [00:10<00:10, 50.00it/s, loss=0.5]"
    log.write_text((bar + end) * 20 + " " + SHORT_OOM)
    done = doctor.look(str(log))
    assert done.exit_code == 1 and done.result["findings"][0]["label"] != "leak_growth", done.stdout


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_was_not_understood_is_unknown(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "job.log"
    log.write_text(UNKNOWN[name])
    done = doctor.look(str(log))
    assert done.exit_code == 1, done.stdout
    assert not done.stdout.startswith("[✓]"), done.stdout
    assert done.result["findings"][0]["label"] == "unknown"
    assert done.result["would_tell_more"]


# No rule knows the cause; known texts in such words may name it, and not as if they were sure.
PERHAPS = {
    "a_comparison_that_is_no_health": (
        "leak_growth",
        "At first the memory usage is at 12 of 16 GB, after some minutes it drops.\n"
        "So with larger pictures it blows up at once.\n",
    ),
    "an_error_that_supposes_memory": (
        "host_ram_oom",
        "Small images pass, large ones do not:\n\nRuntimeError: The workers are gone. Is there no message above? Then "
        "your RAM may have been full. Use fewer workers or get more RAM!\n",
    ),
    "a_question_that_others_ask": (
        "wrong_device",
        "With CUDA_VISIBLE_DEVICES set inside train.py\nit goes to card 0 all the same\n\n"
        "> before import torch?\n\nthx, that was the reason\n",
    ),
}


@pytest.mark.parametrize("name", PERHAPS)
def test_what_no_rule_knows_is_never_well(doctor: Doctor, tmp_path: Path, name: str) -> None:
    label, text = PERHAPS[name]
    log = tmp_path / "job.log"
    log.write_text(text)
    done = doctor.look(str(log))
    first = done.result["findings"][0]
    assert done.exit_code == 1 and first["label"] in ("unknown", label)
    assert first["confidence"] < 0.7 and done.result["would_tell_more"]


@pytest.mark.parametrize("name", NO_TROUBLE)
def test_what_is_no_matter_of_memory_is_told_so(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "job.log"
    log.write_text(NO_TROUBLE[name])
    done = doctor.look(str(log))
    assert done.exit_code == 0 and done.result["findings"] == [], done.stdout


def test_an_error_that_is_not_of_memory_is_named(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(NO_TROUBLE["another_error"])
    done = doctor.look(str(log))
    assert done.result["other_failure"] is True
    assert done.stdout.startswith("[–] No trouble with memory") and "shapes do not agree" in done.result["verdict"]


GOT_OVER = ("a_trainer_that_finds_its_batch", "a_search_for_the_batch", "a_second_try_that_went_well")


@pytest.mark.parametrize("name", GOT_OVER)
def test_an_error_that_was_got_over_is_told_as_such(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "job.log"
    log.write_text(NO_TROUBLE[name])
    verdict = doctor.look(str(log)).result["verdict"]
    line = 1 + next(at for at, text in enumerate(NO_TROUBLE[name].splitlines()) if "out of memory" in text)
    assert verdict.startswith("All well: memory ran out at ") and f"job.log:{line}, and the program got over" in verdict
    assert "nothing in what was read says that memory ran out" not in verdict


NOT_RUN = {
    "a_script": (
        "a program's source",
        "import torch\n\nlosses = []\nfor step in range(1000):\n    loss = torch.randn(8, device='cuda').mean()\n"
        "    losses.append(loss)\n    print(f'step {step} loss {loss.item():.3f}')\n",
    ),
    "a_script_with_texts_for_its_users": (
        "a program's source",
        '"""Trains.\n\nThe memory of the card goes up with each epoch, until it is killed: '
        "all predictions are kept on the GPU\n"
        'until the end of the validation, and a rare long sample needs more.\n"""\n'
        "import torch\n\nx = torch.ones(4, device='cuda')\nfor step in range(9):\n    print(x.sum().item())\n",
    ),
    "a_script_that_handles_errors": (
        "a program's source",
        "import torch\ntry:\n    y = x.cuda()\nexcept RuntimeError as error:\n    raise MemoryError(1) from error\n",
    ),
    "a_condition_over_lines": (
        "a program's source",
        "def is_ours(error):\n    return (\n        isinstance(error, RuntimeError)\n"
        '        and "out of memory" in error.args[0]\n    )\n',
    ),
    "a_list_of_messages": (
        "a program's source",
        "FATAL = [\n    'CUDA out of memory',\n    'CUBLAS_STATUS_ALLOC_FAILED',\n]\n\n\ndef is_fatal(text):\n"
        "    return any(word in text for word in FATAL)\n",
    ),
    "a_change_of_a_script": (
        "a program's source",
        "-    run(x)\n+    try:\n+        run(x)\n"
        "+    except MemoryError as error:\n+        raise RuntimeError(1) from error\n",
    ),
    "a_notebook": (
        "a notebook",
        '{\n "cells": [\n  {\n   "cell_type": "code",\n   "execution_count": null,\n'
        '   "metadata": {},\n   "outputs": [],\n'
        '   "source": [\n    "import torch\\n",\n    "x = torch.ones(4, device=\\"cuda\\")"\n   ]\n  }\n ],\n'
        ' "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n',
    ),
}


@pytest.mark.parametrize("file", ["notes.txt", "job.log", "code.ipynb"])
@pytest.mark.parametrize("name", NOT_RUN)
def test_source_is_not_well_before_it_ran_whatever_its_name(
    doctor: Doctor, tmp_path: Path, name: str, file: str
) -> None:
    what, text = NOT_RUN[name]
    (tmp_path / file).write_text(text)
    done = doctor.look(str(tmp_path / file))
    assert done.exit_code == 1 and done.result["findings"][0]["label"] == "unknown", done.stdout
    assert f"is {what}, and it was not run" in done.result["verdict"]
    assert "vramfit doctor --gpu CARD -- " in done.result["findings"][0]["fixes"][0]["command"]


def test_a_notebook_with_what_it_printed_was_run(doctor: Doctor, tmp_path: Path) -> None:
    printed = '"outputs": [{"name": "stdout", "output_type": "stream", "text": ["epoch 1 loss 0.5\\n"]}]'
    (tmp_path / "code.ipynb").write_text(NOT_RUN["a_notebook"][1].replace('"outputs": []', printed))
    assert "it was not run" not in doctor.look(str(tmp_path / "code.ipynb")).result["verdict"]


HEAPS = {
    "java": 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n\tat a.b.C.d(C.java:12)\n',
    "spark": "ERROR Executor: Exception in task 0.0\njava.lang.OutOfMemoryError: GC overhead limit exceeded\n",
    "node": "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n",
}


@pytest.mark.parametrize("name", HEAPS)
def test_a_heap_of_java_is_the_hosts_and_not_the_cards(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "job.log"
    log.write_text(HEAPS[name])
    done = doctor.look(str(log))
    first = done.result["findings"][0]
    assert first["label"] == "host_ram_oom" and first["confidence"] >= 0.8, done.stdout
    assert "Memory of the GPU" not in done.stdout and "heap" in first["title"]


KILLED = {
    "by_a_shell_in_polish": "$ python train.py\nEpoch 1: 12%\nUnicestwiony\n",
    "by_a_shell_in_spanish": "$ python train.py\nEpoch 1: 12%\nTerminado (killed)\n",
    "errno_12_in_french": "OSError: [Errno 12] Ne peut allouer de la mémoire\n",
    "by_htcondor": "Job was held.\n\tError from slot1@node: Docker job has gone over memory limit of 4096 Mb\n",
    "by_android": "step 2 loss 0.4\nlowmemorykiller: Kill 'org.demo' (12331), uid 10211 to free 2349812kB rss\n",
    "windows_by_its_number": "step 2 loss 0.4\nSTATUS_NO_MEMORY (0xC0000017)\n",
    "by_sge": "step 2 loss 0.4\njob 12345.1 died through signal KILL (9)\n",
    "by_make": "make: *** [Makefile:12: train] Killed\n",
    "by_slurm": "srun: error: node1: task 0: Killed\n",
    "by_a_shell_without_a_script": "line 3: 4242 Killed                  python train.py --epochs 10\n",
    "a_compiler": "c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
    "by_cargo": "Caused by: process didn't exit successfully: `rustc` (signal: 9, SIGKILL: kill)\n",
}


@pytest.mark.parametrize("name", KILLED)
def test_a_process_that_was_killed_is_the_hosts_memory(doctor: Doctor, tmp_path: Path, name: str) -> None:
    log = tmp_path / "job.log"
    log.write_text(KILLED[name])
    assert doctor.look(str(log)).result["findings"][0]["label"] == "host_ram_oom"


def test_a_second_try_that_fails_as_well_is_trouble(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    last = NO_TROUBLE["a_second_try_that_went_well"].replace("I main: model loaded\n", "")
    log.write_text(last + "I srv: again\n" * 8 + last.partition("W ")[0] + "E main: failed to load model\n")
    assert doctor.look(str(log)).exit_code == 1


def test_a_search_that_ended_in_the_error_is_trouble(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(f"Trying batch size 1\n{OOM}\n")
    assert doctor.look(str(log)).exit_code == 1


def test_an_error_at_the_end_of_a_line_without_end_is_found(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("x" * (5 << 20) + " " + OOM)
    done = doctor.look(str(log))
    assert done.result["findings"][0]["label"] == "capacity_exceeded", done.stdout


def test_a_file_that_could_not_be_read_beside_a_healthy_one_is_not_green(doctor: Doctor, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("epoch 1 loss 0.5\n")
    done = doctor.look(str(log), str(tmp_path / "nowhere.log"))
    assert done.exit_code == 1 and done.result["findings"][0]["label"] == "unknown"
