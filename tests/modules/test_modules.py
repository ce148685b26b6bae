"""`vramfit run --modules`: the table, the network, branches; and that watching changes nothing."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from product import ROOT, Finished, Product, strict_schema

pytestmark = pytest.mark.warm

# One residual block with an auxiliary head, trained with AdamW and evaluated. `--without` leaves the branch out.
TWO_BRANCHES = """
    import sys, torch
    from torch import nn
    drop = "--without" in sys.argv

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 64, 3, padding=1)
            self.left = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.GELU())
            if not drop:
                self.right = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.GELU())
            self.head = nn.Conv2d(64, 8, 1)
            self.auxiliary = nn.Conv2d(64, 8, 1)

        def forward(self, x):
            x = self.stem(x)
            y = self.left(x)
            if not drop:
                y = y + self.right(x)
            return (self.head(y), self.auxiliary(x)) if self.training else self.head(y)

    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    images = torch.zeros(4, 3, 128, 128, device="cuda")
    for _ in range(3):
        optimizer.zero_grad()
        main, auxiliary = model(images)
        (main.mean() + auxiliary.mean()).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(images)
"""


def watch(product: Product, text: Any, *arguments: str, options: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    finished: Finished = product.run(text, *arguments, options=("--modules", *options), **more)
    assert finished.exit_code == 0, str(finished)
    assert [loss["text"] for loss in finished.result["losses"] if loss["kind"] == "hook_failed"] == []
    return finished.result


def rows_of(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in result["modules"]}


def use_of(row: dict[str, Any], phase: str = "train") -> dict[str, Any]:
    (use,) = [use for use in row["uses"] if use["phase"] == phase]
    return use


def numbers(result: dict[str, Any]) -> list[Any]:
    """All that a run says about memory."""
    card = result["devices"][0]
    return [
        [card[f"peak_{kind}_bytes"] for kind in ("allocated", "reserved", "device")],
        card["allocation_retries"],
        [[p["name"], p["peak_allocated_bytes"], p["peak_reserved_bytes"], p["steps"]] for p in result["phases"]],
        [[o["owner"], o["name"], o["bytes"], o["blocks"]] for o in result["owners_at_peak"]],
    ]


def test_every_block_of_a_deep_stack_is_shown(product: Product) -> None:
    """A script that calls its blocks one by one makes each of them a root."""
    result = watch(
        product,
        """
        import torch
        from torch import nn
        blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(24)).cuda()
        optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.zeros(8, 64, device="cuda")
            for block in blocks:
                x = block(x)
            x.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    )
    shown = [row for row in result["modules"] if row["class"] == "Linear"]
    assert len(shown) == 24
    assert all(use_of(row)["forward_flops"] > 0 for row in shown)


def test_a_small_model_is_told_in_full(product: Product) -> None:
    result = watch(product, TWO_BRANCHES)
    rows = rows_of(result)
    assert list(rows) == [
        "", "stem", "left", "left.0", "left.1", "left.2", "right", "right.0", "right.1", "right.2", "head", "auxiliary",
    ]  # fmt: skip
    convolution = rows["right.0"]
    assert convolution["class"] == "Conv2d"
    assert convolution["parameters"] == 64 * 64 * 9 + 64
    assert convolution["parameter_bytes"] == 4 * convolution["parameters"]
    assert convolution["gradient_bytes"] == convolution["parameter_bytes"]
    assert convolution["optimizer_bytes"] == 2 * convolution["parameter_bytes"]
    use = use_of(convolution)
    assert use["inputs"] == ["4x64x128x128 float32"]
    assert use["outputs"] == ["4x64x128x128 float32"]
    assert use["calls"] == 1
    macs = 4 * 128 * 128 * 64 * 64 * 9
    assert use["forward_flops"] == 2 * macs
    assert use["backward_flops"] == 4 * macs, "gradients of input and weight"
    assert use_of(rows["stem"])["backward_flops"] == use_of(rows["stem"])["forward_flops"], "images want none"
    map_bytes = 4 * 64 * 128 * 128 * 4
    assert use["activation_bytes"] == map_bytes
    assert use["peak_rise_bytes"] >= map_bytes
    assert use["estimated_forward_seconds"] > 0
    assert use_of(rows[""], "validate")["forward_flops"] < use_of(rows[""])["forward_flops"]
    assert "auxiliary" in rows
    assert [use["phase"] for use in rows["auxiliary"]["uses"]] == ["train"]


def test_the_network_is_what_the_script_wrote(product: Product) -> None:
    result = watch(product, TWO_BRANCHES)
    names = [node["id"] for node in result["module_nodes"]]
    lines = {(names[edge["from"]], names[edge["to"]]) for edge in result["module_edges"]}
    assert lines == {
        ("input", "stem"),
        ("stem", "left.0"), ("left.0", "left.1"), ("left.1", "left.2"), ("left.2", ":add"),
        ("stem", "right.0"), ("right.0", "right.1"), ("right.1", "right.2"), ("right.2", ":add"),
        (":add", "head"), ("stem", "auxiliary"), ("head", "output"), ("auxiliary", "output 2"),
    }  # fmt: skip


def test_what_a_branch_would_free_is_what_leaving_it_out_frees(product: Product) -> None:
    """Without cuDNN's workspaces, which are no module's and move the peak's moment; small blocks are left: 1 %."""
    bare = ("--cudnn", "zero")
    whole = watch(product, TWO_BRANCHES, options=bare)
    branches = {branch["name"]: branch for branch in whole["module_branches"]}
    assert {"left", "right", "auxiliary"} <= set(branches)
    assert branches["auxiliary"]["training_only"] is True
    assert branches["right"]["kind"] == "added"
    without = product.run(TWO_BRANCHES, "--without", options=bare)
    assert without.exit_code == 0, str(without)

    def held(result: dict[str, Any]) -> int:
        kinds = ("weights", "buffers", "gradients", "optimizer", "activations")
        return sum(row["bytes"] for row in result["owners_at_peak"] if row["owner"] in kinds)

    peak = lambda result: result["devices"][0]["peak_allocated_bytes"]  # noqa: E731
    freed = peak(whole) - peak(without.result)
    assert freed == pytest.approx(branches["right"]["freed_bytes"], rel=0.01)
    assert held(whole) > held(without.result)


@pytest.mark.parametrize("network", ["resnet18", "densenet121", "googlenet"])
def test_watching_changes_no_byte(product: Product, network: str) -> None:
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("no torchvision in this environment")
    script = f"""
        import torch, torchvision
        model = torchvision.models.{network}(num_classes=10)
        model = model.cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        scaler = torch.amp.GradScaler("cuda")
        images = torch.zeros(4, 3, 160, 160, device="cuda")
        labels = torch.zeros(4, dtype=torch.long, device="cuda")
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                out = model(images)
                out = out if isinstance(out, torch.Tensor) else out.logits
                loss = torch.nn.functional.cross_entropy(out, labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        model.eval()
        with torch.inference_mode():
            for _ in range(2):
                model(images)
        print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
    """
    plain = product.run(script)
    assert plain.exit_code == 0, str(plain)
    watched = product.run(script, options=("--modules",))
    assert watched.exit_code == 0, str(watched)
    assert watched.stdout == plain.stdout
    assert numbers(watched.result) == numbers(plain.result)
    assert "modules" not in plain.result
    assert use_of(rows_of(watched.result)[""])["activation_bytes"] > 0


def test_checkpointing_and_a_shared_module_change_no_byte_either(product: Product) -> None:
    script = """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList(self.block() for _ in range(4))
                self.norm = nn.LayerNorm(512)
            def block(self):
                return nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))
            def forward(self, x):
                for block in self.blocks:
                    x = x + checkpoint(block, self.norm(x), use_reentrant=False)
                return x
        model = Net().cuda()
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.zeros(256, 512, device="cuda")).sum().backward()
            optimizer.step()
    """
    plain = product.run(script)
    watched = watch(product, script)
    assert numbers(watched) == numbers(plain.result)
    rows = rows_of(watched)
    assert use_of(rows["norm"])["calls"] == 4
    assert use_of(rows["blocks.0"])["activation_bytes"] == 0, "a sum keeps nothing of what goes into it"
    (branch,) = [b for b in watched["module_branches"] if b["alike"] > 1]
    assert branch["name"].startswith("blocks.")


@pytest.mark.cold
def test_a_compiled_model_is_left_compiled_and_said_to_be(product: Product) -> None:
    script = """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda()
        compiled = torch.compile(model, backend="eager")
        for _ in range(2):
            compiled(torch.zeros(8, 64, device="cuda")).sum().backward()
    """
    result = watch(product, script)
    assert any("torch.compile" in remark for remark in result["module_remarks"])
    assert result["module_nodes"] == []
    assert rows_of(result)["0"]["parameters"] == 64 * 65


def test_a_job_that_runs_out_tells_what_it_came_to(product: Product) -> None:
    finished = product.run(TWO_BRANCHES.replace("4, 3, 128, 128", "64, 3, 1024, 1024"), options=("--modules",))
    assert finished.exit_code == 1
    assert finished.result["verdict"] == "out_of_memory"
    assert rows_of(finished.result)["stem"]["parameters"] == 64 * 28
    assert "Modules, in one forward" in finished.stderr


def test_a_failing_model_fails_as_it_would(product: Product) -> None:
    script = """
        import torch
        class Net(torch.nn.Linear):
            def forward(self, x):
                y = super().forward(x)
                raise ValueError("the script's own")
        model = Net(8, 8).cuda()
        for _ in range(3):
            try:
                model(torch.zeros(1, 8, device="cuda"))
            except ValueError as error:
                print(error)
    """
    finished = product.run(script, options=("--modules",))
    assert finished.exit_code == 0, str(finished)
    assert finished.stdout.split("\n")[:3] == ["the script's own"] * 3


def test_the_text_fits_a_terminal_and_a_picture_is_drawn(product: Product) -> None:
    picture = product.folder / "network.svg"
    finished = product.run(TWO_BRANCHES, options=("--svg", str(picture)))
    assert finished.exit_code == 0, str(finished)
    assert "What dropping a branch would free" in finished.stderr
    assert max(len(line) for line in finished.stderr.splitlines()) <= 80
    svg = picture.read_text()
    assert svg.startswith("<svg ")
    assert svg.count('<path class="flow') >= 7


def test_the_result_keeps_its_schema(product: Product) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = strict_schema("run")
    jsonschema.validate(watch(product, TWO_BRANCHES), schema)


@pytest.mark.slow
def test_pp_liteseg_is_told_with_its_auxiliary_heads(product: Product) -> None:
    example = ROOT / "examples" / "pp_liteseg" / "train.py"
    words = ("--model", "t", "--batch-size", "2", "--crop-size", "256", "128")
    result = watch(product, example, *words, timeout=300)
    branches = {b["name"]: b for b in result["module_branches"]}
    assert branches["heads.1"]["training_only"]
    assert branches["heads.2"]["training_only"]
    assert branches["heads.1"]["kind"] == "output"
