"""What `accelerate estimate-memory` shows for training the bench's job: four times the weights, from a meta model.

The command itself asks the Hugging Face hub for the model; its figures are these library functions'.
"""

from __future__ import annotations

import json
import time

begin = time.perf_counter()
from accelerate import init_empty_weights  # noqa: E402
from accelerate.utils import calculate_maximum_sizes  # noqa: E402
from torchvision.models import resnet50  # noqa: E402

with init_empty_weights():
    model = resnet50()
total, _largest = calculate_maximum_sizes(model)
# accelerate/commands/estimate.py, estimate_training_usage: weights, gradients, and two moments of Adam
print(json.dumps({"seconds": time.perf_counter() - begin, "peak_bytes": 4 * total}), flush=True)
