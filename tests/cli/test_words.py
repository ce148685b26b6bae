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
    verbs, examples = product.call("--help").stdout.split("Examples:")
    assert sorted(re.findall(r"^  ([a-z]+) +\S", verbs, re.MULTILINE)) == sorted(VERBS)
    assert examples.count("  vramfit ") == 2


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
        (["run", "--gpu", "t4", "--steps", "atuo", "--", "true"], "did you mean auto?"),
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
        (["estimate", "resnet50", "--gpu", "t4", "--precision", "fp61"], "did you mean mixed (for fp16)?"),
        (["runs", "lsit"], "did you mean `vramfit runs`, which lists them?"),
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


def test_a_card_of_another_maker_gets_no_near_name(product: Product):
    done = product.call("run", "--gpu", "mi300x", "--", "true")
    assert done.exit_code == 2
    assert "is a card of AMD, and only NVIDIA's cards are emulated" in done.stderr and "nearest" not in done.stderr, (
        done
    )


def test_a_mistyped_key_of_a_plan_gets_its_nearest(product: Product):
    technique = {"id": "micro_batch", "micro_bacth": 2}
    for plan, meant in (
        ({"version": 1, "techniqes": [technique]}, 'did you mean "techniques"?'),
        ({"version": 1, "micro_bacth": 2, "techniques": []}, 'did you mean {"id": "micro_batch"} in its "techniques"?'),
        ({"version": 1, "techniques": [{"id": "micro_bacth"}]}, 'did you mean "micro_batch"?'),
    ):
        (product.folder / "plan.json").write_text(json.dumps(plan))
        done = product.call("run", "--gpu", "t4", "--plan", "plan.json", "--", "true")
        assert done.exit_code == 2 and meant in done.stderr, done


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
        (("sweep", "--gpu", "t4", "--vary", "bacth=1,2", "--", "true"), "batch"),
        (("run", "--gpu", "t4", "--torch", "2.66", "--", "python", "-c", "0"), "2.6"),
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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "--gpu", "t4", "python", "train.py", "-x", "1"], "vramfit run --gpu t4 -- python train.py -x 1"),
        (["run", "python", "train.py", "--gpu", "t4"], "vramfit run --gpu t4 -- python train.py"),
        (["watch", "sleep", "1"], "vramfit watch -- sleep 1"),
        (["fit", "--gpu", "t4", "python", "my train.py"], "vramfit fit --gpu t4 -- python 'my train.py'"),
    ],
)
def test_a_job_without_dashes_before_it_is_shown_with_them(product: Product, words: list[str], says: str):
    done = product.call(*words)
    assert done.exit_code == 2
    assert "-- is missing before the job" in done.stderr and f"  {says}\n" in done.stderr, done


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "-gpu", "t4"], "did you mean --gpu?"),
        (["show", "1", "2"], "number is given once, not 2 times"),
        (["env", "list", "2", "3"], "nothing is known of 2 3"),
        (["compare", "1"], "numbers takes 2 or more, not 1"),
        (["runs", "10", "--tag", "a", "--tag", "b"], "--tag is given once, not 2 times"),
        ([], "no verb is given"),
        (["help", "rnu"], "did you mean run?"),
    ],
)
def test_mistakes_of_form_are_told_plainly(product: Product, words: list[str], says: str):
    done = product.call(*words)
    assert done.exit_code == 2
    assert says in done.stderr, done


def test_help_is_a_verb_too(product: Product):
    assert product.call("help").stdout == product.call("--help").stdout
    assert product.call("help", "run").stdout == product.call("run", "--help").stdout
    assert product.call("help", "env", "add").stdout == product.call("env", "add", "--help").stdout


WRITES = ("to this file", "into this file", "Where the best plan is written", "The file (report")
SETS = {"estimate": ["resnet18", "--gpu", "t4"], "show": ["1"], "compare": ["1", "2"], "explain": ["VF101"]}


def written_options(product: Product, verb: str) -> list[str]:
    """The options of a verb that name a file to be written, by its --help."""
    text = re.sub(r"\n {8,}", " ", product.call(*verb.split(), "--help").stdout)
    lines = [line for line in text.splitlines() if any(word in line for word in WRITES)]
    return [re.findall(r"--[a-z-]+", line)[0] for line in lines]


@pytest.mark.parametrize("verb", [*VERBS, "env list"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(product: Product, verb: str):
    for option in written_options(product, verb):
        words = [*verb.split(), *SETS.get(verb, []), option, str(product.folder / "no such folder" / "x")]
        if verb in ("run", "fit", "sweep", "verify"):
            words += ["--gpu", "t4", "--", "touch", str(product.folder / "it ran")]
        done = product.call(*words)
        assert done.exit_code == 2, (option, done)
        assert "no such folder" in done.stderr, (option, done)
        assert not (product.folder / "it ran").exists(), option
    folder = product.call("run", "--gpu", "t4", "--json", str(product.folder), "--", "true")
    assert folder.exit_code == 2 and "a folder has this name" in folder.stderr, folder


def test_written_files_were_found_in_the_help(product: Product):
    assert written_options(product, "run") == ["--json", "--svg"]
    assert {"--json", "--plan-out"} <= set(written_options(product, "fit"))


def test_runs_of_a_sweep_that_is_none_are_none(product: Product):
    product.call("run", "--gpu", "t4", "--", "true")
    done = product.call("runs", "--of", "99")
    assert done.exit_code == 2 and "99" in done.stderr, done
    assert "No run of the history is such" in product.call("runs", "--verb", "sweep").stdout


def test_init_says_that_no_run_can_be_noted(product: Product):
    (product.folder / "a file").touch()
    store = str(product.folder / "a file" / "runs.db")
    done = product.call("init", VRAMFIT_STORE=store)
    assert "no run can be noted" in done.stdout and "[✓] history" not in done.stdout, done
    assert "no run can be noted" not in product.call("init").stdout


def test_the_list_of_cards_holds_80_columns_and_whole_keys(product: Product):
    lines = product.call("gpus").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    keys = [card["key"] for card in json.loads(product.call("gpus", "--json", "-").stdout)["cards"]]
    assert [line.split()[0] for line in lines[1 : len(keys) + 1]] == keys


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("40900", "the nearest names: rtx4090"),
        ("4090x", "the nearest names: rtx4090"),
        ("2080ti 22gb", "no rtx2080ti with 22 GB is known"),
        ("RTX PRO 6000 Server", "the nearest names: rtx-pro-6000"),
        ("h100:1g", "h100:1g.10gb"),
    ],
)
def test_mistyped_cards_are_those_with_the_nearest_number(product: Product, typed: str, says: str):
    done = product.call("gpus", typed)
    assert done.exit_code == 2 and says in done.stderr, done


def test_a_size_of_a_card_that_is_not_cut_stays_a_size(product: Product):
    (card,) = json.loads(product.call("gpus", "rtx3090:4g", "--json", "-").stdout)["cards"]
    assert card["memory_bytes"] == 4 * 2**30
