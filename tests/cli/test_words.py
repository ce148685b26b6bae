"""What is said to a word that nobody knows, and the examples of every --help."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess

import pytest
from product import VRAMFIT, Product

# Root may read every folder, unless it gives that up.
NO_CAPABILITIES = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
AS_ANYBODY = NO_CAPABILITIES if os.geteuid() == 0 else []
VERBS = [
    "run",
    "fit",
    "estimate",
    "gpus",
    "env",
    "runs",
    "show",
    "compare",
    "sweep",
    "watch",
    "doctor",
    "explain",
    "replay",
    "report",
    "serve",
    "export",
    "init",
    "verify",
    "check",
    "patch",
    "completion",
]


def test_every_verb_is_looked_at(product: Product):
    shown = re.findall(r"^  ([a-z]+) +\S", product.call("--help").stdout, re.MULTILINE)
    assert sorted(shown) == sorted(VERBS)


@pytest.mark.parametrize("verb", [*VERBS, "env list", "env add", "env remove", "env hook"])
def test_help_has_examples_whose_options_there_are(product: Product, verb: str):
    text = product.call(*verb.split(), "--help").stdout
    own = text[: text.index("Examples:")]
    assert [line for line in own.splitlines() if len(line) > 80] == []
    examples = [line.strip() for line in text[text.index("Examples:") :].splitlines()[1:] if line.strip()]
    assert len(examples) >= 2
    for example in examples:
        own = example.split("&&")[0].split(" -- ")[0]
        assert "vramfit" in own
        for word in shlex.split(own):
            if word.startswith("-") and word != "-":
                assert re.search(rf"(^|[ ,]){re.escape(word)}\b", text, re.MULTILINE), (example, word)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["rnu", "--gpu", "t4"], "did you mean run?"),
        (["wathc"], "did you mean watch?"),
        (["run", "--gup", "t4", "--", "true"], "did you mean --gpu?"),
        (["fit", "--gpu=t4", "--max-slodown=2", "--", "true"], "did you mean --max-slowdown?"),
        (["env", "lst"], "did you mean list?"),
        (["gpus", "rtx3009"], "rtx3090"),
        (["watch", "--once", "--sort", "memry"], "did you mean memory?"),
        (["fit", "--goal", "max-bach", "--gpu", "t4", "--", "true"], "did you mean max-batch?"),
        (["estimate", "resnet5", "--gpu", "t4"], "did you mean resnet50?"),
    ],
)
def test_a_mistyped_word_gets_its_nearest(product: Product, words: list[str], meant: str):
    done = product.call(*words)
    assert done.exit_code == 2
    assert meant in done.stderr, done
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["watch", "--sort", "beauty"], "it takes memory, card, pid, user, since, name"),
        (["completion", "tcsh"], "it takes bash, zsh, fish"),
        (["serve", "--port", "99999"], '"99999" is no value of --port'),
        (["compare", "1", "zz"], '"1,zz" is no value of numbers'),
        (["run", "--", "true"], "--gpu is required"),
    ],
)
def test_what_a_word_cannot_be_is_said_in_our_own_words(product: Product, words: list[str], says: str):
    done = product.call(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith("vramfit: error: ") and says in done.stderr, done
    assert f"vramfit {words[0]} --help" in done.stderr


def test_a_mistyped_key_of_a_card_file_gets_its_nearest(product: Product):
    (product.folder / "mine.toml").write_text('based_on = "t4"\nkey = "mine"\nmemory_byte = 5\n')
    done = product.call("gpus", "mine.toml")
    assert done.exit_code == 2
    assert "memory_bytes" in done.stderr, done
    assert "mine.toml:3" in done.stderr, done


@pytest.mark.parametrize(("option", "value"), [("--timeout", "-1"), ("--timeout", "nan"), ("--timeout", "soon")])
def test_a_number_out_of_its_range_is_told_in_few_digits(product: Product, option: str, value: str):
    done = product.call("run", "--gpu", "t4", option, value, "--", "true")
    assert done.exit_code == 2
    assert "above 0" in done.stderr, done
    assert not re.search(r"\d{20}", done.stderr), done


def test_who_speaks_is_said_once(product: Product):
    done = product.call("run", "--gpu", "no such card", "--", "true")
    assert done.stderr.count("vramfit:") == 1, done


def test_a_folder_that_may_not_be_read_is_no_internal_error(product: Product):
    folder = product.folder / "closed"
    folder.mkdir(mode=0)
    for words in (["check", str(folder), "--", "true"], ["estimate", f"{folder}/model", "--gpu", "t4"]):
        done = subprocess.run(
            [*AS_ANYBODY, VRAMFIT, *words],
            cwd=product.folder,
            env=product.environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 2, done
        assert "internal error" not in done.stderr, done


def test_a_path_that_leads_nowhere_is_no_internal_error(product: Product):
    loop = product.folder / "loop"
    loop.symlink_to(loop)
    words = [
        ["check", str(loop), "--", "true"],
        ["doctor", str(loop)],
        ["replay", str(loop)],
        ["report", str(loop), "-o", "out.html"],
        ["export", str(loop), "-o", "out.json"],
        ["estimate", str(loop / "model"), "--gpu", "t4"],
        ["run", "--gpu", "t4", "--keep-files", str(loop / "kept"), "--", "true"],
        ["run", "--gpu", str(loop / "card.toml"), "--", "true"],
        ["sweep", "--gpu", "t4", "--vary", "x=1", "--out", str(loop / "sweep"), "--", "true"],
        ["runs", "--import", str(loop)],
        ["init", "--root", str(loop)],
        ["patch", str(loop / "plan.json"), "--", "true"],
    ]
    for one in words:
        done = product.call(*one)
        assert done.exit_code >= 0, (one, str(done))
        assert "internal error" not in done.stderr, (one, str(done))


def test_the_store_is_never_another_programs_database(product: Product):
    import sqlite3

    theirs = product.folder / "theirs.db"
    connection = sqlite3.connect(theirs)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.execute("PRAGMA user_version = 4200")  # a format of their own, which is no newer one of ours
    connection.commit()
    connection.close()
    before = theirs.read_bytes()
    done = product.call("runs", VRAMFIT_STORE=str(theirs))
    assert done.exit_code == 2
    assert "another program" in done.stderr and "newer vramfit" not in done.stderr, done
    assert theirs.read_bytes() == before


def test_an_empty_name_of_a_card_does_not_mean_all_cards(product: Product):
    for name in ("", " "):
        done = product.call("gpus", name)
        assert done.exit_code == 2 and "the name of the card is empty" in done.stderr and not done.stdout, done


def test_a_size_behind_a_card_is_the_memory_that_is_shown(product: Product):
    done = product.call("gpus", "rtx3090:20GiB")
    assert "20.00 GiB" in done.stdout and "as asked for" in done.stdout, done
    assert "--gpu rtx3090:20480MiB" in done.stdout, done
    (card,) = json.loads(product.call("gpus", "h100:20GiB", "--json", "-").stdout)["cards"]
    assert card["memory_bytes"] == 20 << 30 and card["mig"] == []
    refused = product.call("gpus", "rtx3090:20")
    assert refused.exit_code == 2 and "not the memory of a card" in refused.stderr, refused


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("export", "1", "--to", "perfeto", "-o", "x"), "perfetto"),
        (("watch", "--alert", "mme>90%"), "mem"),
        (("fit", "--gpu", "t4", "--only", "microbatch", "--", "true"), "micro_batch"),
        (("fit", "--gpu", "t4", "--deny", "chekpoint", "--", "true"), "checkpoint"),
    ],
)
def test_a_mistyped_value_gets_the_one_that_was_meant(product: Product, words: tuple[str, ...], meant: str):
    done = product.call(*words)
    assert done.exit_code == 2 and f"did you mean {meant}?" in done.stderr, done


@pytest.mark.parametrize("words", [["gpus", "--json", "-"], ["gpus"], ["explain", "VF201"], ["--help"]], ids=" ".join)
def test_an_answer_that_could_not_be_written_is_an_error(product: Product, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        finished = subprocess.run([VRAMFIT, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert finished.returncode == 2
    assert "could not be written" in finished.stderr


def test_who_reads_only_the_head_of_an_answer_is_told_nothing(product: Product) -> None:
    finished = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{shlex.quote(str(VRAMFIT))} gpus | head -n 1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.stderr == "" and len(finished.stdout.splitlines()) == 1
