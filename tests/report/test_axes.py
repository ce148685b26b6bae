"""Axes that the pages' scripts draw: the same round ticks as those of src/report/page/axis.cc."""

from __future__ import annotations

import json
import re
import subprocess

from product import ROOT

BYTES = ROOT / "src" / "report" / "page" / "assets" / "bytes.js"
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def run(script: str) -> list[list[str]]:
    done = subprocess.run(
        ["node", "--eval", f"{BYTES.read_text()}\n{script}"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_tick_of_bytes_is_short_and_exact() -> None:
    told = run(
        """
        const told = [];
        for (let most = 1; most < 1e14; most *= 1.05) {
          for (const count of [3, 5, 8]) {
            const ticks = byteTicks(most, count);
            told.push([String(most), ...ticks.flatMap((tick) => [String(tick), tickText(tick)])]);
          }
        }
        console.log(JSON.stringify(told));
        """
    )
    assert len(told) > 1000
    for most, *ticks in told:
        values, texts = ticks[::2], ticks[1::2]
        assert float(values[-2]) < float(most) <= float(values[-1])
        assert len(values) <= 10
        for value, text in zip(values, texts):
            assert re.fullmatch(r"\d{1,3}(\.(25|5|75))? (B|KiB|MiB|GiB|TiB)", text)
            amount, unit = text.split()
            assert float(amount) * UNITS[unit] == float(value)


def test_ticks_of_seconds_and_events_are_one_two_or_five_apart() -> None:
    told = run(
        """
        const told = [];
        for (const [from, to] of [[0, 1], [0.37, 0.371], [12, 3500], [0, 7.3], [999.5, 1000.25]]) {
          const { step, ticks } = spanTicks(from, to, 6);
          told.push([String(step), ...ticks.map((tick) => secondsText(tick, step))]);
        }
        console.log(JSON.stringify(told));
        """
    )
    assert len(told) == 5
    for step, *texts in told:
        assert re.fullmatch(r"[125]0*|0\.0*[125]", step), step
        assert 3 <= len(texts) <= 7
        assert len(set(texts)) == len(texts), "no two ticks read the same"
