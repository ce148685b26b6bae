"""Cuts the trace of the real allocator into the parts of the calls, and adds what the simulator cannot know."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from actions import FOREIGN_BYTES

PROCESSES = re.compile(r"(?:Process \d+ has|Including non-PyTorch memory, this process has) \S+ \S+ memory in use\. ")

Entry = dict[str, Any]


def without_processes(message: str) -> str:
    """An OOM's text without what NVML says of processes, and without the advice behind it."""
    text = PROCESSES.sub("", message)
    end = text.find("unallocated.")
    return text if end < 0 else text[: end + len("unallocated.")]


@dataclass
class Call:
    """One line of the program. `traced` says what it leaves in the trace; `printed` is what follows that."""

    line: str
    traced: str = "none"  # none, malloc, rejected, free, open (known to end only where the next call's begins)
    slot: int = -1
    is_used: bool = False  # by another stream: its free is not completed at once
    freed: int = 0  # blocks, from the emptying of the cache before it on
    freed_by_waiting: int = 0  # of them the last
    begins_capture: bool = False
    printed: list[str] = field(default_factory=list)


class Script:
    def __init__(self, calls: list[Call], trace: list[Entry], reserved: list[int]) -> None:
        self.calls = calls
        self.trace = [entry for entry in trace if entry["action"] != "snapshot"]
        self.reserved = reserved
        self.at = 0
        self.program: list[str] = []
        self.expected: list[str] = []
        self.slot_at: dict[int, int] = {}
        self.foreign_at: dict[int, int] = {}
        self.next_foreign = 0
        self.is_open = False  # the call before ends where this one begins

    def build(self, head: list[str]) -> None:
        self.program = head + self.addresses()
        for number, call in enumerate(self.calls):
            if call.begins_capture:  # what PyTorch allocates for it comes after the pool has begun
                self.add(call, [])
            self.take_foreign(allocations=number == 0 or call.begins_capture)
            if not call.begins_capture:
                self.add(call, self.take(call))

    def show(self, entry: Entry) -> str:
        where = entry["device_free"] if entry["action"] == "oom" else entry["addr"]
        first, second = entry.get("pool_id", (0, 0))
        return f"{entry['action']} {where} {entry['size']} {entry['stream']} {first} {second}"

    def take_until(self, actions: tuple[str, ...]) -> list[Entry]:
        begin = self.at
        while self.trace[self.at]["action"] not in actions:
            self.at += 1
        self.at += 1
        return self.trace[begin : self.at]

    def take_rejected(self, freed: int) -> list[Entry]:
        """A rejection leaves nothing in the trace but what was freed, and what an emptied cache before it gave back."""
        begin = self.at
        actions = ("free_completed", "segment_free", "segment_unmap") if self.is_open else ("free_completed",)
        while self.at < len(self.trace) and self.trace[self.at]["action"] in actions:
            is_freed = self.trace[self.at]["action"] == "free_completed"
            if is_freed and freed == 0:
                break
            freed -= is_freed
            self.at += 1
        return self.trace[begin : self.at]

    def take(self, call: Call) -> list[Entry]:
        if call.traced == "malloc":
            return self.take_until(("alloc", "oom"))
        if call.traced == "rejected":
            return self.take_rejected(call.freed)
        if call.traced != "free":
            return []
        taken = self.take_until(("free_requested",))
        if not call.is_used and self.at < len(self.trace):
            follows = self.trace[self.at]
            if (follows["action"], follows["addr"]) == ("free_completed", taken[-1]["addr"]):
                self.at += 1
                taken.append(follows)
        return taken

    def take_foreign(self, allocations: bool) -> None:
        """What PyTorch allocates and frees itself: 8 bytes each for the random generator of captured graphs."""
        heads = ("alloc", "oom", "free_requested")
        while True:
            at = next((i for i in range(self.at, len(self.trace)) if self.trace[i]["action"] in heads), None)
            head = self.trace[at] if at is not None else {"action": "none"}
            if allocations and head["action"] == "alloc" and head["size"] == FOREIGN_BYTES:
                slot, self.next_foreign = self.next_foreign, self.next_foreign + 1
                self.foreign_at[head["addr"]] = slot
                call = Call(f"a {slot} {head['size']} {head['stream']}", "malloc", slot)
            elif head["action"] == "free_requested" and head["addr"] in self.foreign_at:
                slot = self.foreign_at.pop(head["addr"])
                call = Call(f"f {slot}", "free", slot)
            else:
                return
            self.add(call, self.take(call))

    def add(self, call: Call, taken: list[Entry]) -> None:
        if call.traced in ("malloc", "rejected"):
            # Events that passed are the card's doing. When all were waited for, only the order is.
            completed = [self.slot_at[entry["addr"]] for entry in taken if entry["action"] == "free_completed"]
            passed = completed[: len(completed) - call.freed_by_waiting]
            told = [f"c {slot}" for slot in passed]
            if call.freed_by_waiting:
                told.append("order " + " ".join(map(str, completed[len(passed) :])))
            # Emptying the cache, whose trace is seen only here, is what waited.
            before = len(self.program) - (1 if self.is_open else 0)
            self.program[before:before] = told
            if taken and taken[-1]["action"] == "alloc":
                self.slot_at[taken[-1]["addr"]] = call.slot
        self.program.append(call.line)
        self.expected += [self.show(entry) for entry in taken] + call.printed
        self.is_open = call.traced == "open"
        if not call.line.startswith("conf") and not self.is_open:
            self.expected.append("#")

    def addresses(self) -> list[str]:
        """Where the driver put segments."""
        mallocs = [f"malloc_at {entry['addr']}" for entry in self.trace if entry["action"] == "segment_alloc"]
        return mallocs + [f"reserve_at {address}" for address in self.reserved]
