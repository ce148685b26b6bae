"""What vramfit serve tells: by plain requests, while others write the history."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from product import VRAMFIT, Product
from site_server import SiteServer, wait_for

GROWS = """
    import time, torch
    kept = []
    for i in range(4):
        kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
        time.sleep(0.3)
    open("grown", "w").close()
    while True:
        time.sleep(0.1)
"""


def import_runs(product: Product, text: str = "train.py:12 in main") -> None:
    from stored_runs import write_history

    history = product.folder / "history.json"
    write_history(history, text)
    assert product.call("runs", "--import", str(history)).exit_code == 0


def start_run(product: Product, text: str) -> subprocess.Popen[bytes]:
    script = product.script(text)
    return subprocess.Popen(
        [
            str(VRAMFIT),
            "run",
            "--gpu",
            "rtx3060",
            "--steps",
            "all",
            "--files",
            "shared",
            "--",
            sys.executable,
            str(script),
        ],
        cwd=product.folder,
        env=product.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_an_empty_history_is_a_page_that_says_so(site: SiteServer) -> None:
    answer = site.ask("/")
    assert answer.status == 200
    assert "No runs yet" in answer.body
    assert site.ask_json("/live.json")["running"] == []


def test_every_page_forbids_what_it_does_not_need(site: SiteServer, product: Product) -> None:
    import_runs(product)
    for path in ("/", "/runs/1", "/compare?n=1&n=2", "/live.json", "/assets/index.js", "/nothing"):
        headers = site.ask(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers
        assert "set-cookie" not in headers


def test_a_runs_page_is_its_report(site: SiteServer, product: Product) -> None:
    import_runs(product)
    written = product.call("report", "1", "-o", "-")
    shown = site.ask("/runs/1").body
    link = '<nav aria-label="History" class="history"><a href="/">All runs</a></nav>\n'
    assert link in shown
    assert shown.replace(link, "") == written.stdout


def test_the_list_is_filtered_by_all_words(site: SiteServer, product: Product) -> None:
    import_runs(product)
    assert site.ask("/?q=OUT+of+memory").body.count("<tr data-run") == 1
    assert site.ask("/?q=nowhere%20to%20be%20found").body.count("<tr data-run") == 0
    assert site.ask("/").body.count("<tr data-run") == 3


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/77", 404),
        ("/runs/", 404),
        ("/runs/-1", 404),
        ("/runs/1x", 404),
        ("/runs/99999999999999999999", 404),
        ("/compare", 400),
        ("/compare?n=x", 404),
        ("/compare?" + "&".join(f"n={i}" for i in range(60)), 400),
        ("/../../etc/passwd", 404),
        ("/runs/../../etc/passwd", 404),
        ("/assets/../../../etc/passwd", 404),
        ("/%2e%2e/%2e%2e/etc/passwd", 404),
        ("/assets/site.css%00.html", 404),
    ],
)
def test_what_is_not_there_is_said(site: SiteServer, product: Product, path: str, status: int) -> None:
    import_runs(product)
    answer = site.ask(path)
    assert answer.status == status
    assert "root:" not in answer.body


def test_a_run_that_goes_on_shows_its_memory_and_then_its_report(site: SiteServer, product: Product) -> None:
    run = start_run(product, GROWS)
    try:
        wait_for((product.folder / "grown").exists)
        live = wait_for(
            lambda: next((now for now in site.ask_json("/live.json")["running"] if now["used_bytes"]), None)
        )
        assert live["number"] == 1
        assert live["used_bytes"] >= 256 << 20

        def whole() -> dict[str, object] | None:
            cards = site.ask_json("/runs/1/live.json?after=0")["cards"]
            if cards and cards[0]["points"] and (cards[0]["points"][-1][2] or 0) >= 256 << 20:
                return dict(cards[0])
            return None

        card = wait_for(whole)
        used = [point[1] for point in card["points"]]
        assert len(set(used)) > 1, "it grew while we looked"
        assert used[-1] == card["used_bytes"] <= card["peak_bytes"] <= card["total_bytes"]
        last = card["points"][-1][0]
        later = site.ask_json(f"/runs/1/live.json?after={last}")["cards"][0]["points"]
        assert all(point[0] > last for point in later)
        assert "going on" in site.ask("/runs/1").body
        run.send_signal(signal.SIGINT)
        run.wait(timeout=60)
        assert site.ask_json("/runs/1/live.json")["state"] == "ended"
        assert "going on" not in site.ask("/runs/1").body
    finally:
        run.kill()
        run.wait()


def test_a_job_that_dies_is_lost_and_its_memory_is_remembered(site: SiteServer, product: Product) -> None:
    run = start_run(product, GROWS)
    try:
        wait_for((product.folder / "grown").exists)
        wait_for(lambda: site.ask_json("/runs/1/live.json")["cards"])
    finally:
        run.kill()  # vramfit itself: nobody is left to note an end
        run.wait()
    assert wait_for(lambda: site.ask_json("/runs/1/live.json")["state"] == "interrupted")
    card = wait_for(lambda: next((c for c in site.ask_json("/runs/1/live.json")["cards"] if not c["alive"]), None))
    assert card["peak_bytes"] >= 64 << 20
    assert "interrupted" in site.ask("/runs/1").body


def test_readers_and_a_writer_do_not_hold_each_other_up(site: SiteServer, product: Product) -> None:
    import_runs(product)

    def read(_: int) -> list[int]:
        return [site.ask(path).status for path in ("/", "/runs/1", "/live.json", "/compare?n=1&n=2") * 5]

    def write(turn: int) -> int:
        exported = json.loads((product.folder / "history.json").read_text())
        for i, run in enumerate(exported["runs"]):
            run["uuid"] = f"00000000-0000-4000-8000-{turn:06d}{i:06d}"
        file = product.folder / f"history-{turn}.json"
        file.write_text(json.dumps(exported))
        return product.call("runs", "--import", str(file)).exit_code

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, i) for i in range(2)]
        writers = [pool.submit(write, i + 1) for i in range(6)]
        assert all(code == 0 for code in (one.result() for one in writers))
        for reader in readers:
            assert set(reader.result()) == {200}
    assert site.ask("/").body.count("<tr data-run") == 3 + 6 * 3


def test_ctrl_c_ends_it_even_while_somebody_is_connected(site: SiteServer) -> None:
    with site.connect():
        assert site.stop() == 0
    with pytest.raises(ConnectionRefusedError):
        site.connect()


def test_a_port_that_is_taken_is_an_error_that_says_what_to_try(site: SiteServer, product: Product) -> None:
    finished = product.call("serve", "--port", str(site.port))
    assert finished.exit_code == 2
    assert str(site.port) in finished.stderr
    assert "--port 0" in finished.stderr


def test_other_addresses_than_this_machines_own_must_be_meant(product: Product) -> None:
    finished = product.call("serve", "--port", "0", "--address", "0.0.0.0")
    assert finished.exit_code == 2
    assert "reached from other machines" in finished.stderr
    assert "--anyone" in finished.stderr
    assert product.call("serve", "--address", "somewhere").exit_code == 2


def test_when_others_are_meant_it_warns_and_takes_its_own_addresses(product: Product) -> None:
    server = SiteServer(product, words=["--address", "0.0.0.0", "--anyone", "--no-token"])
    server.start()
    try:
        assert "warning" in (product.folder / "serve.txt").read_text()
        assert server.ask("/").status == 200
        assert server.ask("/", Host="10.1.2.3:80").status == 200
        assert server.ask("/", Host="rebound.example").status == 403
    finally:
        server.stop()


def test_who_comes_from_elsewhere_needs_the_address_that_is_printed(product: Product) -> None:
    server = SiteServer(product, words=["--address", "0.0.0.0", "--anyone"])
    server.start()
    try:
        told = (product.folder / "serve.txt").read_text()
        token = told.partition("?token=")[2].split()[0]
        assert server.ask("/").status in (401, 403)
        assert server.ask(f"/?token={token[:-1]}x").status in (401, 403)
        assert server.ask(f"/?token={token}").status in (200, 302, 303)
        assert server.ask(f"/?token={token}", Host="rebound.example").status == 403
    finally:
        server.stop()


def test_the_loopback_of_ipv6_works_too(product: Product) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    server = SiteServer(product, host="::1", words=["--address", "::1"])
    server.start()
    try:
        assert server.ask("/").status == 200
    finally:
        server.stop()


def test_a_history_that_cannot_be_opened_is_said_before_anything_listens(product: Product) -> None:
    (product.folder / "runs.db").write_text("this is no database, and long enough to be taken for one " * 50)
    finished = product.call("serve", "--port", "0")
    assert finished.exit_code == 2
    assert "runs.db" in finished.stderr


def test_it_leaves_no_process_and_no_descriptors_behind(site: SiteServer) -> None:
    assert site.process is not None
    descriptors = Path(f"/proc/{site.process.pid}/fd")
    site.ask("/")
    before = len(os.listdir(descriptors))
    for _ in range(50):
        site.ask("/")
        site.ask("/live.json")
    assert wait_for(lambda: len(os.listdir(descriptors)) <= before + 2)
