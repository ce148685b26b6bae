"""The local page in a real Chromium: by mouse and by keyboard, live, attacked from another site."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from product import ROOT, Product
from site_server import SiteServer, wait_for
from test_pages import GROWS, import_runs, start_run

sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "report"))
from chromium import SIZES

from tools.suite import node_packages

DRIVER = Path(__file__).with_name("drive.mjs")
Steps = list[list[Any]]
WIDTHS = sorted(width for _, width in SIZES)


def question(site: SiteServer, steps: Steps, **options: Any) -> str:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    return json.dumps({"address": site.address, "steps": steps, "chromium": chromium, **options})


def browse(site: SiteServer, steps: Steps, **options: Any) -> tuple[list[Any], list[str]]:
    """What each step told; what the page said in the console. It asks nobody but its own server."""
    done = subprocess.run(
        ["node", str(DRIVER), str(node_packages.folder())],
        input=question(site, steps, **options),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    assert seen["elsewhere"] == []
    return seen["answers"], seen["said"]


def start_browsing(site: SiteServer, steps: Steps) -> subprocess.Popen[str]:
    """The same, while the test goes on: screenshots tell how far it is."""
    watching = subprocess.Popen(
        ["node", str(DRIVER), str(node_packages.folder())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watching.stdin is not None
    watching.stdin.write(question(site, steps))
    watching.stdin.close()
    watching.stdin = None
    return watching


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_list_run_and_comparison_are_accessible_and_quiet(
    site: SiteServer, product: Product, scheme: str, width: int
) -> None:
    import_runs(product)
    picture = str(product.folder / "list.png")
    steps: Steps = [["open", "/"], ["wait", "th button"], ["axe"], ["sideways"], ["screenshot", picture]]
    for path in ("/runs/1", "/compare?n=1&n=2", "/runs/77"):
        steps += [["open", path], ["axe"], ["sideways"]]
    answers, said = browse(site, steps, scheme=scheme, width=width)
    assert answers[2] == []
    assert answers[3] <= 0, "the page itself does not scroll sideways"
    assert answers[5:7] + answers[8:10] + answers[11:13] == [200, [], 200, [], 404, []]
    assert [answers[at] for at in (7, 10, 13) if answers[at] > 0] == []
    assert [line for line in said if "404" not in line] == []


def test_the_list_is_filtered_and_sorted_at_once(site: SiteServer, product: Product) -> None:
    import_runs(product)
    steps: Steps = [
        ["open", "/"],
        ["rows"],
        ["press", "/"],
        ["type", "out of"],
        ["rows"],
        ["text", "output.count"],
        ["press", "Control+a"],
        ["press", "Delete"],
        ["click", "th button:text-is('run')"],
        ["click", "th button:text-is('run')"],
        ["rows"],
        ["attribute", "th[aria-sort]", "aria-sort"],
    ]
    steps[-1] = ["attribute", ["th[aria-sort]", "aria-sort"]]
    answers, said = browse(site, steps)
    assert answers[1] == ["3", "2", "1"]
    assert len(answers[4]) == 1
    assert answers[5] == "1 of 3 runs"
    assert answers[10] == ["1", "2", "3"]
    assert answers[11] == "ascending"
    assert said == []


def test_without_scripts_it_is_a_list_and_a_form(site: SiteServer, product: Product) -> None:
    import_runs(product)
    steps: Steps = [["open", "/"], ["click", "input[value='1']"], ["click", "input[value='2']"]]
    steps += [["click", "button.compare"], ["wait", "h1:has-text('2 runs')"], ["url"]]
    answers, _ = browse(site, steps, scripts=False)
    assert answers[5] == "/compare?n=2&n=1"


def test_runs_are_chosen_and_compared_by_keyboard(site: SiteServer, product: Product) -> None:
    import_runs(product)
    steps: Steps = [["open", "/"], ["wait", "th button"], ["press", "c"], ["text", "p.state"]]
    steps += [["press", "j"], ["focused"], ["press", "j"], ["focused"], ["press", "x"], ["press", "j"], ["press", "x"]]
    steps += [["press", "k"], ["focused"], ["count", "tbody input:checked"], ["press", "c"], ["wait", "h2"], ["url"]]
    steps += [["click", "nav.history a"], ["wait", "th button"], ["url"]]
    steps += [["press", "j"], ["press", "Enter"], ["wait", ".verdict"], ["url"]]
    answers, said = browse(site, steps)
    assert answers[5] == "3"
    assert answers[7] == "2"
    assert answers[12] == "2"
    assert answers[13] == 2
    assert answers[16] == "/compare?n=2&n=1"
    assert answers[19] == "/"
    assert answers[23] == "/runs/3"
    assert said == []


def test_what_a_script_says_stays_text_on_the_list_too(site: SiteServer, product: Product) -> None:
    from stored_runs import HOSTILE

    import_runs(product, HOSTILE)
    steps: Steps = [
        ["open", "/"],
        ["wait", "th button"],
        ["axe"],
        ["open", f"/?q={'<script>alert(1)</script>'}"],
        ["axe"],
    ]
    answers, said = browse(site, steps)
    assert said == []
    assert answers[2] == answers[4] == []


def test_a_run_that_begins_appears_grows_and_becomes_its_report(site: SiteServer, product: Product) -> None:
    import_runs(product)
    listed, picture = product.folder / "listed.png", product.folder / "live.png"
    steps: Steps = [["open", "/"], ["rows"], ["screenshot", str(listed)]]
    steps += [["wait", "tr[data-run='4'][data-state=running]"], ["wait_text", ["tr[data-run='4'] .peak", "now"]]]
    steps += [["text", "p.state"], ["open", "/runs/4"], ["wait_text", [".live-numbers", "PyTorch: 256 MiB allocated"]]]
    steps += [["axe"], ["count", "path.allocated"], ["text", ".live-state"]]
    for width in WIDTHS:
        steps += [["resize", width], ["sideways"], ["cut", "main *"], ["axe"]]
    steps += [["screenshot", str(picture)], ["wait", "h2"], ["text", "nav.history"]]
    watching = start_browsing(site, steps)
    run = None
    try:
        wait_for(lambda: listed.exists() or watching.poll() is not None)
        run = start_run(product, GROWS)
        wait_for(lambda: picture.exists() or watching.poll() is not None)
        run.terminate()
        run.wait(timeout=60)
        out, errors = watching.communicate(timeout=120)
    finally:
        watching.kill()
        if run is not None:
            run.kill()
            run.wait()
    assert watching.returncode == 0, errors[-3000:]
    seen = json.loads(out)
    answers = seen["answers"]
    assert answers[1] == ["3", "2", "1"]
    assert answers[5] == "1 running"
    assert answers[8] == []
    assert answers[9] == 1
    assert answers[10] == "running"
    for i, width in enumerate(WIDTHS):
        sideways, cut, unfit = answers[12 + 4 * i : 15 + 4 * i]
        assert sideways <= 0 and cut == unfit == [], (width, sideways, cut, unfit)
    assert answers[-1] == "All runs"
    assert seen["said"] == []


def test_a_dead_job_and_a_dead_server_are_told_and_the_server_may_come_back(site: SiteServer, product: Product) -> None:
    going, lost, back = (product.folder / name for name in ("going.png", "lost.png", "back.png"))
    steps: Steps = [["open", "/runs/1"], ["wait", "path.allocated"], ["screenshot", str(going)]]
    steps += [["wait_text", [".live-state", "connection lost"]], ["screenshot", str(lost)]]
    steps += [["wait_text", [".live-state", "running"]], ["screenshot", str(back)]]
    steps += [["wait_text", [".live-state", "lost: the job died"]], ["count", "path.allocated"], ["axe"]]
    run = start_run(product, GROWS)
    watching = None
    try:
        wait_for((product.folder / "grown").exists)
        watching = start_browsing(site, steps)
        wait_for(lambda: going.exists() or watching.poll() is not None)
        site.stop()
        wait_for(lambda: lost.exists() or watching.poll() is not None)
        site.start()  # on the same port
        wait_for(lambda: back.exists() or watching.poll() is not None)
        run.kill()
        run.wait()
        out, errors = watching.communicate(timeout=120)
    finally:
        run.kill()
        run.wait()
        if watching is not None:
            watching.kill()
    assert watching.returncode == 0, errors[-3000:]
    answers = json.loads(out)["answers"]
    assert answers[8] == 1
    assert answers[9] == []


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """Another site, on another port of this machine."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>elsewhere</title><link rel=icon href=data:,>")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_another_site_in_the_same_browser_reads_nothing(site: SiteServer, product: Product, elsewhere: str) -> None:
    import_runs(product)
    steps: Steps = [["open", "/"], ["fetch", f"{site.address}/live.json"], ["fetch", f"{site.address}/runs/1"]]
    done = subprocess.run(
        ["node", str(DRIVER), str(node_packages.folder())],
        input=json.dumps({**json.loads(question(site, steps)), "address": elsewhere}),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers = json.loads(done.stdout)["answers"]
    assert answers[0] == 200
    assert answers[1].startswith("refused:")
    assert answers[2].startswith("refused:")
