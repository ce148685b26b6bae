"""A job that asks PyTorch's allocator for what a recording of a real card says, and tells where it put it.

    python replay_stream.py STREAM.csv.gz

Prints JSON: how many allocations there were, how many lie in the recorded segment at the recorded offset, whether the
segments have the recorded sizes, and what was reserved.
"""

import csv
import gzip
import json
import sys

import torch


def replay(rows):
    """Does what the rows say; the address of each allocation, in order."""
    addresses, freed = [], set()
    for row in rows:
        if row["event"] == "alloc":
            addresses.append(torch.cuda.caching_allocator_alloc(int(row["size_bytes_or_alloc"])))
        elif row["event"] == "free":
            freed.add(int(row["size_bytes_or_alloc"]))
            torch.cuda.caching_allocator_delete(addresses[int(row["size_bytes_or_alloc"])])
    return addresses


def main(path):
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(max_entries=100_000, context=None)
    addresses = replay(rows)
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    segments = [(event["addr"], event["size"]) for event in events if event["action"] == "segment_alloc"]
    recorded = [row for row in rows if row["event"] == "alloc"]
    same = sum(
        segments[int(row["segment"])][0] + int(row["offset_bytes"]) == address
        for row, address in zip(recorded, addresses, strict=True)
        if int(row["segment"]) < len(segments)
    )
    sizes = [int(row["size_bytes_or_alloc"]) for row in rows if row["event"] == "segment"]
    report = {
        "allocations": len(addresses),
        "same_place": same,
        "same_segments": [size for _, size in segments] == sizes,
        "reserved": torch.cuda.memory_reserved(),
        "recorded_reserved": sum(sizes),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
