"""The script's own line, read from Python's frames: right with and without the GIL, in any text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hooked_job import STAGE, Job

SCRIPT = """import ctypes
class Ü:
    def gen(self):
        yield from (recorder.vramfit_mark(b"m") for _ in range(1))
recorder = ctypes.PyDLL(None); recorder.vramfit_api_version()
def outer():
    return list(Ü().gen())
outer(); sorted([1], key=lambda _: recorder.vramfit_mark(b"sorted") or 0)
ctypes.CDLL(None).vramfit_mark(b"without the GIL")
"""


def test_the_innermost_line_of_the_users_own_is_found(tmp_path: Path) -> None:
    script = tmp_path / "größe.py"
    script.write_text(SCRIPT)
    environment = {"LD_PRELOAD": str(STAGE / "lib" / "libvramfit_recorder.so"), "VRAMFIT_RUN_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-I", script.name], cwd=tmp_path, env=environment, check=True)
    (strings,) = tmp_path.glob("strings.*.txt")
    lines = [line for line in strings.read_text().splitlines() if line.startswith("größe.py")]
    inside = "Ü.gen.<locals>.<genexpr>" if sys.version_info >= (3, 11) else "<genexpr>"
    assert lines == [f"größe.py:4 in {inside}", "größe.py:8 in <lambda>", "größe.py:9 in <module>"]


def test_what_a_thread_allocates_has_the_line_that_set_it_to_work(job: Job) -> None:
    """transformers 5 loads weights in a pool: none of the script's code runs in its threads."""
    finished = job.run(
        """
        import threading, torch
        from concurrent.futures import ThreadPoolExecutor
        made = torch.nn.Linear(512, 512)
        with ThreadPoolExecutor(2) as pool:
            kept = pool.submit(made.cuda).result()
            more = pool.submit(torch.zeros, 1 << 20, device="cuda").result()
        thread = threading.Thread(target=torch.nn.Linear(700, 700).cuda)
        thread.start(); thread.join()
        """,
        card=1 << 30,
    )
    lines = [record.line for record in finished.records if record.kind == "alloc" and record.size >= 1 << 20]
    assert lines == [f"train.py:{line} in <module>" for line in (6, 7, 9)]


def test_a_program_that_is_installed_has_the_lines_of_its_package(tmp_path: Path) -> None:
    """`tune run`, `python -m torchtitan.train`: none of the code that runs is the user's own."""
    packages = tmp_path / "site-packages"
    (packages / "tool").mkdir(parents=True)
    (packages / "tool" / "__init__.py").touch()
    (packages / "tool" / "train.py").write_text(
        "import ctypes\ndef step():\n    ctypes.PyDLL(None).vramfit_mark(b'step')\ndef main():\n    step()\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    (tmp_path / "own.py").write_text("from tool.train import step\nstep()\n")
    environment = {"LD_PRELOAD": str(STAGE / "lib" / "libvramfit_recorder.so"), "PYTHONPATH": str(packages)}

    def line_of(*words: str) -> str:
        folder = tmp_path / f"lines of {words[-1]}"
        folder.mkdir()
        variables = dict(environment, VRAMFIT_RUN_DIR=str(folder))
        subprocess.run([sys.executable, *words], cwd=tmp_path, env=variables, check=True)
        (strings,) = folder.glob("strings.*.txt")
        (line,) = (line for line in strings.read_text().splitlines() if ".py:" in line)
        return line

    assert line_of("-m", "tool.train") == "tool/train.py:3 in step"
    assert line_of("own.py") == "own.py:2 in <module>"
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "python3").symlink_to(sys.executable)
    (commands / "tune").write_text("from tool.train import main\nmain()\n")
    assert line_of(str(commands / "tune"), "run") == "tool/train.py:3 in step"
