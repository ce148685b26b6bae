"""Makes the table by which the doctor compares a text with published ones (src/doctor/likeness_lines.txt).

    python bench/doctor/learn.py [--check] [--choose] [--write] [--keep FOLDER] [--tool FILE]

A multinomial logistic regression (scikit-learn) over the words, pairs of words and pieces of words of the texts of
this folder (`texts/`, `known_texts.jsonl`), with the causes that people found. What it is worth is printed of texts
that it has not seen: each set in its turn is left out, and the program itself is asked of it, with the table of the
others (`--check`; ten minutes). `--choose` tries what a vote must have to be heard (src/doctor/likeness.h, `Gates`) on
every other set, and says what the best of it does in the rest. The texts of the newest exam, and of the threads that it
shares, are never learnt from. Needs scikit-learn, and a build with tests; neither vramfit nor its tests need it.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import os
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from text_words import pieces_of, sample, words_that_count

HERE = Path(__file__).resolve().parent
CAUSES = HERE.parent.parent / "docs" / "causes.md"
TABLE = HERE.parent.parent / "src" / "doctor" / "likeness_lines.txt"
TOOL = HERE.parent.parent / "build" / "dev" / "tools" / "vramfit_vote_tool"
EXAM = "exam-2026-11-28"
MOST_WORDS = 9000  # that the table has
MOST_CONSIDERED, FEWEST_TEXTS = 50_000, 3  # words at first, each in so many texts
INVERSE_REGULARIZATION = 30.0
SHARE_OF_BEST = 0.75  # of a text's weight, where several causes are accepted
EVENNESS = 0.5  # 0: a cause counts by its texts; 1: all causes count alike. So rare ones are not left to common ones
STEP, NO_WEIGHT = 0.3, ord("U")
SHARES = (0.15, 0.2, 0.4)
NO_CAUSE = ("none", "VF001")
# Of a claim: right, wrong, and of a text in which there is no trouble, which sends its reader off for nothing.
WORTH = {"accepted": 1, "wrong": -1, "accused": -2}
TRIED = {
    "share_to_name": (0.1, 0.15, 0.2, 0.3),
    "times_the_next": (1, 1.3, 2),
    "healthy_to_name": (0.3, 0.4, 0.5, 0.6),
}


@dataclass
class Text:
    group: str
    codes: list[str]  # the best first; ["none"]: no trouble with memory
    raw: bytes
    source: str = ""
    first: str = ""  # what the rules alone said when they had not seen it; empty: not recorded
    confidence: float = 1.0  # theirs in that; 1: not recorded
    words: Counter[str] = field(default_factory=Counter)


def count_words(raw: bytes) -> Counter[str]:
    words = words_that_count(sample(raw))
    counts = Counter(words)
    counts.update(f"{one} {other}" for one, other in zip(words, words[1:], strict=False))
    for word in words:
        counts.update(pieces_of(word))
    return counts


def read_texts() -> list[Text]:
    codes = dict(re.findall(r"\b(VF\d\d\d)\b\W+(\w+)", CAUSES.read_text(encoding="utf-8")))
    code_of = {label: code for code, label in codes.items()} | {"none": "none"}
    texts = []
    for row in csv.DictReader((HERE / "answers.csv").open(encoding="utf-8")):
        labels = [code_of[label] for label in row["labels"].split("|")]
        texts.append(Text("texts", labels, (HERE / "texts" / row["file"]).read_bytes(), row["source"]))
    for line in (HERE / "known_texts.jsonl").open(encoding="utf-8"):
        known = json.loads(line)
        texts.append(Text(known["set"], known["codes"], known["text"].encode(), known["source"], known["first"]))
        texts[-1].confidence = known.get("confidence", 1.0)
    for text in texts:
        text.words = count_words(text.raw)
    return texts


def thread_of(source: str) -> str:
    return source.split("#")[0].rstrip("/")


def left_for_learning(texts: list[Text], *groups: str) -> list[Text]:
    """All but those of the sets, and of the threads that they were written after."""
    theirs = {thread_of(text.source) for text in texts if text.group in groups and text.source}
    return [text for text in texts if text.group not in groups and thread_of(text.source) not in theirs]


def _evened(codes: list[str], weights: list[float]) -> list[float]:
    """A text of a rare cause counts more; all of them together as before."""
    of_code: Counter[str] = Counter()
    for code, weight in zip(codes, weights, strict=True):
        of_code[code] += weight
    evened = [weight / of_code[code] ** EVENNESS for code, weight in zip(codes, weights, strict=True)]
    return [weight * sum(weights) / sum(evened) for weight in evened]


class Model:
    def __init__(self, texts: list[Text]) -> None:
        self.within: Counter[str] = Counter()
        for text in texts:
            self.within.update(text.words.keys())
        self.count = len(texts)
        common = [word for word, count in self.within.most_common(MOST_CONSIDERED) if count >= FEWEST_TEXTS]
        self._fit(texts, sorted(common), passes=25)
        weight = np.sqrt((self.weights**2).sum(0)) * np.array([self.within[word] for word in self.names]) ** 0.25
        self._fit(texts, sorted(self.names[at] for at in np.argsort(-weight)[:MOST_WORDS]))
        self.weights = np.clip(np.round(self.weights / STEP), ord("0") - NO_WEIGHT, ord("z") - NO_WEIGHT) * STEP

    def _fit(self, texts: list[Text], names: list[str], passes: int = 100) -> None:
        self.names = names
        self.at = {name: at for at, name in enumerate(names)}
        self.rarity = {name: math.log((1 + self.count) / (1 + self.within[name])) + 1 for name in names}
        rows, codes, weights = [], [], []
        for at, text in enumerate(texts):
            others = len(text.codes) - 1
            for place, code in enumerate(text.codes):
                rows.append(at)
                codes.append(code)
                best = SHARE_OF_BEST if others else 1.0
                weights.append(best if place == 0 else (1 - SHARE_OF_BEST) / others)
        weights = _evened(codes, weights)
        fitted = LogisticRegression(C=INVERSE_REGULARIZATION, max_iter=passes)
        fitted.fit(self._matrix(texts)[rows], codes, sample_weight=weights)
        self.codes, self.weights, self.bias = list(fitted.classes_), fitted.coef_, fitted.intercept_

    def _matrix(self, texts: list[Text]) -> sparse.csr_matrix:
        rows, columns, values = [], [], []
        for at, text in enumerate(texts):
            amounts = {
                self.at[word]: (1 + math.log(count)) * self.rarity[word]
                for word, count in text.words.items()
                if word in self.at
            }
            length = math.sqrt(sum(amount**2 for amount in amounts.values())) or 1.0
            for column, amount in amounts.items():
                rows.append(at)
                columns.append(column)
                values.append(amount / length)
        return sparse.csr_matrix((values, (rows, columns)), shape=(len(texts), len(self.names)))

    def lines(self, right: list[float]) -> list[str]:
        lines = ["codes " + " ".join(self.codes), "bias " + " ".join(f"{bias:.2f}" for bias in self.bias)]
        lines.append("shares " + " ".join(f"{share:.2f}" for share in SHARES))
        lines.append("right " + " ".join(f"{share:.2f}" for share in right))
        for at, name in enumerate(self.names):
            letters = "".join(chr(NO_WEIGHT + round(weight / STEP)) for weight in self.weights[:, at])
            lines.append(f"{self.rarity[name]:.2f} {letters} {name}")
        return lines


@dataclass
class Program:
    """The doctor, with a table of ours: src/app/testing/vote_tool.cc."""

    tool: Path

    def ask(self, texts: list[Text], table: list[str], by_rules_of_now: bool, **gates: float) -> list[dict]:
        lines = []
        for text in texts:
            line: dict[str, object] = {"text": text.raw.decode("utf-8", "replace")}
            if not by_rules_of_now:
                line |= {"first": text.first, "confidence": text.confidence}
            lines.append(json.dumps(line))
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.write("\n".join(table) + "\n")
            file.flush()
            words = [f"{name}={value}" for name, value in gates.items()]
            command = [self.tool, "--table", file.name, *words]
            environment = os.environ | {"VRAMFIT_HOME": str(self.tool.parent.parent / "stage")}
            done = subprocess.run(
                command, input="\n".join(lines), stdout=subprocess.PIPE, text=True, check=True, env=environment
            )
        return [json.loads(answer) for answer in done.stdout.splitlines()]


def judge(text: Text, said: str) -> str:
    if said in text.codes:
        return "accepted" if said != "none" else "clear"
    if said == "VF001":
        return "unknown"
    if text.codes == ["none"]:
        return "accused"
    return "false all-clear" if said == "none" else "wrong"


def tell(title: str, texts: list[Text], answers: list[dict], key: str = "said") -> None:
    parts = []
    for kind, is_well in (("of trouble", False), ("of none", True)):
        counts = Counter(
            judge(text, answer[key])
            for text, answer in zip(texts, answers, strict=True)
            if (text.codes == ["none"]) == is_well
        )
        parts.append(
            f"{counts.total()} {kind}: " + ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        )
    print(f"{title:32} {'; '.join(parts)}", flush=True)


def tell_all(title: str, texts: list[Text], answers: list[dict]) -> None:
    tell(f"{title}, rules alone", texts, answers, "rules")
    tell(f"{title}, the program", texts, answers)


@dataclass
class LeftOut:
    """A set or several, and the table of what may be learnt without them."""

    texts: list[Text]
    table: list[str]


def leave_out(groups: list[str], learnt: list[Text], right: list[float], kept: Path | None) -> LeftOut:
    file = kept / f"{'+'.join(groups)}.txt" if kept else None
    if file and file.exists():
        table = file.read_text(encoding="utf-8").splitlines()
    else:
        table = Model(left_for_learning(learnt, *groups)).lines(right)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(table) + "\n", encoding="utf-8")
    return LeftOut([text for text in learnt if text.group in groups], table)


def check(sets: list[LeftOut], program: Program) -> None:
    for by_rules_of_now, name in ((False, "rules as they were"), (True, "rules of now, which know these")):
        print(f"\n{name}")
        answers = [program.ask(one.texts, one.table, by_rules_of_now) for one in sets]
        for one, said in zip(sets, answers, strict=True):
            for group in sorted({text.group for text in one.texts}):
                of_it = [at for at, text in enumerate(one.texts) if text.group == group]
                tell(group, [one.texts[at] for at in of_it], [said[at] for at in of_it])
        for half, title in ((slice(0, None, 2), "even sets"), (slice(1, None, 2), "odd sets"), (slice(None), "all")):
            tell_all(
                title,
                [text for one in sets[half] for text in one.texts],
                [one for said in answers[half] for one in said],
            )


def choose(sets: list[LeftOut], program: Program) -> None:
    """What is heard of a vote where the rules knew nothing, by every other set; and what that comes to in the rest."""

    def counts(half: list[LeftOut], gates: dict[str, float]) -> Counter[str]:
        found: Counter[str] = Counter()
        for one in half:
            unknown = [text for text in one.texts if text.first == "VF001"]
            answers = program.ask(unknown, one.table, False, **gates)
            found.update(judge(text, answer["said"]) for text, answer in zip(unknown, answers, strict=True))
        return found

    tried = []
    for values in itertools.product(*TRIED.values()):
        gates = dict(zip(TRIED, values, strict=True))
        found = counts(sets[::2], gates)
        tried.append((sum(worth * found[word] for word, worth in WORTH.items()), gates, found))
    tried.sort(key=lambda one: -one[0])
    for worth, gates, found in tried[:5]:
        print(f"even sets: {worth} for {gates}: {dict(found)}; the odd ones: {dict(counts(sets[1::2], gates))}")


def rates(sets: list[LeftOut], program: Program) -> list[float]:
    """How often the vote is right where it is heard and the rules know nothing, by its share; rounded down, and below
    confidence."""
    named = []
    for one in sets:
        unknown = [text for text in one.texts if text.first == "VF001"]
        for text, answer in zip(unknown, program.ask(unknown, one.table, False), strict=True):
            if answer["said"] not in NO_CAUSE:
                named.append((answer["shares"][answer["said"]], judge(text, answer["said"]) == "accepted"))
    counts: list[tuple[int, int, int]] = []  # right, of how many, in how many parts that lie side by side
    for low, high in zip(SHARES, (*SHARES[1:], 1.01), strict=True):
        within = [is_right for share, is_right in named if low <= share < high]
        print(f"  a share of {low} to {high:.1f}: right {sum(within) / max(len(within), 1):.2f} of {len(within)}")
        right, of, parts = sum(within), len(within), 1
        # An empty part, or one that is right more rarely than that of lesser shares before it, is counted with that.
        while counts and (of == 0 or right * counts[-1][1] < counts[-1][0] * of):
            before = counts.pop()
            right, of, parts = right + before[0], of + before[1], parts + before[2]
        counts.append((right, of, parts))
    found = [min(math.floor(right / max(of, 1) * 20) / 20, 0.65) for right, of, parts in counts for _ in range(parts)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="leave out each set in its turn, and say what comes of it")
    parser.add_argument("--choose", action="store_true", help="and try gates on every other set")
    parser.add_argument(
        "--halves", action="store_true", help="of the newest day's sets alone, every other left out at once: two tables"
    )
    parser.add_argument("--write", action="store_true", help="write the table; rates are those of its last --check")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="of left-out sets' tables, which are not made again"
    )
    parser.add_argument("--tool", type=Path, default=TOOL, help="vramfit_vote_tool of a build with tests")
    arguments = parser.parse_args()
    texts = read_texts()
    learnt = left_for_learning(texts, EXAM)
    program = Program(arguments.tool.resolve())
    print(f"{len(texts)} texts, {len(learnt)} to learn from")
    right = [float(word) for word in TABLE.read_text().split("\n")[3].split()[1:]] if TABLE.exists() else []
    if arguments.check or arguments.choose:
        groups = sorted({text.group for text in learnt if text.first})
        newest = [group for group in groups if group[:10] == groups[-1][:10]]
        left = [newest[::2], newest[1::2]] if arguments.halves else [[group] for group in groups]
        sets = [leave_out(one, learnt, right, arguments.keep) for one in left]
        if arguments.choose:
            choose(sets, program)
        check(sets, program)
        right = rates(sets, program)
    table = Model(learnt).lines(right)
    exam = [text for text in texts if text.group == EXAM]
    tell_all("the exam, never learnt from", exam, program.ask(exam, table, by_rules_of_now=True))
    if arguments.write:
        TABLE.write_text("\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
