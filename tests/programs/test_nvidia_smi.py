"""NVIDIA's own nvidia-smi, as Debian packs it, on a virtual card: it asks NVML for more than any header names."""

from __future__ import annotations

import lzma
import subprocess
import urllib.request
import xml.etree.ElementTree
from pathlib import Path

import pytest
from product import Product

DEBIAN = "http://deb.debian.org/debian"

ASKING = """
    import subprocess, sys
    import torch

    block = torch.empty(1 << 28, device="cuda")  # 1 GiB
    subprocess.run(sys.argv[1:], check=True)
"""


def fetch(release: str, folder: Path) -> Path:
    """The program of a Debian release, unpacked; nothing is installed."""
    with urllib.request.urlopen(f"{DEBIAN}/dists/{release}/non-free/binary-amd64/Packages.xz", timeout=60) as listed:
        packages = lzma.decompress(listed.read()).decode()
    entry = next(one for one in packages.split("\n\n") if one.startswith("Package: nvidia-smi\n"))
    path = next(line.split()[1] for line in entry.splitlines() if line.startswith("Filename:"))
    package = folder / "nvidia-smi.deb"
    with urllib.request.urlopen(f"{DEBIAN}/{path}", timeout=60) as answer:
        package.write_bytes(answer.read())
    subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    return folder / "usr" / "lib" / "nvidia" / "current" / "nvidia-smi"


@pytest.mark.every_version
@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_it_sees_the_card_and_who_holds_it(product: Product, tmp_path: Path, release: str) -> None:
    program = str(fetch(release, tmp_path))
    script = product.script(ASKING)

    def ask(*words: str) -> str:
        done = product.run(script, program, *words, gpu="rtx3090")
        assert done.exit_code == 0, str(done)
        assert done.result["not_modelled"] == [], words
        return done.stdout

    table = ask()
    assert "NVIDIA GeForce RTX 3090" in table and "Processes:" in table and "/python" in table
    rows = [line.split() for line in table.splitlines() if "/python" in line]
    assert len(rows) == 1 and int(rows[0][-2].removesuffix("MiB")) > 1024, "one process, with what it holds"

    card = xml.etree.ElementTree.fromstring(ask("-q", "-x")).find("gpu")
    assert card is not None
    used = card.findtext("fb_memory_usage/used") or ""
    assert int(used.removesuffix(" MiB")) > 1024
    assert card.findtext("product_name") == "NVIDIA GeForce RTX 3090"
    assert [one.findtext("type") for one in card.iterfind("processes/process_info")] == ["C"]

    apps = ask("--query-compute-apps=used_memory", "--format=csv,noheader,nounits").split()
    assert len(apps) == 1 and int(apps[0]) > 1024
    assert ask("-L").startswith("GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-")
    assert "GPU0" in ask("topo", "-m")
