"""What strangers type first: a script without --, a log for a snapshot, two codes at once, a number of no run."""

from __future__ import annotations

import json
import shlex

import pytest
from product import Product


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["run", "leak5.py"], "vramfit run --gpu rtx3060 -- python leak5.py"),
        (["run", "--gpu", "t4", "leak5.py", "-x"], "vramfit run --gpu t4 -- python leak5.py -x"),
        (["leak5.py"], "vramfit run --gpu rtx3060 -- python leak5.py"),
        (["train.log"], "vramfit doctor train.log"),
    ],
)
def test_a_script_alone_gets_advice_that_works(product: Product, words: list[str], advice: str):
    (product.folder / "leak5.py").write_text("print('the script ran')\n")
    (product.folder / "train.log").write_text("epoch 1 loss 0.5\n")
    done = product.call(*words)
    assert done.exit_code == 2
    assert f"  {advice}\n" in done.stderr, done
    if "doctor" not in advice:
        tried = product.call(*shlex.split(advice)[1:])
        assert "the script ran" in tried.stdout + tried.stderr, tried


@pytest.mark.parametrize("verb", ["replay", "report", "export"])
def test_a_text_is_no_snapshot_and_the_doctor_reads_it(product: Product, verb: str):
    (product.folder / "train.log").write_text("epoch 1 loss 0.5\nRuntimeError: CUDA out of memory.\n")
    options = {"replay": [], "report": ["-o", "out.html"], "export": ["--to", "csv", "-o", "out.csv"]}[verb]
    done = product.call(verb, "train.log", *options)
    assert done.exit_code == 2
    assert "this is no memory snapshot: it is a text" in done.stderr, done
    assert "vramfit doctor train.log" in done.stderr and "bytes is longer" not in done.stderr, done


def test_of_several_codes_the_unknown_one_is_told_with_its_nearest(product: Product):
    both = product.call("explain", "VF201", "fragmentation")
    assert both.exit_code == 0 and "VF201" in both.stdout and "VF301" in both.stdout, both
    codes = [
        page["code"] for page in json.loads(product.call("explain", "VF201", "VF301", "--json", "-").stdout)["causes"]
    ]
    assert codes == ["VF201", "VF301"]
    done = product.call("explain", "VF201", "leak_grwth")
    assert done.exit_code == 2 and not done.stdout, done
    assert 'no cause "leak_grwth"' in done.stderr and "did you mean leak_growth?" in done.stderr, done


def test_a_code_that_no_cause_has_names_the_nearest(product: Product) -> None:
    done = product.call("explain", "VF999")
    assert done.exit_code == 2
    assert "did you mean VF" in done.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("1c.1g.10gb", ":1c.1g.10gb"),
        ("1g.10gb", ":1g.10gb"),
        ("m1 max", "a card of Apple"),
        ("M2", "a card of Apple"),
    ],
)
def test_names_of_other_things_than_cards_say_what_they_are(product: Product, name: str, says: str) -> None:
    done = product.call("gpus", name)
    assert done.exit_code == 2
    assert says in done.stderr


def test_a_number_beyond_all_runs_is_told_as_it_was_typed(product: Product):
    for verb in (["show"], ["compare", "1"], ["runs", "--tag", "x"]):
        done = product.call(*verb, "99999999999999999999")
        assert done.exit_code == 2
        assert "there is no run 99999999999999999999" in done.stderr and "9223372036854775807" not in done.stderr, done
    assert "there is no run 99999999999" in product.call("show", "99999999999").stderr
