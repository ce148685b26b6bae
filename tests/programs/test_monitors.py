"""Everything that asks how full a card is gives one answer on a virtual card: NVML's bindings, the monitors that people
call from their scripts, torch.cuda and nvidia-smi."""

from __future__ import annotations

import json

import pytest
from product import Product

ASKING = """
    import json, subprocess
    import torch

    block = torch.empty(1 << 28, device="cuda")  # 1 GiB
    told = {}

    import pynvml
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    (own,) = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    told["pynvml"] = [memory.used >> 20, memory.total >> 20, own.usedGpuMemory >> 20]

    import py3nvml.py3nvml as older
    older.nvmlInit()
    memory = older.nvmlDeviceGetMemoryInfo(older.nvmlDeviceGetHandleByIndex(0))
    told["py3nvml"] = [memory.used >> 20, memory.total >> 20]

    import GPUtil
    (card,) = GPUtil.getGPUs()
    told["GPUtil"] = [int(card.memoryUsed), int(card.memoryTotal)]
    told["busy"] = [torch.cuda.utilization(), int(card.load * 100), pynvml.nvmlDeviceGetUtilizationRates(handle).gpu]
    told["celsius"] = [torch.cuda.temperature(), int(card.temperature)]

    import gpustat
    entry = gpustat.new_query().gpus[0].entry
    told["gpustat"] = [entry["memory.used"], entry["memory.total"]]
    told["milliwatts"] = [torch.cuda.power_draw(), 1000 * entry["power.draw"]]

    import nvitop
    device = nvitop.Device(0)
    told["nvitop"] = [device.memory_used() >> 20, device.memory_total() >> 20]

    def smi(*words):
        return subprocess.run(["nvidia-smi", *words], capture_output=True, text=True, check=True).stdout

    query = smi("--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits")
    told["nvidia-smi"] = [int(one) for one in query.split(",")]
    apps = smi("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
    told["apps"] = [int(one) for one in apps.split(",")]
    told["pid"] = own.pid
    told["list"] = smi("-L")
    print(json.dumps(told))
"""


@pytest.mark.every_version
def test_all_that_ask_are_told_the_same(product: Product) -> None:
    run = product.run(ASKING, gpu="rtx3090")
    assert run.exit_code == 0, run
    told = json.loads(run.stdout.splitlines()[-1])
    used, total, own = told["pynvml"]
    assert 1024 <= own == used < total
    for who in ("py3nvml", "GPUtil", "gpustat", "nvitop", "nvidia-smi"):
        assert told[who] == [used, total], (who, told)
    assert told["apps"] == [told["pid"], own]
    assert len(set(told["busy"])) == len(set(told["celsius"])) == len(set(told["milliwatts"])) == 1, told
    assert "NVIDIA GeForce RTX 3090 (UUID: GPU-" in told["list"]
    assert run.result["not_modelled"] == []


ASKING_OF_AN_INSTANCE = """
    import json, subprocess
    import torch
    import pynvml

    block = torch.empty(1 << 28, device="cuda")  # 1 GiB
    pynvml.nvmlInit()
    whole = pynvml.nvmlDeviceGetHandleByIndex(0)
    instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(whole, 0)
    (own,) = pynvml.nvmlDeviceGetComputeRunningProcesses(instance)
    fields = pynvml.nvmlDeviceGetFieldValues(
        whole,
        [pynvml.NVML_FI_DEV_POWER_CURRENT_LIMIT, pynvml.NVML_FI_DEV_REMAPPED_UNC, pynvml.NVML_FI_DEV_MEMORY_TEMP, 9],
    )
    print(json.dumps({
        "torch": [torch.cuda.get_device_name(), str(torch.cuda.get_device_properties(0).uuid)],
        "whole": [pynvml.nvmlDeviceGetName(whole), pynvml.nvmlDeviceGetMemoryInfo(whole).total >> 20],
        "instance": [pynvml.nvmlDeviceGetName(instance), pynvml.nvmlDeviceGetUUID(instance)],
        "memory": [pynvml.nvmlDeviceGetMemoryInfo(instance).total, torch.cuda.mem_get_info()[1]],
        "own": [own.usedGpuMemory, pynvml.nvmlDeviceGetMemoryInfo(instance).used, own.gpuInstanceId],
        "fields": [(one.nvmlReturn, one.value.uiVal) for one in fields],
        "list": subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout,
        "table": subprocess.run(["nvidia-smi"], capture_output=True, text=True).stdout,
    }))
"""


def test_an_instance_is_a_part_of_a_card_to_all_that_ask(product: Product) -> None:
    run = product.run(ASKING_OF_AN_INSTANCE, gpu="h100:2g.20gb")
    assert run.exit_code == 0, run
    told = json.loads(run.stdout.splitlines()[-1])
    name, uuid = told["torch"]
    assert told["whole"] == ["NVIDIA H100 80GB HBM3", 80997]
    assert name == "NVIDIA H100 80GB HBM3 MIG 2g.20gb" and told["instance"] == [name, f"MIG-{uuid}"]
    assert len(set(told["memory"])) == 1 and told["memory"][0] < 21 << 30
    used, on_instance, gpu_instance = told["own"]
    assert 1 << 30 <= used == on_instance and gpu_instance == 1
    not_supported = 3
    assert told["fields"] == [[0, 700_000], [0, 0], [0, 30], [not_supported, 0]]
    assert f"  MIG 2g.20gb     Device  0: (UUID: MIG-{uuid})" in told["list"].splitlines()
    assert "| MIG devices:" in told["table"]
    assert all(len(line) == 91 for line in told["table"].splitlines() if line.startswith(("|", "+")))
    assert run.result["not_modelled"] == []
