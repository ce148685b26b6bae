"""Draws random programs: lists of actions that real_allocator.py can play, and what they are drawn from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

MIB = 1 << 20
FOREIGN_BYTES = 8  # what PyTorch allocates itself for captured graphs; never drawn
EDGES = (1, 511, 512, 513, MIB - 1, MIB, MIB + 1, 2 * MIB, 10 * MIB - 1, 10 * MIB, 10 * MIB + 1, 20 * MIB, 21 * MIB + 7)

Action = tuple  # a word and its arguments: ("a", slot, bytes, stream), ("f", slot), ...


@dataclass
class Plan:
    name: str
    seed: int = 0
    calls: int = 0
    conf: str = ""
    later_conf: list[str] = field(default_factory=list)  # settings changed to at run time
    fraction: float | None = None
    sizes: str = "mixed"  # small, mixed, large, edges, steady
    streams: int = 1
    uses: bool = False  # record_stream
    pools: int = 0
    graphs: bool = False
    fill: float = 0.7  # of the card that is meant to be live, at most
    script: list[Action] | None = None  # play these instead of drawing


class Drawing:
    """The actions of a plan. Whoever plays them says which allocations failed."""

    def __init__(self, plan: Plan, total_bytes: int) -> None:
        self.plan = plan
        self.total = total_bytes
        self.random = random.Random(plan.seed)
        self.live: dict[int, int] = {}  # slot -> bytes
        self.slots = 0
        self.ladder = [self.draw_bytes("ladder") for _ in range(24)]
        self.pool_is_open = False
        self.graphs = 0

    def failed(self, slot: int) -> None:
        self.live.pop(slot, None)

    def draw_bytes(self, kind: str) -> int:
        dice = self.random
        if kind == "mixed":
            kind = dice.choice(("small", "small", "large", "edges"))
        if kind == "small":
            drawn = int(2 ** dice.uniform(0, 20))
        elif kind == "large":
            drawn = int(2 ** dice.uniform(20, 26.5))
        elif kind == "edges":
            drawn = dice.choice(EDGES)
        elif kind == "ladder":
            drawn = int(2 ** dice.uniform(8, 25))
        else:
            drawn = dice.choice(self.ladder)
        return drawn + (drawn == FOREIGN_BYTES)

    def new(self, size: int | None = None, stream: int | None = None) -> tuple[int, int, int]:
        slot, self.slots = self.slots, self.slots + 1
        size = self.draw_bytes(self.plan.sizes) if size is None else size
        self.live[slot] = size
        return slot, size, self.random.randrange(self.plan.streams) if stream is None else stream

    def free(self, slot: int) -> Action:
        del self.live[slot]
        return ("f", slot)

    def actions(self) -> Iterator[Action]:
        plan = self.plan
        if plan.sizes == "steady":
            yield from self.steady()
        for number in range(plan.calls if plan.sizes != "steady" else 0):
            wave = 0.25 + 0.75 * abs((number * 4 / plan.calls) % 2 - 1)
            yield from self.step(int(plan.fill * wave * self.total))
            if number % 397 == 0:
                yield ("stats",)
            if number % max(1, plan.calls // 3) == 0:
                yield ("state",)
        if self.pool_is_open:
            yield ("close",)

    def step(self, most: int) -> Iterator[Action]:
        dice, plan = self.random.random(), self.plan
        if dice < (0.30 if sum(self.live.values()) > most else 0.53):
            yield ("a", *self.new())
        elif self.live:
            slot = self.random.choice(list(self.live))
            if plan.uses and dice < 0.62:
                work = self.random.randrange(40) if self.random.random() < 0.6 else 0
                yield ("r", slot, self.random.randrange(plan.streams), work)
            else:
                yield self.free(slot)
        rare = self.random.random()
        if rare < 0.002 and not self.pool_is_open:
            yield ("e", *self.new())
        elif rare < 0.003 and plan.later_conf:
            yield ("conf", self.random.choice(plan.later_conf))
        elif rare < 0.013 and plan.pools:
            yield ("close",) if self.pool_is_open else ("open", self.random.randrange(plan.pools))
            self.pool_is_open = not self.pool_is_open
        elif rare < 0.018 and plan.graphs and self.graphs < 6 and self.has_room():
            yield from self.capture()
        elif rare < 0.022 and self.graphs:
            yield ("drop", self.random.randrange(self.graphs))
            self.graphs -= 1
        elif rare > 0.9995:
            yield (self.random.choice(("peaks", "sums")),)

    def has_room(self) -> bool:
        """For a capture: running out of memory within one makes it useless."""
        return sum(self.live.values()) < 0.3 * self.total

    def capture(self) -> Iterator[Action]:
        stream = self.random.randrange(1, self.plan.streams)
        yield ("capture", stream)
        inside: list[int] = []
        for _ in range(self.random.randrange(4, 30)):
            inside = [slot for slot in inside if slot in self.live]
            if self.random.random() < 0.6 or not inside:
                size = self.draw_bytes("small") * self.random.choice((1, 1, 4))
                action = ("a", *self.new(size + (size == FOREIGN_BYTES), stream))
                inside.append(action[1])
                yield action
            else:
                yield self.free(self.random.choice(inside))
        yield ("captured",)
        self.graphs += 1

    def steady(self) -> Iterator[Action]:
        """The same requests and frees again and again, sizes a little different each time: as training steps do."""
        shape = [
            (self.random.randrange(self.plan.streams), self.draw_bytes("ladder"), self.random.random())
            for _ in range(200)
        ]
        while self.slots < self.plan.calls // 2:
            scale = self.random.choice((1, 1, 1, 0.9, 1.07))
            for stream, size, dies in shape:
                yield ("a", *self.new(max(9, int(size * scale)), stream))
                while self.live and self.random.random() < dies:
                    yield self.free(next(reversed(self.live)))
            while self.live:
                yield self.free(self.random.choice(list(self.live)))
            yield ("stats",)
