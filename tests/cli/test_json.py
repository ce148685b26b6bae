"""--json of every verb: a number of its shape, a published schema, and stdout for it alone with -."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from product import ROOT, Product, strict_schema

SCHEMAS = sorted(path.name.split(".")[0] for path in (ROOT / "docs").glob("*.schema.json"))
JOB = "import torch\nx = torch.zeros(1 << 20, device='cuda')\nprint('printed by the job')\n"
SNAPSHOT = ROOT / "fixtures"


def alone_on_stdout(product: Product, *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    done = product.call(*words)
    assert done.exit_code in codes, done
    return json.loads(done.stdout)


def check(name: str, told: dict[str, Any]) -> None:
    described = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text())["properties"]["schema"]["description"]
    assert described.startswith(f"of this shape: {told['schema']}"), f"the number that docs/{name}.schema.json names"
    jsonschema.validate(told, strict_schema(name))
    # What is published takes what a later version adds.
    published = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text())
    jsonschema.validate({**told, "a_field_of_tomorrow": 1}, published)


def test_every_published_schema_is_looked_at_here_or_where_its_verb_is():
    here = {"causes", "env", "estimate", "gpus", "init", "runs", "compare", "sweep", "watch", "peaks", "run", "replay"}
    elsewhere = {"check", "doctor", "plan", "verify"}
    assert set(SCHEMAS) == here | elsewhere
    for name in SCHEMAS:
        text = (ROOT / "docs" / f"{name}.schema.json").read_text()
        assert name == "plan" or '"additionalProperties": false' not in text, "new fields may come"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpus", ["gpus"]),
        ("gpus", ["gpus", "h100:1g.10gb"]),
        ("causes", ["explain"]),
        ("init", ["init"]),
        ("estimate", ["estimate", "resnet50", "--gpu", "t4", "--batch", "8"]),
        ("watch", ["watch", "--once"]),
        ("env", ["env", "list"]),
        ("runs", ["runs"]),
    ],
)
def test_what_needs_no_job(product: Product, name: str, words: list[str]):
    check(name, alone_on_stdout(product, *words, "--json", "-", codes=(0, 1)))


def test_kept_environments(product: Product):
    kept = product.folder / "cache" / "envs" / "torch-2.12.1"
    (kept / "bin").mkdir(parents=True)
    (kept / "bin" / "python").symlink_to(sys.executable)
    (kept / "vramfit.complete").touch()
    done = product.call("env", "list", "--json", "-", VRAMFIT_CACHE=str(product.folder / "cache"))
    told = json.loads(done.stdout)
    check("env", told)
    row = {"torch": "2.12.1", "folder": str(kept), "python": str(kept / "bin" / "python")}
    assert told["environments"] == [row], done


def test_one_look_is_one_line_as_each_of_many_is(product: Product):
    looks = [product.call("watch", "--once", "--json", "-"), product.call("watch", "--json", "-", "--count", "1")]
    for look in looks:
        assert look.stdout.count("\n") == 1 and look.stdout.endswith("}\n"), look
    once, counted = (json.loads(look.stdout) for look in looks)
    assert list(once) == list(counted)
    product.call("watch", "--once", "--json", "looks.jsonl")
    assert (product.folder / "looks.jsonl").read_text().count("\n") == 1


def test_the_peaks_of_a_command(product: Product):
    done = product.call("watch", "--json", "-", "--", sys.executable, "-c", "print('printed by the command')")
    assert done.exit_code == 0, done
    told = json.loads(done.stdout)
    check("peaks", told)
    assert told["exit_code"] == 0 and "printed by the command" in done.stderr


@pytest.mark.warm
def test_a_run_and_the_history_of_it(product: Product):
    script = str(product.script(JOB))
    words = ["run", "--gpu", "t4", "--json", "-", "--", sys.executable, script]
    done = product.call(*words)
    assert done.exit_code == 0, done
    told = json.loads(done.stdout)
    check("run", told)
    assert "printed by the job" in done.stderr, "stdout is for the JSON alone"
    assert product.call("run", "--gpu", "t4", "--", sys.executable, script).stdout == "printed by the job\n"
    check("runs", alone_on_stdout(product, "show", "1", "--json", "-"))
    check("compare", alone_on_stdout(product, "compare", "1", "2", "--json", "-"))


def as_schema_1(history: Path) -> None:
    """An export as vramfit wrote it before evidence.leftovers got the name of its note."""
    told = json.loads(history.read_text())
    for run in told["runs"]:
        result = json.loads(run["result"])
        assert result["schema"] == 2
        result["schema"] = 1
        result["evidence"]["leftovers"] = result["evidence"].pop("kept_from_training")
        run.update(uuid=str(uuid.uuid4()), result=json.dumps(result))
    history.write_text(json.dumps(told))


@pytest.mark.warm
def test_runs_that_were_stored_as_schema_1_are_still_read(product: Product):
    script = str(product.script(JOB))
    done = product.call("run", "--diagnose", "--gpu", "t4", "--", sys.executable, script)
    assert done.exit_code == 0, done
    history = product.folder / "history.json"
    assert product.call("runs", "--export", str(history)).exit_code == 0
    as_schema_1(history)
    taken = product.call("runs", "--import", str(history))
    assert taken.exit_code == 0, taken
    newer, older = (product.call("show", number) for number in ("1", "2"))
    assert older.exit_code == 0, older
    assert (
        "leftovers" in json.loads(alone_on_stdout(product, "show", "2", "--json", "-")["runs"][0]["result"])["evidence"]
    )
    without_number = [run.stdout.split("\n", 1)[1] for run in (newer, older)]
    assert without_number[0] == without_number[1]
    check("compare", alone_on_stdout(product, "compare", "1", "2", "--json", "-"))
    page = product.folder / "report.html"
    written = product.call("report", "1", "2", "-o", str(page))
    assert written.exit_code == 0, written
    assert "cannot be read" not in page.read_text()


@pytest.mark.warm
def test_a_sweep_and_its_table(product: Product):
    script = product.script("import sys, torch\ntorch.empty(int(sys.argv[2]) << 28, device='cuda')\n")
    words = ["sweep", "--gpu", "t4", "--vary", "--size=1,99", "--json", "-", "--"]
    done = product.call(*words, sys.executable, str(script), "--size", "1", timeout=300)
    told = json.loads(done.stdout)
    check("sweep", told)
    assert [trial["verdict"] for trial in told["trials"]] == ["fits", "out_of_memory"], done
    assert "1 of 2 trials fit" in done.stderr


@pytest.mark.warm
def test_a_fit_is_a_run_with_more(product: Product):
    script = product.script(
        """
        import torch
        model = torch.nn.Linear(256, 256).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            model(torch.zeros(8, 256, device="cuda")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        """
    )
    words = ["fit", "--gpu", "t4", "--no-verify", "--json", "-", "--", sys.executable, str(script)]
    check("run", alone_on_stdout(product, *words))


def test_a_replay(product: Product, request: pytest.FixtureRequest):
    found = sorted(Path(ROOT / "fixtures").rglob("*.pickle"))
    assert found, "a recorded snapshot"
    smallest = min(found, key=lambda path: path.stat().st_size)
    check("replay", alone_on_stdout(product, "replay", str(smallest), "--json", "-", codes=(0, 1)))
