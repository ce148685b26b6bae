"""Makes the table by which the doctor compares a text with published ones (src/doctor/likeness_lines.txt).

    python bench/doctor/learn.py [--check] [--write]

A multinomial logistic regression (scikit-learn) over the words, pairs of words and pieces of words of the texts of
this folder (`texts/`, `known_texts.jsonl`), with the causes that people found. What it is worth is printed of texts
that it has not seen: each set in its turn is left out (`--check`; ten minutes), and the texts of the newest exam, and
of the threads that it shares, are never learnt from. Needs scikit-learn; neither vramfit nor its tests do.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
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
EXAM = "exam-2026-11-28"
MOST_WORDS = 9000  # that the table has
MOST_CONSIDERED, FEWEST_TEXTS = 50_000, 3  # words at first, each in so many texts
INVERSE_REGULARIZATION = 30.0
SHARE_OF_BEST = 0.75  # of a text's weight, where several causes are accepted
STEP, NO_WEIGHT = 0.3, ord("U")
SHARES = (0.2, 0.4)
# As in src/doctor/likeness.h.
UNSURE, LIKELIER, SHARE_TO_OUTRANK = 0.6, 1.5, 0.35
SHARE_TO_NAME, HEALTHY_TO_NAME, HEALTHY_TO_CLEAR = 0.2, 0.35, 0.2


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


def left_for_learning(texts: list[Text], group: str) -> list[Text]:
    """All but those of a set, and of the threads that it was written after."""
    theirs = {thread_of(text.source) for text in texts if text.group == group and text.source}
    return [text for text in texts if text.group != group and thread_of(text.source) not in theirs]


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

    def shares(self, texts: list[Text]) -> list[dict[str, float]]:
        votes = self._matrix(texts) @ self.weights.T + self.bias
        votes = np.exp(votes - votes.max(1, keepdims=True))
        votes /= votes.sum(1, keepdims=True)
        return [dict(zip(self.codes, map(float, vote), strict=True)) for vote in votes]

    def lines(self, right: list[float]) -> list[str]:
        lines = ["codes " + " ".join(self.codes), "bias " + " ".join(f"{bias:.2f}" for bias in self.bias)]
        lines.append("shares " + " ".join(f"{share:.2f}" for share in SHARES))
        lines.append("right " + " ".join(f"{share:.2f}" for share in right))
        for at, name in enumerate(self.names):
            letters = "".join(chr(NO_WEIGHT + round(weight / STEP)) for weight in self.weights[:, at])
            lines.append(f"{self.rarity[name]:.2f} {letters} {name}")
        return lines


@dataclass
class Vote:
    text: Text
    healthy: float
    code: str
    share: float
    share_of_first: float = 0

    @property
    def outranks(self) -> bool:
        """Says another cause than rules that are not sure of theirs."""
        of_sick = 1 - self.healthy
        is_unsure = self.text.first not in ("none", "VF001", "") and self.text.confidence <= UNSURE
        is_likelier = self.share > LIKELIER * self.share_of_first and self.share >= SHARE_TO_OUTRANK * of_sick
        return is_unsure and self.code != self.text.first and is_likelier

    @property
    def is_accepted(self) -> bool:
        return self.code in self.text.codes


def votes_of(model: Model, texts: list[Text]) -> list[Vote]:
    votes = []
    for text, shares in zip(texts, model.shares(texts), strict=True):
        code = max((code for code in shares if code not in ("none", "VF001")), key=shares.__getitem__)
        votes.append(Vote(text, shares["none"], code, shares[code], shares.get(text.first, 0)))
    return votes


def show(title: str, votes: list[Vote]) -> None:
    sick = [vote for vote in votes if vote.text.codes[0] not in ("none", "VF001")]
    print(f"{title}: {len(votes)} texts; of {len(sick)} with a cause the vote alone names an accepted one of", end=" ")
    print(sum(vote.is_accepted for vote in sick))
    unknown = [vote for vote in votes if vote.text.first == "VF001"]
    named = [vote for vote in unknown if vote.share >= SHARE_TO_NAME and vote.healthy < HEALTHY_TO_NAME]
    print(f"  rules alone: {len(unknown)} unknown; the vote names {len(named)} of them", end=", ")
    print(f"accepted {sum(vote.is_accepted for vote in named)}", end=", ")
    print(f"of no trouble {sum(vote.text.codes == ['none'] for vote in named)}")
    clear = [vote for vote in votes if vote.text.first == "none"]
    held = [vote for vote in clear if vote.healthy < HEALTHY_TO_CLEAR]
    print(f"  rules alone: {len(clear)} all-clears", end=", ")
    print(
        f"{sum(vote.text.codes != ['none'] for vote in clear)} of them false; the vote holds back {len(held)}", end=", "
    )
    print(f"{sum(vote.text.codes != ['none'] for vote in held)} of them false")

    other = [vote for vote in votes if vote.outranks]
    print(f"  rules unsure of a cause, and the vote for another: {len(other)}", end=", ")
    print(f"rules accepted {sum(vote.text.first in vote.text.codes for vote in other)}", end=", ")
    print(f"the vote {sum(vote.is_accepted for vote in other)}")


def rates(votes: list[Vote]) -> list[float]:
    """How often the vote is right where the rules know nothing, by its share; rounded down, and below confidence."""
    named = [vote for vote in votes if vote.text.first == "VF001" and vote.healthy < HEALTHY_TO_NAME]
    found = []
    for low, high in zip(SHARES, (*SHARES[1:], 1.01), strict=True):
        within = [vote for vote in named if low <= vote.share < high]
        rate = sum(vote.is_accepted for vote in within) / max(len(within), 1)
        print(f"  a share of {low} to {high:.1f}: right {rate:.2f} of {len(within)}")
        found.append(min(math.floor(rate * 20) / 20, 0.65))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="leave out each set in its turn, and say what comes of it")
    parser.add_argument("--write", action="store_true", help="write the table; rates are those of its last --check")
    arguments = parser.parse_args()
    texts = read_texts()
    learnt = left_for_learning(texts, EXAM)
    print(f"{len(texts)} texts, {len(learnt)} to learn from")
    right = [float(word) for word in TABLE.read_text().split("\n")[3].split()[1:]] if TABLE.exists() else []
    if arguments.check:
        votes = []
        for group in sorted({text.group for text in learnt if text.first}):
            held_out = votes_of(
                Model(left_for_learning(learnt, group)), [text for text in learnt if text.group == group]
            )
            show(f"left out {group}", held_out)
            votes += held_out
        show("all that were left out", votes)
        right = rates(votes)
    model = Model(learnt)
    show("learnt from", votes_of(model, learnt))
    show("the exam, never learnt from", votes_of(model, [text for text in texts if text.group == EXAM]))
    if arguments.write:
        TABLE.write_text("\n".join(model.lines(right)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
