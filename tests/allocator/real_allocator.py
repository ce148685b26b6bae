"""Plays programs through PyTorch's own allocator and writes down what it did: real_allocator.py PLANS FOLDER.

Runs on the virtual GPU (`vramfit run -- python real_allocator.py ...`). For each plan, in a process of its own, FOLDER
gets NAME.program (the calls, as src/allocator/testing/play.cc reads them), NAME.expected (the lines that it must print)
and NAME.actions (the actions that were played, to be played again or in part).
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import torch
from actions import Action, Drawing, Plan
from listening import Listening
from script import Call, Script, without_processes

set_allocator_settings = getattr(
    torch._C, "_accelerator_setAllocatorSettings", getattr(torch.cuda.memory, "_set_allocator_settings", None)
)
FIRST_SLOT = 1000  # those below are PyTorch's own, see Script.take_foreign
NEW_POOLS = hasattr(torch._C, "_cuda_beginAllocateCurrentThreadToPool")


def blocks_freed() -> int:
    return torch._C._cuda_memoryStats(0)["active"]["all"]["freed"]


class Player:
    """Does actions and remembers the calls. What cannot be done (after others were left out) is left out too."""

    def __init__(self, plan: Plan, listening: Listening) -> None:
        self.plan = plan
        self.listening = listening
        self.calls: list[Call] = []
        self.done: list[Action] = []
        self.held: dict[int, Any] = {}  # slot -> raw address, or a tensor when streams are recorded
        self.stream_of: dict[int, int] = {}
        self.used: set[int] = set()  # slots that another stream used
        self.streams = [torch.cuda.default_stream()] + [torch.cuda.Stream() for _ in range(plan.streams - 1)]
        self.pools: list[Any] = []
        self.open_pool: tuple[int, int] | None = None
        self.graphs: list[tuple[torch.cuda.CUDAGraph, int, int]] = []
        self.capturing: tuple[torch.cuda.CUDAGraph, int, int] | None = None
        self.work: torch.Tensor | None = None
        self.drawing: Drawing | None = None

    def handle(self, stream: int) -> int:
        return self.streams[stream].cuda_stream

    def act(self, action: Action) -> None:
        name = {"a": "allocate", "f": "free", "r": "use", "e": "empty_cache"}.get(action[0], action[0])
        if getattr(self, "do_" + name)(*action[1:]) is not False:
            self.done.append(action)

    def do_allocate(self, slot: int, size: int, stream: int, freed_before: int | None = None) -> None:
        shown = slot + FIRST_SLOT
        freed_before = blocks_freed() if freed_before is None else freed_before
        call = Call(f"a {shown} {size} {self.handle(stream)}", "malloc", shown)
        self.calls.append(call)
        try:
            self.held[slot] = self.obtain(size, stream)
            self.stream_of[slot] = stream
        except torch.cuda.OutOfMemoryError as error:
            call.printed.append("message " + without_processes(str(error)))
            if "preemptively rejected" in str(error):
                call.traced = "rejected"
                call.freed = blocks_freed() - freed_before
            if self.drawing:
                self.drawing.failed(slot)
        if self.plan.uses:
            call.freed_by_waiting = self.listening.take_freed_by_waiting()

    def obtain(self, size: int, stream: int) -> Any:
        if not self.plan.uses:
            return torch._C._cuda_cudaCachingAllocator_raw_alloc(size, self.handle(stream))
        with torch.cuda.stream(self.streams[stream]):
            return torch.empty(size, dtype=torch.uint8, device="cuda")

    def do_free(self, slot: int) -> bool:
        if slot not in self.held:
            return False
        self.calls.append(Call(f"f {slot + FIRST_SLOT}", "free", slot + FIRST_SLOT, is_used=slot in self.used))
        held = self.held.pop(slot)
        if isinstance(held, int):
            torch._C._cuda_cudaCachingAllocator_raw_delete(held)
        return True

    def do_use(self, slot: int, stream: int, kernels: int) -> bool:
        if slot not in self.held:
            return False
        self.calls.append(Call(f"r {slot + FIRST_SLOT} {self.handle(stream)}"))
        with torch.cuda.stream(self.streams[stream]):
            for _ in range(kernels):
                self.work.add_(1)
        self.held[slot].record_stream(self.streams[stream])
        if stream != self.stream_of[slot]:
            self.used.add(slot)
        return True

    def do_empty_cache(self, slot: int, size: int, stream: int) -> bool:
        if self.open_pool or self.capturing:
            return False
        self.calls.append(Call("e", "open"))
        freed_before = blocks_freed()
        torch.cuda.empty_cache()
        self.do_allocate(slot, size, stream, freed_before)  # its trace tells where that of the call before ends
        return True

    def do_conf(self, conf: str) -> None:
        self.calls.append(Call(f"conf {conf}"))
        set_allocator_settings(conf)

    def do_stats(self) -> None:
        lines = [f"stat {name} {value}" for name, value in sorted(torch.cuda.memory_stats().items())]
        self.calls.append(Call("stats", printed=lines))

    def do_state(self) -> None:
        call = Call("state")
        for segment in torch.cuda.memory_snapshot():
            sizes = [
                segment[key] for key in ("address", "total_size", "allocated_size", "active_size", "requested_size")
            ]
            kind = [segment["stream"], segment["segment_type"], *segment["segment_pool_id"]]
            expandable = str(segment["is_expandable"]).lower()
            call.printed.append(" ".join(map(str, ["segment", *sizes, *kind, expandable])))
            for block in segment["blocks"]:
                state = block["state"].replace("active_awaiting_free", "active_pending_free")
                call.printed.append(f"block {block['address']} {block['size']} {block['requested_size']} {state}")
        self.calls.append(call)

    def do_peaks(self) -> None:
        self.calls.append(Call("peaks"))
        torch.cuda.reset_peak_memory_stats()

    def do_sums(self) -> None:
        self.calls.append(Call("sums"))
        torch.cuda.reset_accumulated_memory_stats()

    # A MemPool takes the requests of all streams, a captured graph those of its own.

    def do_open(self, index: int) -> bool:
        if self.open_pool or index >= len(self.pools):
            return False
        self.open_pool = tuple(self.pools[index].id)
        self.calls.append(Call(f"begin {self.open_pool[0]} {self.open_pool[1]} *"))
        begin = torch._C._cuda_beginAllocateCurrentThreadToPool if NEW_POOLS else torch._C._cuda_beginAllocateToPool
        begin(0, self.open_pool)
        return True

    def do_close(self) -> bool:
        if not self.open_pool:
            return False
        first, second = self.open_pool
        self.calls += [Call(f"end {first} {second}"), Call(f"release {first} {second}")]
        end = torch._C._cuda_endAllocateToPool if NEW_POOLS else torch._C._cuda_endAllocateCurrentStreamToPool
        end(0, self.open_pool)
        torch._C._cuda_releasePool(0, self.open_pool)
        self.open_pool = None
        return True

    def do_capture(self, stream: int) -> bool:
        if self.capturing:
            return False
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        first, second = torch.cuda.graph_pool_handle()
        self.calls.append(Call(f"begin {first} {second} {self.handle(stream)}", begins_capture=True))
        torch.cuda.set_stream(self.streams[stream])
        graph.capture_begin(pool=(first, second), capture_error_mode="relaxed")
        self.capturing = (graph, first, second)
        return True

    def do_captured(self) -> bool:
        if not self.capturing:
            return False
        graph, first, second = self.capturing
        # A copy and no kernel: kernels of a graph hold memory of the card, of which the simulator is not told.
        self.work[:256].copy_(self.work[256:])
        self.calls.append(Call(f"end {first} {second}"))
        graph.capture_end()
        torch.cuda.set_stream(self.streams[0])
        self.graphs.append(self.capturing)
        self.capturing = None
        return True

    def do_drop(self, index: int) -> bool:
        if index >= len(self.graphs) or self.capturing:
            return False
        graph, first, second = self.graphs.pop(index)
        self.calls.append(Call(f"release {first} {second}"))
        graph.reset()
        return True

    # The whole of it.

    def prepare(self) -> list[str]:
        """Everything before the first action; returns the lines that come before the calls."""
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
        if plan.graphs:  # the first capture allocates the random generator's state
            first = torch.cuda.CUDAGraph()
            with torch.cuda.stream(torch.cuda.Stream()):
                first.capture_begin(capture_error_mode="relaxed")
                first.capture_end()
            self.first_graph = first
        if needs_kernels:
            self.calls.append(Call(f"a {FIRST_SLOT - 1} 512 0", "malloc", FIRST_SLOT - 1))
            self.work = torch.empty(512, dtype=torch.uint8, device="cuda")
        for index in range(plan.pools):
            options = {"use_on_oom": index == 2, "no_split": index == 4} if NEW_POOLS else {}
            self.pools.append(torch.cuda.MemPool(**options))
            chosen = " ".join(name for name, on in options.items() if on)
            first_id, second_id = self.pools[-1].id
            self.calls.append(Call(f"pool {first_id} {second_id} {chosen}".strip()))
        return head

    def play(self) -> None:
        if self.plan.script is None:
            self.drawing = Drawing(self.plan, torch.cuda.get_device_properties(0).total_memory)
            for action in self.drawing.actions():
                self.act(action)
        else:
            for action in self.plan.script:
                self.act(tuple(action))
        for action in (("captured",), ("close",)):
            self.act(action)
        self.do_stats()
        self.do_state()


def run_one(plan: Plan, folder: Path) -> None:
    listening = Listening(blocks_freed)
    player = Player(plan, listening)
    head = player.prepare()
    player.play()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    script = Script(player.calls, trace, listening.reserved)
    script.build(head)
    (folder / f"{plan.name}.program").write_text("\n".join(script.program) + "\n")
    (folder / f"{plan.name}.expected").write_text("\n".join(script.expected) + "\n")
    (folder / f"{plan.name}.actions").write_text(json.dumps(player.done))


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
        ended_well = os.waitpid(child, 0)[1] == 0
        if not ended_well and fields["graphs"]:
            # Out of memory within a capture, or as it began: the capture is void (PyTorch even aborts when such a graph
            # is dropped), and nothing can be compared.
            (folder / f"{fields['name']}.void").touch()
        failed += not ended_well and not fields["graphs"]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
