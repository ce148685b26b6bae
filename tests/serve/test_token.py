"""Who has no token is told nothing, whatever the page: the list, a run, what goes on as JSON, the page's own files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from listed_runs import import_listed_runs
from product import Product
from site_server import SiteServer

PAGES = {
    "/": 200,
    "/live.json": 200,
    "/runs/1": 200,
    "/runs/1/live.json": 200,
    "/compare?n=1&n=2": 200,
    "/assets/site.css": 200,
    "/metrics": 404,  # those are of `vramfit watch --prometheus`
    "/nothing": 404,
}
# Processes of its own, one of them another person's, who reaches a page on loopback as the user does.
WITH_ANOTHER_PERSON = [
    *("unshare", "--pid", "--mount-proc", "--fork", "--kill-child"),
    *("sh", "-c", 'setpriv --reuid=1001 --clear-groups sleep 600 & exec "$@"', "sh"),
]
ALONE = ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child"]


def token_of(server: SiteServer) -> str:
    told = (server.product.folder / "serve.txt").read_text()
    _, asks, behind = told.partition("?token=")
    return behind.split()[0] if asks else ""


@pytest.fixture
def guarded(product: Product) -> Iterator[SiteServer]:
    import_listed_runs(product, 2)
    server = SiteServer(product, words=["--token"])
    server.start()
    yield server
    server.stop()


def test_each_page_wants_the_token(guarded: SiteServer) -> None:
    token = token_of(guarded)
    assert len(token) >= 32
    given = guarded.ask(f"/?token={token}")
    assert given.status == 200
    cookie = given.headers["set-cookie"].split(";")[0]
    for page, status in PAGES.items():
        for answer in (guarded.ask(page), guarded.ask(page, Cookie=cookie[:-1] + "x")):
            assert answer.status == 403, page
            assert "token" in answer.body and "train.py" not in answer.body, page
            assert "set-cookie" not in answer.headers, page
        assert guarded.ask(page, Cookie=cookie).status == status, page
        assert guarded.ask(page, method="HEAD").status == 403, page


def test_the_token_is_another_each_time(product: Product) -> None:
    tokens = []
    for _ in range(2):
        server = SiteServer(product, words=["--token"])
        server.start()
        tokens.append(token_of(server))
        server.stop()
    assert tokens[0] != tokens[1]


@pytest.mark.parametrize(
    ("before", "words", "asks"),
    [
        (WITH_ANOTHER_PERSON, [], True),
        (WITH_ANOTHER_PERSON, ["--no-token"], False),
        (ALONE, [], False),
    ],
    ids=["another_person", "no_token_is_meant", "alone"],
)
def test_it_is_asked_for_where_others_use_the_machine(
    product: Product, before: list[str], words: list[str], asks: bool
) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None:
        pytest.skip("another person's process needs the rights to start one")
    server = SiteServer(product, words=words, before=before)
    server.start()
    try:
        assert (token_of(server) != "") == asks
        assert server.ask("/live.json").status == (403 if asks else 200)
        assert server.ask(f"/live.json?token={token_of(server)}").status == 200
    finally:
        assert server.process is not None
        server.process.kill()
        server.process.wait()
