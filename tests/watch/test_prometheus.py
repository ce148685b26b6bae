"""The exporter, read by promtool and scraped by the real Prometheus."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import GIB, Machine
from product import wait_for

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None, reason="Prometheus is not installed"
)


def fetch(url: str, method: str = "GET") -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=30) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def start(machine: Machine, *words: str) -> str:
    machine.start("--headless", "--interval", "100ms", "--prometheus", "127.0.0.1:0", *words)
    url = wait_for(lambda: re.search(r"http://\S+/metrics", machine.errors))[0]
    wait_for(lambda: fetch(url)[0] == 200)
    return str(url)


def test_metrics_are_good_and_absent_is_not_zero(machine: Machine, own_pid: int) -> None:
    machine.script(f"0 process {own_pid} {GIB}", "1 denied", "0 power 341500")
    url = start(machine)
    _, text = fetch(url)
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    assert re.search(r'^vramfit_gpu_power_watts\{uuid="GPU-.*"\} 341.5$', text, re.M)
    assert "vramfit_gpu_ecc_corrected" not in text
    assert text.count("\nvramfit_gpu_unexplained_bytes{") == 1
    assert "vramfit_process" not in text
    assert fetch(url.replace("/metrics", "/other"))[0] == 404
    assert fetch(url, "POST")[0] == 405


def test_processes_are_metrics_when_asked_for(machine: Machine, own_pid: int) -> None:
    machine.script(f"0 process {own_pid} {GIB}")
    _, text = fetch(start(machine, "--per-process"))
    assert re.search(rf'^vramfit_process_gpu_used_bytes\{{.*pid="{own_pid}".*\}} {GIB}$', text, re.M)
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_only_this_machine_may_ask_unless_told_otherwise(machine: Machine) -> None:
    machine.start("--headless", "--prometheus")
    said = wait_for(lambda: machine.errors)
    assert "127.0.0.1:9836" in said


@pytest.fixture
def prometheus(machine: Machine, tmp_path: Path) -> Iterator[str]:
    target = start(machine).removeprefix("http://").removesuffix("/metrics")
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        f"scrape_configs: [{{job_name: vramfit, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    subprocess.run(["promtool", "check", "config", str(config)], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}", f"--web.listen-address={address}"]
    with (tmp_path / "prometheus.log").open("wb") as log:
        server = subprocess.Popen(["prometheus", *words], stdout=log, stderr=log)
    yield f"http://{address}"
    server.terminate()
    server.wait()


def test_the_real_prometheus_scrapes_it(machine: Machine, prometheus: str, own_pid: int) -> None:
    def ask(query: str) -> list[dict[str, object]]:
        try:
            _, text = fetch(f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': query})}")
            return list(json.loads(text)["data"]["result"])
        except (OSError, ValueError, KeyError):
            return []

    machine.script(f"0 process {own_pid} {3 * GIB}")
    wait_for(lambda: any(one["value"][1] == str(3 * GIB) for one in ask("vramfit_gpu_used_bytes")), 60)  # type: ignore[index]
    assert len(ask("vramfit_gpu_total_bytes")) == 2
    assert ask("up")[0]["value"][1] == "1"  # type: ignore[index]
    machine.script("0 lost")
    wait_for(lambda: len(ask("vramfit_gpu_used_bytes")) == 1 and len(ask("vramfit_gpu_up == 0")) == 1, 60)
