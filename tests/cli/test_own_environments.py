"""Programs that a job starts in an environment of their own stay on the virtual card, and in the recording."""

from __future__ import annotations

import pytest
from product import Product

CHILD = """
import os, torch
kept = torch.ones(96 << 20, dtype=torch.uint8, device="cuda")
print(torch.cuda.get_device_name(0), "LEFT" in os.environ, os.environ.get("MINE"), flush=True)
"""

WAYS = {
    "env -i": """subprocess.run(["env", "-i", "MINE=1", sys.executable, child], check=True)""",
    "empty": """subprocess.run([sys.executable, child], env={"MINE": "1"}, check=True)""",
    "shell": """subprocess.run(f"exec env -i MINE=1 sh -c '{sys.executable} {child}'", shell=True, check=True)""",
    "own preload": """
subprocess.run([sys.executable, child], env={"LD_PRELOAD": "libm.so.6", "MINE": "1", "PYTHONPATH": "."}, check=1)
""",
    "spawn": """os.waitpid(os.posix_spawn(sys.executable, [sys.executable, child], {"MINE": "1"}), 0)""",
    "replaced": """os.execvpe(sys.executable, [sys.executable, child], {"MINE": "1"})""",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_program_with_an_environment_of_its_own_stays_on_the_card(product: Product, way: str) -> None:
    child = product.script(CHILD, "child.py")
    done = product.run(f"import os, subprocess, sys\nos.environ['LEFT'] = '1'\nchild = {str(child)!r}\n{WAYS[way]}\n")
    assert done.exit_code == 0, str(done)
    assert done.stdout == "NVIDIA GeForce RTX 3060 False 1\n", str(done)
    assert done.result["devices"][0]["peak_allocated_bytes"] >= 96 << 20, "the child's memory is the job's"
