"""Plays random programs through PyTorch's own allocator and writes down what it did: real_allocator.py PLAN FOLDER.

Runs on the virtual GPU (`vramfit run -- python real_allocator.py ...`). For each program of the plan, in a process of
its own, FOLDER gets NAME.program (the calls, as src/allocator/testing/play.cc reads them) and NAME.expected (the lines
that it must print).
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

MIB = 1 << 20
FOREIGN_BYTES = 8
EDGES = (1, 511, 512, 513, MIB - 1, MIB, MIB + 1, 2 * MIB, 10 * MIB - 1, 10 * MIB, 10 * MIB + 1, 20 * MIB, 21 * MIB + 7)
PROCESSES = re.compile(r"(?:Process \d+ has|Including non-PyTorch memory, this process has) \S+ \S+ memory in use\. ")
HAS_POOL_IDS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 9)
set_allocator_settings = getattr(
    torch._C, "_accelerator_setAllocatorSettings", getattr(torch.cuda.memory, "_set_allocator_settings", None)
)
NEW_POOLS = hasattr(torch._C, "_cuda_beginAllocateCurrentThreadToPool")


@dataclass
class Plan:
    name: str
    seed: int
    calls: int
    conf: str = ""
    later_conf: list[str] = field(default_factory=list)  # settings changed to at run time
    fraction: float | None = None
    sizes: str = "mixed"  # small, mixed, large, edges, steady
    streams: int = 1
    uses: bool = False  # record_stream
    pools: int = 0
    graphs: bool = False
    fill: float = 0.7  # of the card that is meant to be live, at most
    repeat: int = 1  # the same requests again, as training steps do


@dataclass
class Call:
    """One line of the program. `traced` says how far its trace reaches; `printed` is what follows the trace."""

    line: str
    traced: str = "none"  # none, malloc, free, open (with the next call)
    slot: int = -1
    syncs: int | None = None  # num_sync_all_streams after it
    printed: list[str] = field(default_factory=list)


def end_pool(pool: tuple[int, int]) -> None:
    end = torch._C._cuda_endAllocateToPool if NEW_POOLS else torch._C._cuda_endAllocateCurrentStreamToPool
    end(0, pool)
    torch._C._cuda_releasePool(0, pool)


class Player:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.random = random.Random(plan.seed)
        self.calls: list[Call] = []
        self.live: list[int] = []
        self.held: dict[int, Any] = {}  # slot -> raw address, or a tensor when streams are recorded
        self.bytes: dict[int, int] = {}
        self.stream_of: dict[int, int] = {}
        self.used: set[int] = set()  # slots that another stream used
        self.pending = 0
        self.next_slot = 0
        self.streams = [torch.cuda.Stream() for _ in range(plan.streams - 1)]
        self.pools: list[Any] = []
        self.open_pool: tuple[int, int] | None = None
        self.graphs: list[Any] = []
        self.ladder = [self.draw_size() for _ in range(24)]

    def handle(self, index: int) -> int:
        return self.streams[index - 1].cuda_stream if index else 0

    def draw_size(self) -> int:
        kind, dice = self.plan.sizes, self.random
        if kind == "mixed":
            kind = dice.choice(("small", "small", "large", "edges"))
        if kind == "small":
            return int(2 ** dice.uniform(0, 20))
        if kind == "large":
            return int(2 ** dice.uniform(20, 26.5))
        if kind == "edges":
            return dice.choice(EDGES)
        return self.ladder[dice.randrange(len(self.ladder))] if hasattr(self, "ladder") else int(2 ** dice.uniform(8, 25))

    # The calls.

    def allocate(self, stream: int | None = None, size: int | None = None) -> None:
        size = size or self.draw_size()
        size += size == FOREIGN_BYTES
        stream = self.random.randrange(self.plan.streams) if stream is None else stream
        slot, self.next_slot = self.next_slot, self.next_slot + 1
        call = Call(f"a {slot} {size} {self.handle(stream)}", "malloc", slot)
        self.calls.append(call)
        try:
            self.held[slot] = self.obtain(size, stream)
        except torch.cuda.OutOfMemoryError as error:
            text = PROCESSES.sub("", str(error))
            call.printed.append("message " + text[: text.index("unallocated.") + len("unallocated.")])
        else:
            self.live.append(slot)
            self.bytes[slot] = size
            self.stream_of[slot] = stream
        if self.plan.uses:
            call.syncs = torch._C._cuda_memoryStats(0)["num_sync_all_streams"]

    def obtain(self, size: int, stream: int) -> Any:
        if not self.plan.uses:
            return torch._C._cuda_cudaCachingAllocator_raw_alloc(size, self.handle(stream))
        with torch.cuda.stream(self.streams[stream - 1] if stream else torch.cuda.default_stream()):
            return torch.empty(size, dtype=torch.uint8, device="cuda")

    def free(self, slot: int) -> None:
        self.calls.append(Call(f"f {slot}", "free", slot))
        held = self.held.pop(slot)
        if isinstance(held, int):
            torch._C._cuda_cudaCachingAllocator_raw_delete(held)
        self.live.remove(slot)
        del self.bytes[slot]

    def use(self, slot: int) -> None:
        stream = self.random.randrange(self.plan.streams)
        other = self.streams[stream - 1] if stream else torch.cuda.default_stream()
        if self.held[slot].untyped_storage().nbytes() == 0:
            return
        self.calls.append(Call(f"r {slot} {self.handle(stream)}", slot=slot))
        if self.random.random() < 0.6:
            with torch.cuda.stream(other):
                for _ in range(self.random.randrange(40)):
                    self.work.add_(1)
        self.held[slot].record_stream(other)
        if stream != self.stream_of[slot]:
            self.used.add(slot)

    def empty_cache(self) -> None:
        self.calls.append(Call("e", "open"))
        torch.cuda.empty_cache()
        self.allocate()  # its trace tells where that of the call before ends

    def configure(self, conf: str) -> None:
        self.calls.append(Call(f"conf {conf}"))
        set_allocator_settings(conf)

    def statistics(self) -> None:
        call = Call("stats")
        for name, value in sorted(torch.cuda.memory_stats().items()):
            call.printed.append(f"stat {name} {value}")
        self.calls.append(call)

    def state(self) -> None:
        call = Call("state")
        for segment in torch.cuda.memory_snapshot():
            first, second = segment["segment_pool_id"]
            call.printed.append(
                f"segment {segment['address']} {segment['total_size']} {segment['allocated_size']} "
                f"{segment['active_size']} {segment['requested_size']} {segment['stream']} {segment['segment_type']} "
                f"{first} {second} {str(segment['is_expandable']).lower()}"
            )
            for block in segment["blocks"]:
                state = block["state"].replace("active_awaiting_free", "active_pending_free")
                call.printed.append(f"block {block['address']} {block['size']} {block['requested_size']} {state}")
        self.calls.append(call)

    def reset(self, what: str) -> None:
        self.calls.append(Call(what))
        if what == "peaks":
            torch.cuda.reset_peak_memory_stats()
        else:
            torch.cuda.reset_accumulated_memory_stats()

    # Pools: a MemPool, a handle of graphs, or a captured graph takes the requests of one stream (or of all).

    def make_pools(self) -> None:
        for index in range(self.plan.pools):
            options = {"use_on_oom": index == 2, "no_split": index == 4} if NEW_POOLS else {}
            pool = torch.cuda.MemPool(**options)
            self.pools.append(pool)
            chosen = " ".join(name for name, on in options.items() if on)
            self.calls.append(Call(f"pool {pool.id[0]} {pool.id[1]} {chosen}".strip()))

    def toggle_pool(self) -> None:
        if self.open_pool is not None:
            first, second = self.open_pool
            self.calls.append(Call(f"end {first} {second}"))
            self.calls.append(Call(f"release {first} {second}"))
            end_pool(self.open_pool)
            self.open_pool = None
            return
        self.open_pool = tuple(self.random.choice(self.pools).id)
        first, second = self.open_pool
        self.calls.append(Call(f"begin {first} {second} *"))
        begin = torch._C._cuda_beginAllocateCurrentThreadToPool if NEW_POOLS else torch._C._cuda_beginAllocateToPool
        begin(0, self.open_pool)

    def capture(self) -> None:
        graph = torch.cuda.CUDAGraph()
        stream = self.random.randrange(1, self.plan.streams)
        handle = self.handle(stream)
        torch.cuda.synchronize()
        with torch.cuda.stream(self.streams[stream - 1]):
            first, second = torch.cuda.graph_pool_handle()
            self.calls.append(Call(f"begin {first} {second} {handle}"))
            graph.capture_begin(pool=(first, second), capture_error_mode="relaxed")
            inside = len(self.live)
            for _ in range(self.random.randrange(4, 30)):
                if self.random.random() < 0.6 or len(self.live) <= inside:
                    self.allocate(stream)
                else:
                    self.free(self.live[self.random.randrange(inside, len(self.live))])
            self.work.add_(1)
            self.calls.append(Call(f"end {first} {second}"))
            graph.capture_end()
        self.graphs.append((graph, first, second))

    def drop_graph(self) -> None:
        graph, first, second = self.graphs.pop(self.random.randrange(len(self.graphs)))
        self.calls.append(Call(f"release {first} {second}"))
        graph.reset()

    # The program.

    def step(self, most: int) -> None:
        dice, plan = self.random.random(), self.plan
        is_full = sum(self.bytes.values()) > most
        if dice < (0.30 if is_full else 0.53):
            self.allocate()
        elif self.live:
            slot = self.random.choice(self.live)
            if plan.uses and dice < 0.62:
                self.use(slot)
            else:
                self.free(slot)
        rare = self.random.random()
        if rare < 0.002 and not (self.open_pool and not NEW_POOLS):
            self.empty_cache()
        elif rare < 0.003 and plan.later_conf:
            self.configure(self.random.choice(plan.later_conf))
        elif rare < 0.013 and plan.pools:
            self.toggle_pool()
        elif rare < 0.018 and plan.graphs and len(self.graphs) < 6:
            self.capture()
        elif rare < 0.022 and plan.graphs and self.graphs:
            self.drop_graph()
        elif rare > 0.9995:
            self.reset(self.random.choice(("peaks", "sums")))

    def play_steady(self) -> None:
        """The same requests and frees again and again, sizes a little different each time."""
        shape = [(self.random.randrange(self.plan.streams), self.draw_size(), self.random.random()) for _ in range(200)]
        while len(self.calls) < self.plan.calls:
            scale = self.random.choice((1, 1, 1, 0.9, 1.07))
            for stream, size, dies in shape:
                self.allocate(stream, max(1, int(size * scale)))
                while self.live and self.random.random() < dies:
                    self.free(self.live[-1])
            while self.live:
                self.free(self.random.choice(self.live))

    def play(self) -> None:
        if self.plan.pools:
            self.make_pools()
        total = torch.cuda.get_device_properties(0).total_memory
        if self.plan.sizes == "steady":
            self.play_steady()
        else:
            for number in range(self.plan.calls):
                wave = 0.25 + 0.75 * abs((number * 4 / self.plan.calls) % 2 - 1)
                self.step(int(self.plan.fill * wave * total))
                if number % 397 == 0:
                    self.statistics()
                if number % max(1, self.plan.calls // 3) == 0:
                    self.state()
        if self.open_pool:
            self.toggle_pool()
        self.statistics()
        self.state()

    def record(self) -> list[str]:
        """Plays it; returns the lines that come before the calls."""
        plan = self.plan
        needs_kernels = plan.uses or plan.graphs
        if needs_kernels:  # a kernel takes device memory when it is loaded: before the free memory is read
            torch.empty(512, dtype=torch.uint8, device="cuda").add_(1)
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.reset_accumulated_memory_stats()
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        head = [f"torch {torch.__version__.split('+')[0]}", f"card {total} {free}", f"conf {plan.conf}"]
        if plan.conf:
            set_allocator_settings(plan.conf)
        if plan.fraction is not None:
            torch.cuda.set_per_process_memory_fraction(plan.fraction)
            head.append(f"fraction {plan.fraction}")
        torch.cuda.memory._record_memory_history("all", context=None, stacks="python")
        if plan.graphs:  # the first capture allocates the random generator's state, which stays
            first = torch.cuda.CUDAGraph()
            with torch.cuda.stream(torch.cuda.Stream()):
                first.capture_begin(capture_error_mode="relaxed")
                first.capture_end()
            self.first_graph = first
            self.next_slot = 1000
        if needs_kernels:
            self.calls.append(Call(f"a {self.next_slot} 512 0", "malloc", self.next_slot))
            self.next_slot += 1
            self.work = torch.empty(512, dtype=torch.uint8, device="cuda")
        self.play()
        return head


class Script:
    """Cuts the trace into the parts of the calls, and adds what the simulator cannot know: addresses and events."""

    def __init__(self, player: Player, trace: list[dict[str, Any]]) -> None:
        self.player = player
        self.trace = [entry for entry in trace if entry["action"] != "snapshot"]
        self.at = 0
        self.program: list[str] = []
        self.expected: list[str] = []
        self.slot_at: dict[int, int] = {}
        self.foreign_at: dict[int, int] = {}
        self.next_foreign = 0
        self.syncs = 0

    def show(self, entry: dict[str, Any]) -> str:
        where = entry["device_free"] if entry["action"] == "oom" else entry["addr"]
        first, second = entry.get("pool_id", (0, 0))
        return f"{entry['action']} {where} {entry['size']} {entry['stream']} {first} {second}"

    def take_until(self, actions: tuple[str, ...]) -> list[dict[str, Any]]:
        begin = self.at
        while self.trace[self.at]["action"] not in actions:
            self.at += 1
        self.at += 1
        return self.trace[begin : self.at]

    def take_foreign(self) -> None:
        """What PyTorch allocates and frees itself: 8 bytes each for the random generator of captured graphs."""
        while True:
            heads = ("alloc", "oom", "free_requested")
            at = next((i for i in range(self.at, len(self.trace)) if self.trace[i]["action"] in heads), None)
            if at is None:
                return
            head = self.trace[at]
            if head["action"] == "alloc" and head["size"] == FOREIGN_BYTES:
                slot, self.next_foreign = self.next_foreign, self.next_foreign + 1
                self.foreign_at[head["addr"]] = slot
                call = Call(f"a {slot} {head['size']} {head['stream']}", "malloc", slot)
            elif head["action"] == "free_requested" and head["addr"] in self.foreign_at:
                slot = self.foreign_at.pop(head["addr"])
                call = Call(f"f {slot}", "free", slot)
            else:
                return
            self.add(call, self.take(call))

    def take(self, call: Call) -> list[dict[str, Any]]:
        if call.traced == "malloc":
            return self.take_until(("alloc", "oom"))
        if call.traced == "free":
            taken = self.take_until(("free_requested",))
            if call.slot not in self.player.used and self.at < len(self.trace):
                follows = self.trace[self.at]
                if (follows["action"], follows["addr"]) == ("free_completed", taken[-1]["addr"]):
                    self.at += 1
                    taken.append(follows)
            return taken
        return []

    def addresses(self) -> list[str]:
        lines = [f"malloc_at {entry['addr']}" for entry in self.trace if entry["action"] == "segment_alloc"]
        total = torch.cuda.get_device_properties(0).total_memory
        live: dict[int, list[int]] = {}  # where a range begins -> its size, bytes mapped
        page_of_large = next(
            (int(part.split(":")[1]) * MIB for part in self.player.plan.conf.split(",") if "large_segment" in part),
            20 * MIB,
        )
        for entry in self.trace:
            if entry["action"] not in ("segment_map", "segment_unmap"):
                continue
            base = next((b for b, (size, _) in live.items() if b <= entry["addr"] < b + size), None)
            if base is None:
                page = 2 * MIB if entry["size"] == 2 * MIB else page_of_large
                base = entry["addr"]
                live[base] = [(total + total // 8 + page - 1) // page * page, 0]
                lines.append(f"reserve_at {entry['stream']} {page} {base}")
            live[base][1] += entry["size"] if entry["action"] == "segment_map" else -entry["size"]
            if live[base][1] == 0:
                del live[base]
        return lines

    def build(self, head: list[str]) -> None:
        self.program = head + self.addresses()
        for call in self.player.calls:
            self.take_foreign()
            self.add(call, self.take(call))

    def add(self, call: Call, taken: list[dict[str, Any]]) -> None:
        is_synchronized = call.syncs is not None and call.syncs != self.syncs
        self.syncs = call.syncs if call.syncs is not None else self.syncs
        if call.line == "sums":
            self.syncs = 0
        if call.traced == "malloc":
            done = [self.slot_at[entry["addr"]] for entry in taken if entry["action"] == "free_completed"]
            if is_synchronized:
                self.program.append("order " + " ".join(map(str, done)))
            else:
                self.program += [f"c {slot}" for slot in done]
            if taken[-1]["action"] == "alloc":
                self.slot_at[taken[-1]["addr"]] = call.slot
        self.program.append(call.line)
        self.expected += [self.show(entry) for entry in taken] + call.printed
        if not call.line.startswith("conf") and call.traced != "open":
            self.expected.append("#")


def run_one(plan: Plan, folder: Path) -> None:
    player = Player(plan)
    head = player.record()
    snapshot = torch.cuda.memory._snapshot()
    script = Script(player, snapshot["device_traces"][0])
    script.build(head)
    (folder / f"{plan.name}.program").write_text("\n".join(script.program) + "\n")
    (folder / f"{plan.name}.expected").write_text("\n".join(script.expected) + "\n")


def main() -> int:
    folder = Path(sys.argv[2])
    failed = 0
    for fields in json.loads(Path(sys.argv[1]).read_text()):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run_one(Plan(**fields), folder)
                code = 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        failed += os.waitpid(child, 0)[1] != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
