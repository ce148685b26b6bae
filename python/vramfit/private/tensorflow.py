"""TensorFlow's private names."""

from __future__ import annotations

from vramfit.private.names import Attribute, Name

LIBRARY = "tensorflow"
READY = ("tensorflow",)

context = Name(
    "tensorflow.python.eager.context:context_safe",
    "how much of the card TensorFlow used is not told",
    lambda: None,
)
devices = Attribute(
    "tensorflow.python.eager.context:Context.list_logical_devices",
    "how much of the card TensorFlow used is not told",
)
is_initialized = Attribute(
    "tensorflow.python.eager.context:Context._initialized",
    "how much of the card TensorFlow used is not told",
)
