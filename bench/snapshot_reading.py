#!/usr/bin/env python3
"""Reading a memory snapshot: ours, Python's pickle.load, Mosaic's loading, side by side in this very run.

    bench/snapshot_reading.py --tool build/release/tools/vramfit_snapshot_dump [--megabytes 300] [--mosaic CHECKOUT]
                              [--file SNAPSHOT] [--repeats 3] [--json FILE]

The file is written by snapshot_file.py, or given. torch.cuda._memory_viz loads with pickle.load and nothing else, and
so does Mosaic (a checkout of facebookresearch/mosaic); Mosaic is imported and asked itself. Each reader runs in a
process of its own, after the file was read once into the page cache. Seconds are of the processor (user and system),
since other work on the machine stretches the clock; the least of the repeats. Nothing fails when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from snapshot_file import write_snapshot

MIB = 1 << 20
# Exits at once: taking the objects apart again is not part of reading.
END = "sys.stdout.flush(); os._exit(0)"
LOAD = (
    "import os, pickle, sys; s = pickle.load(open(sys.argv[1], 'rb')); print(sum(map(len, s['device_traces']))); " + END
)
MOSAIC = (
    "import os, sys; sys.path.insert(0, sys.argv[2]); "
    "from mosaic.libmosaic.analyzer.memory_snapshot import MemorySnapshot; "
    "m = MemorySnapshot(sys.argv[1]); m.load_memory_snapshot(); "
    "print(sum(map(len, m.snapshot_data['device_traces']))); " + END
)


@dataclass
class Reading:
    reader: str
    seconds: float  # of the processor
    peak_mib: float  # resident
    entries: int


def measure(reader: str, command: list[str]) -> Reading:
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = json.loads(out.read() or b"0")
    if process.returncode != 0:
        raise SystemExit(f"bench: {reader} failed")
    entries = said["trace_entries"] if isinstance(said, dict) else said
    return Reading(reader, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, entries)


def measure_all(file: Path, arguments: argparse.Namespace) -> list[Reading]:
    commands = {
        "vramfit": [str(arguments.tool), "count", str(file)],
        "pickle.load": [sys.executable, "-c", LOAD, str(file)],
    }
    if arguments.mosaic:
        commands["Mosaic"] = [sys.executable, "-c", MOSAIC, str(file), str(arguments.mosaic)]
    with file.open("rb") as opened:
        while opened.read(MIB):
            pass
    readings = []
    for reader, command in commands.items():
        repeats = [measure(reader, command) for _ in range(arguments.repeats)]
        readings.append(min(repeats, key=lambda reading: reading.seconds))
    if len({reading.entries for reading in readings}) != 1:
        raise SystemExit(f"bench: the readers disagree: {readings}")
    return readings


def show(file: Path, readings: list[Reading]) -> None:
    size = file.stat().st_size / MIB
    about = f"Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}"
    print(f"{size:.0f} MiB, {readings[0].entries} trace entries, {about}")
    print(f"{'reader':<14}{'seconds':>9}{'MiB/s':>8}{'peak MiB':>10}{'peak / file':>13}")
    for one in readings:
        row = f"{one.seconds:>9.2f}{size / one.seconds:>8.0f}{one.peak_mib:>10.0f}{one.peak_mib / size:>13.2f}"
        print(f"{one.reader:<14}{row}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", type=Path, required=True)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--bare", action="store_true", help="entries without stacks")
    parser.add_argument("--mosaic", type=Path)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = arguments.file
        if file is None:
            file = Path(folder) / "snapshot.pickle"
            write_snapshot(file, arguments.megabytes * MIB, has_stacks=not arguments.bare)
        readings = measure_all(file, arguments)
        show(file, readings)
        if arguments.json:
            arguments.json.write_text(json.dumps([asdict(reading) for reading in readings], indent=1))


if __name__ == "__main__":
    main()
