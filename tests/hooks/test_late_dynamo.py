"""The compiler is imported when it is needed: a run without it neither waits for it nor sees a difference."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

TRAIN = """
    import sys, torch
    from torch import nn
    def loaded(): return "torch._dynamo.eval_frame" in sys.modules
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    def step():
        optimizer.zero_grad()
        model(torch.ones(3, 4)).square().sum().backward()
        optimizer.step()
        return optimizer
"""


def test_an_optimizer_alone_does_not_import_the_compiler(job: Job) -> None:
    finished = job.run(
        TRAIN
        + """
    before = model.weight.detach().clone()
    step()
    print(loaded(), torch.is_grad_enabled(), not torch.equal(before, model.weight))
    print(sorted(optimizer.state_dict()), len(optimizer.param_groups))
    """,
        cold=True,  # a warm process may have it already
    )
    assert finished.stdout.splitlines() == ["False True True", "['param_groups', 'state'] 1"], finished.stderr


def test_a_checkpoint_asks_for_a_setting_alone_which_stays_the_compilers(job: Job) -> None:
    finished = job.run(
        TRAIN
        + """
    from torch.utils.checkpoint import checkpoint
    inputs = torch.ones(3, 4, requires_grad=True)
    def again(): checkpoint(model, inputs, use_reentrant=False).sum().backward()
    again()
    print(loaded(), inputs.grad is not None)
    alone = sys.modules.get("torch._dynamo.config")
    import torch._dynamo
    print(bool(torch._dynamo.eval_frame), loaded(), alone in (None, torch._dynamo.config))
    with torch._dynamo.config.patch(suppress_errors=True): again()
    print(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).tolist())
    """,
        cold=True,
    )
    assert finished.stdout.splitlines() == ["False True", "True True True", "[2.0, 2.0]"], finished.stderr


def test_what_asks_for_the_compiler_gets_all_of_it(job: Job) -> None:
    finished = job.run(
        TRAIN
        + """
    step()
    compiled = torch.compile(lambda x: x * 2 + 1, backend="eager", fullgraph=True)
    print(compiled(torch.ones(2)).tolist(), loaded())
    print(torch._dynamo.__name__, type(torch._dynamo).__name__, type(torch._dynamo.__loader__).__name__)
    import inspect
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    kept = [fn for fn in (zero_grad,) if hasattr(fn, "__dynamo_disable")]
    step()
    again = zero_grad.__dynamo_disable
    print(len(kept), again._torchdynamo_disable)
    """,
        cold=True,
    )
    assert finished.stdout.splitlines() == [
        "[3.0, 3.0] True",
        "torch._dynamo module SourceFileLoader",
        "0 True",
    ], finished.stderr


def test_a_submodule_or_a_name_of_it_can_be_imported_first_or_later(job: Job) -> None:
    ways = ("import torch._dynamo.config as c", "from torch._dynamo import config as c", "c = torch._dynamo.config")
    for before in ("", "step()"):
        for way in ways:
            finished = job.run(
                TRAIN + f"    {before}\n    {way}\n    print(c.__name__, loaded(), bool(step()))\n", cold=True
            )
            assert finished.stdout == "torch._dynamo.config True True\n", (before, way, finished.stderr)


def test_a_compiled_step_trains_as_an_eager_one(job: Job) -> None:
    script = (
        TRAIN
        + """
    {before}
    chosen = torch.compile(step, backend="eager") if {compiled} else step
    for _ in range(3): chosen()
    print([round(value, 5) for value in model.weight.flatten().tolist()])
    """
    )
    results = {
        job.run(script.format(before=before, compiled=compiled)).stdout
        for before, compiled in (("step()", False), ("step()", True))
    }
    assert len(results) == 1 and results.pop().startswith("["), results


def test_another_thread_works_while_the_compiler_is_imported(job: Job) -> None:
    finished = job.run(
        """
    import sys, threading, time, torch
    done, during, wrong = threading.Event(), [0], []
    def ask():
        while not done.is_set():
            try:
                torch._compile._disable_dynamo(lambda: 1)()
                during[0] += "torch._dynamo.eval_frame" not in sys.modules
            except Exception as error:
                wrong.append(repr(error))
            time.sleep(0.001)
    thread = threading.Thread(target=ask)
    thread.start()
    import torch._dynamo.config
    done.set()
    thread.join()
    print(len(wrong), wrong[:1], during[0] > 0, type(torch._dynamo).__name__)
    """,
        cold=True,
    )
    assert finished.stdout.splitlines() == ["0 [] True module"], finished.stderr
