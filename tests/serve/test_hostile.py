"""Requests that no browser of this machine would make, over raw sockets."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from site_server import SiteServer, wait_for


def status_of(answer: bytes) -> int:
    """0: no answer."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def request(site: SiteServer, *lines: str, method: str = "GET", path: str = "/", host: str | None = None) -> bytes:
    named = host if host is not None else f"127.0.0.1:{site.port}"
    head = [f"{method} {path} HTTP/1.1", f"Host: {named}", "Connection: close", *lines, "", ""]
    return site.talk("\r\n".join(head).encode())


def test_the_plain_request_works(site: SiteServer) -> None:
    assert status_of(request(site)) == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_nothing_but_reading_is_answered(site: SiteServer, method: str) -> None:
    answer = request(site, "Content-Length: 0", method=method)
    assert status_of(answer) == 405
    assert b"access-control" not in answer.lower()


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "192.168.0.1", "localhost.evil.example", "[::1"]
)
def test_a_name_that_was_made_to_lead_here_is_refused(site: SiteServer, host: str) -> None:
    for path in ("/", "/live.json", "/runs/1", "/assets/site.css"):
        assert status_of(request(site, host=host, path=path)) in (400, 403)


def test_two_hosts_or_none_are_refused(site: SiteServer) -> None:
    assert status_of(site.talk(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")) in (400, 403)
    answer = request(site, "Host: evil.example")
    assert b"<table" not in answer


@pytest.mark.parametrize(
    "lines",
    [
        ["Origin: http://evil.example"],
        ["Origin: null"],
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
        ["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"],
    ],
)
def test_another_sites_page_reads_nothing(site: SiteServer, lines: list[str]) -> None:
    answer = request(site, *lines, path="/live.json")
    assert status_of(answer) == 403
    assert b"stamp" not in answer


def test_a_huge_header_is_refused(site: SiteServer) -> None:
    assert status_of(request(site, "X: " + "a" * 200_000)) in (0, 431)
    assert status_of(request(site, path="/" + "a" * 200_000)) in (0, 414, 431)
    assert status_of(request(site, *[f"X-{i}: {i}" for i in range(20_000)])) in (0, 431)
    assert status_of(request(site)) == 200


def test_a_huge_body_is_not_read(site: SiteServer) -> None:
    assert status_of(request(site, "Content-Length: 999999999999", method="POST")) in (0, 405, 413)
    assert status_of(request(site)) == 200


@pytest.mark.parametrize(
    "text",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00" * 5000,
        b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nzz\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET /runs/1\r\nX: y HTTP/1.1\r\n\r\n",
        "GET /\u202e HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode(),
    ],
)
def test_what_is_no_request_ends_the_connection_only(site: SiteServer, text: bytes) -> None:
    assert status_of(site.talk(text)) in (0, 400, 404, 405, 413)
    assert status_of(request(site)) == 200


def test_slow_senders_hold_nobody_up(site: SiteServer) -> None:
    """Twenty who send a byte now and then, among them readers who get their page at once."""
    slow = [site.connect() for _ in range(20)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    for turn in range(5):
        for connection in slow:
            connection.sendall(f"X-{turn}: y\r\n".encode())
        assert status_of(request(site)) == 200

    def is_ended(connection: socket.socket) -> bool:
        try:
            connection.sendall(b"X: y\r\n")
            return False
        except OSError:
            return True

    wait_for(lambda: all(is_ended(connection) for connection in slow))
    for connection in slow:
        connection.close()


def test_more_connections_than_it_keeps_do_not_end_it(site: SiteServer) -> None:
    many = [site.connect() for _ in range(400)]
    for connection in many:
        connection.close()
    wait_for(lambda: status_of(request(site)) == 200)


def test_one_who_reads_nothing_holds_nobody_up(site: SiteServer) -> None:
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        deaf.connect(("127.0.0.1", site.port))
        for _ in range(50):
            deaf.sendall(b"GET /assets/site.css HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with ThreadPoolExecutor(8) as pool:
            assert {status_of(answer) for answer in pool.map(lambda _: request(site), range(16))} == {200}
