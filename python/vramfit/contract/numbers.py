"""The numbers that recordings hold: `include/vramfit/numbers.h` is made from this file."""

from __future__ import annotations

from enum import IntEnum


class Phase(IntEnum):
    """What the job is doing."""

    LOAD = 0
    TRAIN = 1
    VALIDATE = 2
    TEST = 3
    SAVE = 4


class Stage(IntEnum):
    """The place inside a step: kept by the Python hooks, stamped on every event."""

    OTHER = 0
    FORWARD = 1
    BACKWARD = 2
    OPTIMIZER = 3
    INPUT = 4  # moving a batch to the device


class Owner(IntEnum):
    """What a block of device memory holds."""

    UNKNOWN = 0
    WEIGHT = 1
    GRADIENT = 2
    OPTIMIZER = 3
    INPUT = 4
    ACTIVATION = 5
    WORKSPACE = 6
    BUFFER = 7  # module buffers
    AVERAGE = 8  # a moving average of the weights (EMA)
    MASTER = 9  # wider copies of the weights that the optimizer works on
    QUANTIZATION = 10  # scales, zero points and codes of quantized weights
    CACHE = 11  # keys and values that one forward hands to the next
    OTHER_MODEL = 12  # a model beside the one that is trained; text names it


class Memory(IntEnum):
    """Levels of PyTorch's allocator that the recorder tells while a job runs."""

    ALLOCATED = 0
    PEAK_ALLOCATED = 1
    RESERVED = 2
    PEAK_RESERVED = 3


class Dtype(IntEnum):
    """What a product is worked out in: what a card's rates go by."""

    F32 = 0
    F64 = 1
    F16 = 2
    BF16 = 3
    TF32 = 4
    F8 = 5
    I8 = 6
    OTHER = 7
