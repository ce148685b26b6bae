"""A torch that says it is 2.16, built for a CUDA that is newer than all that are known: told apart in every verb.

It is the torch of this environment, which runs as it does, under another name.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from product import ROOT, Finished, Product

KNOWN = json.loads((ROOT / "platforms.json").read_text(encoding="utf-8"))
NEWEST_CUDA = max(KNOWN["drivers"], key=lambda cuda: [int(part) for part in cuda.split(".")])
LATER_CUDA = f"{NEWEST_CUDA.split('.')[0]}.77"
NEXT_MAJOR = f"{max(entry['major'] for entry in KNOWN['cuda']) + 1}.0"

UNTESTED = [
    "torch 2.77.0 is newer than those that this vramfit knows (2.5 to 2.15): what it needs of the driver, and what the "
    "hooks need of it, is untested",
    f"CUDA {LATER_CUDA} is newer than those whose driver this vramfit knows: the job is told of driver "
    f"{KNOWN['drivers'][NEWEST_CUDA]}, that of CUDA {NEWEST_CUDA}",
]
SCRIPT = """
    import torch

    def main():
        model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 8)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = torch.utils.data.TensorDataset(torch.randn(64, 256), torch.randn(64, 8))
        for x, y in torch.utils.data.DataLoader(data, batch_size=16):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()

    main()
"""
PLAN = {"version": 1, "name": "later", "techniques": [{"id": "empty_cache"}]}


def torch_of(folder: Path, cuda: str) -> str:
    """The folder for PYTHONPATH with this environment's torch as 2.77.0 for that CUDA."""
    spec = find_spec("torch")
    assert spec is not None and spec.origin is not None
    package = folder / "later" / "site-packages" / "torch"  # a library: its lines are not the job's own
    package.mkdir(parents=True)
    own = Path(spec.origin).parent
    for path in own.iterdir():
        if path.name not in ("version.py", "__pycache__"):
            (package / path.name).symlink_to(path)
    text = re.sub(r"^__version__ = .*$", "__version__ = '2.77.0'", (own / "version.py").read_text(), flags=re.M)
    (package / "version.py").write_text(re.sub(r"^cuda\b.*$", f"cuda = '{cuda}'", text, flags=re.M))
    return str(package.parent)


def words_of(product: Product, verb: str) -> list[str]:
    """A call of the verb on the script; what it says is written to answer.json where the verb has --json."""
    script, plan = product.script(SCRIPT), product.folder / "plan.json"
    plan.write_text(json.dumps(PLAN))
    words = {
        "check": [str(ROOT / "fixtures" / "snapshots" / "torch-2.12.1-ring.pickle")],
        "patch": [str(plan)],
        "sweep": ["--vary", "occupied=1GiB,2GiB"],
        "verify": [str(plan)],
    }.get(verb, [])
    options = [] if verb == "patch" else ["--json", str(product.folder / "answer.json")]
    return [verb, *words, "--gpu", "rtx3060", *options, "--", sys.executable, str(script)]


def call(product: Product, verb: str, cuda: str) -> Finished:
    done = product.call(*words_of(product, verb), timeout=300, PYTHONPATH=torch_of(product.folder, cuda))
    return product.read(done, product.folder / "answer.json")


def plain(text: str) -> str:
    return " ".join(text.split())


def told(verb: str, result: dict[str, Any]) -> list[str]:
    if verb == "sweep":
        return result["trials"][0]["untested"]
    field = {"check": "notes", "doctor": "warnings"}.get(verb, "untested")
    return [sentence for sentence in result[field] if sentence in UNTESTED]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["run", "fit", "check", "doctor", "verify", "sweep"])
def test_an_answer_says_that_nobody_tested_its_releases(product: Product, verb: str) -> None:
    done = call(product, verb, LATER_CUDA)
    assert done.result, str(done)
    assert told(verb, done.result) == UNTESTED, str(done)
    times = 1 if verb == "sweep" else 2  # before anything runs, which a trial's own log has, and in the answer
    for sentence in UNTESTED:
        assert plain(done.stdout + done.stderr).count(sentence) >= times, str(done)


def test_a_patch_says_it_beside_the_diff(product: Product) -> None:
    done = call(product, "patch", LATER_CUDA)
    for sentence in UNTESTED:
        assert sentence in plain(done.stderr), str(done)
        assert sentence not in plain(done.stdout), "which is the diff"


@pytest.mark.parametrize("verb", ["run", "fit", "check", "doctor", "verify", "patch", "sweep"])
def test_a_cuda_beyond_the_known_majors_is_refused_by_name(product: Product, verb: str) -> None:
    done = call(product, verb, NEXT_MAJOR)
    assert done.exit_code != 0, str(done)
    majors = " and ".join(str(entry["major"]) for entry in KNOWN["cuda"])
    refusal = (
        f"torch 2.77.0 is built for CUDA {NEXT_MAJOR}, and this vramfit stands in for the libraries of CUDA {majors}"
    )
    said = plain(done.stdout + done.stderr) + plain(json.dumps(done.result))
    assert refusal in said, str(done)


def test_a_replay_by_the_rules_of_a_later_torch_says_that_nobody_knows_them(product: Product) -> None:
    snapshot = str(ROOT / "fixtures" / "snapshots" / "torch-2.12.1-ring.pickle")
    for torch, is_known in (("2.77.0", False), ("2.12.1", True)):
        answer = product.folder / "answer.json"
        done = product.read(product.call("replay", snapshot, "--torch", torch, "--json", str(answer)), answer)
        sentence = "torch 2.77 is newer than those that this vramfit knows (2.5 to 2.15)"
        assert done.result["untested"].startswith(sentence) is not is_known, str(done)
        assert (sentence in plain(done.stdout + done.stderr)) is not is_known, str(done)


# Makes environments as Python does, and installs a torch that is nothing but its version.
FAKE_PYTHON = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
case "$2" in
venv) mkdir -p "$3/bin" "$3/torch" && cp "$0" "$3/bin/python" ;;
pip) printf "__version__ = '2.77.0'\\ncuda = 'CUDA'\\n" > "$here/../torch/version.py" ;;
*)
  torch=; [ -d "$here/../torch" ] && torch="\\"$(cd "$here/.." && pwd)/torch\\""
  printf '{"executable": "%s", "version": "3.12.1", "torch": [%s]}' "$here/$(basename "$0")" "$torch" > "$3" ;;
esac
"""


@pytest.mark.parametrize(
    ("cuda", "code", "sentence"),
    [
        (NEWEST_CUDA, 0, UNTESTED[0]),
        (LATER_CUDA, 0, UNTESTED[1]),
        (NEXT_MAJOR, 1, f"torch 2.77.0 is built for CUDA {NEXT_MAJOR}, and this vramfit stands in for"),
    ],
)
def test_an_environment_with_it_is_not_made_in_silence(product: Product, cuda: str, code: int, sentence: str) -> None:
    folder = product.folder / "bin"
    folder.mkdir()
    for name in ("python", "python3", "python3.12"):
        (folder / name).write_text(FAKE_PYTHON.replace("CUDA", cuda))
        (folder / name).chmod(0o755)
    variables = {"PATH": f"{folder}:/usr/bin:/bin", "VRAMFIT_CACHE": str(product.folder / "cache")}
    done = product.call("env", "add", "--torch", "2.77.0", **variables)
    assert (done.exit_code != 0) == bool(code), str(done)
    assert sentence in plain(done.stderr), str(done)


def test_init_says_what_a_run_would(product: Product) -> None:
    for cuda, sentence in ((LATER_CUDA, UNTESTED[0]), (NEXT_MAJOR, "this vramfit stands in for the libraries of CUDA")):
        folder = product.folder / cuda
        folder.mkdir()
        done = product.call("init", "--", sys.executable, PYTHONPATH=torch_of(folder, cuda))
        assert sentence in plain(done.stdout), str(done)
