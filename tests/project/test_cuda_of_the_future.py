"""A made-up CUDA 14 and the torch 2.16 that is built for it: what their entries lack is named, and complete ones do.

It is CMake's own step that is run (cmake/platforms.cmake), in a copy of what it reads; the tools that CONTRIBUTING.md
names make what is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from product import STAGE

COPIED = ("platforms.json", "pyproject.toml", "cmake", "abi/symbols", "tools/cuda_facts", "tools/cuda_entries.py")
COPIED_TOOLS = ("tools/record_abi", "tools/fetch_cuda_headers")
HEADERS = "nvidia-cuda-runtime-cu14"
SEGMENT_ALLOC, SEGMENT_FREE = 3, 4  # enum vf_record_kind
# What the libraries of the made-up CUDA call themselves, where that has moved with the major before.
SONAMES = {
    "cublas": "libcublas.so.14",
    "cublaslt": "libcublasLt.so.14",
    "cudart": "libcudart.so.14",
    "cufft": "libcufft.so.13",
    "cupti": "libcupti.so.14",
    "cusolver": "libcusolver.so.13",
    "nvrtc": "libnvrtc.so.14",
}


@dataclass
class Sources:
    """A copy of what CMake's step reads."""

    root: Path

    @property
    def generated(self) -> Path:
        return self.root / "generated"

    def change(self, change: Callable[[dict[str, Any]], None]) -> None:
        path = self.root / "platforms.json"
        known = json.loads(path.read_text(encoding="utf-8"))
        change(known)
        path.write_text(json.dumps(known), encoding="utf-8")

    def configure(self) -> subprocess.CompletedProcess[str]:
        command = ["cmake", f"-DPython3_EXECUTABLE={sys.executable}", f"-DVRAMFIT_GENERATED={self.generated}"]
        return subprocess.run(
            [*command, "-P", "cmake/platforms.cmake"], cwd=self.root, capture_output=True, text=True, check=False
        )

    def missing(self) -> list[str]:
        """What CMake says is missing. It must fail over it."""
        done = self.configure()
        assert done.returncode != 0, done.stdout + done.stderr
        assert "platforms.json is not complete" in done.stderr, done.stderr
        assert not (self.generated / "cu14").exists()
        text = re.sub(r"\s+", " ", done.stderr.split("Missing:")[1].split("Call Stack")[0])
        return [row.strip() for row in text.split(" - ") if row.strip()]

    def record_abi(self, *words: str | Path) -> None:
        command = [sys.executable, self.root / "tools" / "record_abi", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def add_torch(self) -> None:
        def change(known: dict[str, Any]) -> None:
            known["torch"].insert(0, {**known["torch"][0], "version": "2.16.0", "cuda": "14.0"})

        self.change(change)

    def add_cuda(self, without: str = "") -> None:
        """An entry with a figure for everything that CUDA 13 has one for, or all but one."""

        def change(known: dict[str, Any]) -> None:
            answers = {name: "14.7.3" for name in known["cuda"][-1]["answers"] if name != without}
            answers["cupti_api"] = 140000
            known["cuda"].append({"major": 14, "headers": HEADERS, "answers": answers})

        self.change(change)

    def add_driver(self) -> None:
        self.change(lambda known: known["drivers"].update({"14.0": "700.10.01"}))

    def add_headers(self) -> None:
        path = self.root / "pyproject.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("requires = [\n", f'requires = [\n  "{HEADERS}==14.0.1",\n', 1), encoding="utf-8")

    def add_tables(self) -> None:
        self.record_abi("--begin", "14")

    def add_sonames(self) -> None:
        """Adds SONAMEs as NVIDIA's wheels for that CUDA tell them: here of libraries that are empty."""
        packages = []
        for name, soname in SONAMES.items():
            packages.append(self.root / "wheels" / f"nvidia_{name}")
            packages[-1].mkdir(parents=True)
            (self.root / "wheels" / f"nvidia_{name}-14.0.1.dist-info").mkdir()
            command = ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-x", "c", "-", "-o", packages[-1] / soname]
            subprocess.run(command, input="", text=True, check=True)
        self.record_abi("--exports", "--major", "14", *packages)


@pytest.fixture
def sources(root: Path, tmp_path: Path) -> Sources:
    for name in (*COPIED, *COPIED_TOOLS):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (root / name).is_dir():
            shutil.copytree(root / name, target)
        else:
            shutil.copy(root / name, target)
    return Sources(tmp_path)


def test_what_is_known_is_complete(sources: Sources) -> None:
    done = sources.configure()
    assert done.returncode == 0, done.stderr
    known = json.loads((sources.root / "platforms.json").read_text(encoding="utf-8"))
    made = {path.name for path in sources.generated.glob("cu*") if path.is_dir()}
    assert made == {f"cu{entry['major']}" for entry in known["cuda"]}


def test_a_torch_for_an_unknown_cuda_is_not_built_as_if_it_were_for_the_last_one(sources: Sources) -> None:
    sources.add_torch()
    assert sources.missing() == [
        "platforms.json, cuda: an entry of CUDA 14.0, for torch 2.16.0",
        "platforms.json, drivers: that of CUDA 14.0, for torch 2.16.0",
    ]


def test_the_checklist_of_a_cuda_gets_shorter_until_it_is_done(sources: Sources) -> None:
    """In the order of CONTRIBUTING.md, "Add a CUDA"."""
    sources.add_torch()
    sources.add_cuda()
    left = sources.missing()
    tables = [row for row in left if row.startswith("abi/symbols/")]
    libraries = {path.name.split(".")[0] for path in (sources.root / "abi" / "symbols").glob("*.txt")}
    assert tables == [f"abi/symbols/{name}.cu14.txt (tools/record_abi --begin 14)" for name in sorted(libraries)]
    assert [row for row in left if row not in tables] == [
        f'pyproject.toml, build-system.requires: "{HEADERS}==VERSION" for CUDA 14',
        "platforms.json, drivers: one of CUDA 14",
        "platforms.json, drivers: that of CUDA 14.0, for torch 2.16.0",
    ]
    sources.add_driver()
    sources.add_headers()
    sources.add_tables()
    assert sources.missing() == [
        f"abi/symbols/{name}.cu14.txt: %soname (tools/record_abi --exports --major 14 WHEEL)"
        for name in sorted(SONAMES)
    ]
    sources.add_sonames()
    done = sources.configure()
    assert done.returncode == 0, done.stderr
    cmake = (sources.generated / "cuda.cmake").read_text(encoding="utf-8")
    assert "set(VRAMFIT_CUDA_MAJORS 12 13 14)" in cmake and "set(VRAMFIT_NEWEST_CUDA 14)" in cmake
    assert 'set(VRAMFIT_SONAME_cufft_14 "libcufft.so.13")\nset(VRAMFIT_NODE_cufft_14 "libcufft.so.13")' in cmake
    assert 'set(VRAMFIT_SONAME_driver_14 "libcuda.so.1")\nset(VRAMFIT_NODE_driver_14 "")' in cmake
    assert 'set(VRAMFIT_SONAME_cufft_13 "libcufft.so.12")' in cmake, "as before"


def finish(sources: Sources, without: str = "") -> None:
    sources.add_cuda(without)
    sources.add_driver()
    sources.add_headers()
    sources.add_tables()
    sources.add_sonames()


def test_a_figure_that_an_entry_lacks_is_named_and_not_taken_from_another(sources: Sources) -> None:
    finish(sources, without="cusparselt")
    assert sources.missing() == ["platforms.json, cuda 14: answers.cusparselt"]


def test_a_figure_that_is_no_version_is_named(sources: Sources) -> None:
    sources.change(lambda known: known["cuda"][-1]["answers"].update(nccl="the newest"))
    assert sources.missing() == ["platforms.json, cuda 13: answers.nccl as a version, not 'the newest'"]


def test_the_stand_ins_of_each_cuda_see_its_own_figures(sources: Sources) -> None:
    """Compiled as they are: a source that takes what none of its major's facts has does not compile."""
    finish(sources)
    assert sources.configure().returncode == 0
    program = '#include <cstdio>\n#include "cuda_facts.h"\nint main() { using namespace vramfit::cuda; std::printf('
    program += '"%d %d.%d.%d.%d %d %s", kMajor, kNccl[0], kNccl[1], kNccl[2], kNccl[3], kCuptiApi, kCublasltSoname); }'
    said = {}
    for major in (12, 13, 14):
        built = sources.root / f"asks{major}"
        command = ["g++", "-std=c++17", "-I", sources.generated / f"cu{major}", "-x", "c++", "-", "-o", built]
        subprocess.run(command, input=program, text=True, check=True)
        said[major] = subprocess.run([built], capture_output=True, text=True, check=True).stdout
    assert said == {
        12: "12 2.21.5.0 22 libcublasLt.so.12",
        13: "13 2.29.7.0 130000 libcublasLt.so.13",
        14: "14 14.7.3.0 140000 libcublasLt.so.14",
    }


def test_no_source_chooses_by_the_number_of_a_cuda(root: Path) -> None:
    """A choice between two majors gives a third one the figures of either. What differs stands in platforms.json."""
    sources = [path for room in ("virtual_gpu", "abi", "src", "recorder") for path in (root / room).rglob("*")]
    chooses = re.compile(
        r"CUDA_MAJOR\b|cuda_major\w*\s*[=!<>]=?\s*\d\d\b\s*[?)]|foreach\(major \d\d|cuda::kMajor\s*[=!<>]"
    )
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in sources
        if path.suffix in (".cc", ".h", ".cmake", ".txt") and "symbols" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if chooses.search(line)
    ]
    assert found == []


CUDART = """
#include <stdlib.h>
int cudaMalloc(void** p, size_t bytes) { *p = malloc(bytes); return 0; }
int cudaFree(void* p) { free(p); return 0; }
int cudaGetDevice(int* device) { *device = 0; return 0; }
int cudaMemGetInfo(size_t* left, size_t* all) { *left = 1 << 20; *all = 1 << 21; return 0; }
"""
ALLOCATES = """
#include <stddef.h>
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int main(void) { void* p = 0; return cudaMalloc(&p, 4096) || !p || cudaFree(p); }
"""


@pytest.mark.parametrize("soname", ["libcudart.so.14", "libcudart-d0da41ae.so.11.0"])
def test_a_real_card_gives_memory_by_a_runtime_of_any_name(tmp_path: Path, soname: str) -> None:
    (tmp_path / "cudart.c").write_text(CUDART)
    (tmp_path / "allocates.c").write_text(ALLOCATES)
    gcc = ["gcc", f"-Wl,-rpath,{tmp_path}", "-o"]
    subprocess.run([*gcc, soname, "-shared", "-fPIC", f"-Wl,-soname,{soname}", "cudart.c"], cwd=tmp_path, check=True)
    subprocess.run([*gcc, "allocates", "allocates.c", f"./{soname}"], cwd=tmp_path, check=True)
    preloaded = [str(STAGE / "lib" / name) for name in ("libvramfit_recorder.so", "libvramfit_real.so")]
    recorded = tmp_path / "run"
    recorded.mkdir()
    variables = {"LD_PRELOAD": " ".join(preloaded), "VRAMFIT_RUN_DIR": str(recorded)}
    subprocess.run([tmp_path / "allocates"], env=os.environ | variables, check=True)
    (records,) = recorded.glob("recording.*.vfr")
    kinds = records.read_bytes()[64::64]
    assert [kind for kind in kinds if kind] == [SEGMENT_ALLOC, SEGMENT_FREE]
