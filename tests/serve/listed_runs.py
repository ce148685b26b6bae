"""A history as people have it after some days: several scripts, tags, runs that told no peak."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from product import Product

MIB = 1 << 20
SCRIPTS = ("/data/me/segmentation/train.py", "/data/me/finetune_with_a_rather_long_name_of_a_script.py")


def listed_run(number: int, text: str) -> dict[str, Any]:
    """Odd runs are of the first script. Run 3 told no peak, run 5 ran out of memory, run 4 knows nothing of the card
    for a while."""
    from stored_runs import result, stored

    outcome = result(text, "out_of_memory" if number == 5 else "fits")
    for place, point in enumerate(outcome["timeline"]):
        for name in ("allocated_bytes", "reserved_bytes"):
            point[name] = point[name] * (10 + number) // 10
        is_known = number != 4 or not 30 <= place < 40
        point["used_bytes"] = point["reserved_bytes"] + 120 * MIB if is_known else None
    outcome["devices"][0]["peak_device_bytes"] = 0 if number == 3 else (4120 + 100 * number) * MIB
    run = stored(number, "run", outcome, "")
    script = SCRIPTS[(number + 1) % 2]
    run["command"] = ["python", script, "--data", "/datasets/cityscapes/leftImg8bit", "--batch-size", str(number)]
    run["folder"], run["script"] = "/data/me", script
    run["tags"] = [["paper"], ["paper", text], []][number % 3]
    return run


def import_listed_runs(product: Product, count: int = 8, text: str = "ablation") -> None:
    file: Path = product.folder / "listed.json"
    runs = [listed_run(number, text) for number in range(1, count + 1)]
    file.write_text(json.dumps({"vramfit": "0.1.0", "runs": runs}))
    assert product.call("runs", "--import", str(file)).exit_code == 0
