"""Who is given the metrics: programs by whatever name they have for the machine, and no web page."""

from __future__ import annotations

import http.client
import re
import socket

import pytest
from machine import Machine
from product import wait_for

BROWSER = {"Accept-Language": "en-GB,en;q=0.5"}


def serve(machine: Machine, address: str) -> int:
    machine.start("--headless", "--interval", "100ms", "--prometheus", address)
    port = int(wait_for(lambda: re.search(r"http://\S+:(\d+)/metrics", machine.errors))[1])
    wait_for(lambda: ask(port, f"127.0.0.1:{port}") == 200)
    return port


def ask(port: int, host: str, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", "/metrics", headers={"Host": host, **named})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("address", ["127.0.0.1:0", "0.0.0.0:0"])
def test_a_page_that_a_name_was_made_to_lead_here_reads_nothing(machine: Machine, address: str) -> None:
    port = serve(machine, address)
    assert ask(port, f"rebound.example:{port}", **BROWSER) == 403
    assert ask(port, f"127.0.0.1:{port}", Origin="http://rebound.example") == 403
    assert ask(port, f"127.0.0.1:{port}", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors") == 403
    assert ask(port, f"127.0.0.1:{port}", **BROWSER) == 200
    assert ask(port, f"localhost:{port}", **BROWSER) == 200


def test_on_loopback_other_names_are_refused_to_programs_too(machine: Machine) -> None:
    port = serve(machine, "127.0.0.1:0")
    for host in ("gpu7.example", "192.0.2.7", socket.gethostname()):
        assert ask(port, f"{host}:{port}") == 403, host


def test_an_address_for_others_is_scraped_by_number_or_any_name(machine: Machine) -> None:
    port = serve(machine, "0.0.0.0:0")
    for host in ("gpu7.example", "exporter", "192.0.2.7"):
        assert ask(port, f"{host}:{port}") == 200, host
    assert ask(port, f"{socket.gethostname()}:{port}", **BROWSER) == 200
    assert ask(port, f"192.0.2.7:{port}", **BROWSER) == 200
