"""The list of runs in a real Chromium: its columns at every width, the peaks of scripts, groups, runs in one chart."""

from __future__ import annotations

import re

import pytest
from listed_runs import import_listed_runs
from product import Product
from site_server import SiteServer
from test_browser import Steps, browse
from test_pages import GROWS, start_run

VIEW = "figure.overlay .view"
LINES = f"{VIEW} path.run-line"
COMPARED = "/compare?n=1&n=2&n=4"
ROUND = re.compile(r"\d{1,3}(\.(25|5|75))? (B|KiB|MiB|GiB|TiB)")


@pytest.mark.parametrize("width", [390, 800, 1280, 2560])
@pytest.mark.parametrize("path", ["/", "/?group=tag"])
def test_nothing_is_cut_or_scrolls_sideways_at_any_width(
    site: SiteServer, product: Product, width: int, path: str
) -> None:
    import_listed_runs(product)
    steps: Steps = [["open", path], ["wait", "th button"], ["sideways"], ["cut", "table.index :is(td, th, svg, code)"]]
    steps += [["cut", ".scroll"], ["axe"], ["rows"]]
    answers, said = browse(site, steps, width=width)
    assert answers[2] <= 0
    assert answers[3] == []
    assert answers[4] == []
    assert answers[5] == []
    assert len(answers[6]) >= 8
    assert said == []


def test_a_script_has_its_peaks_beside_each_run_with_a_gap_where_none_is_known(
    site: SiteServer, product: Product
) -> None:
    import_listed_runs(product)
    path = "tr[data-run='7'] svg.spark .spark-line"
    steps: Steps = [
        ["open", "/"],
        ["attribute", ["tr[data-run='7'] svg.spark", "aria-label"]],
        ["attribute", [path, "d"]],
    ]
    steps += [["count", "tr[data-run='7'] .spark-lost"], ["count", "tr[data-run='8'] .spark-lost"]]
    steps += [["count", "tr[data-run='1'] svg"], ["count", "tr[data-run='3'] svg"]]
    answers, _ = browse(site, steps)
    assert answers[1] == "peaks of 4 runs of train.py, from 4.12 GiB to 4.71 GiB, the last one 4.71 GiB"
    assert answers[2].count("M") == 2, "run 3 told none"
    assert answers[3:5] == [1, 0]
    assert answers[5:7] == [0, 0], "one peak is no course"


def test_runs_are_grouped_by_tag_and_by_script(site: SiteServer, product: Product) -> None:
    import_listed_runs(product)
    steps: Steps = [["open", "/"], ["choose", ["select[name=group]", "tag"]], ["wait", "tr.group-head"], ["url"]]
    steps += [["texts", ".group-title"], ["rows"], ["texts", ".group-head a"]]
    steps += [["click", "th button:text-is('run')"], ["click", "th button:text-is('run')"], ["rows"]]
    steps += [["press", "/"], ["type", "out of"], ["texts", ".group-head:not([hidden]) .group-title"]]
    steps += [["choose", ["select[name=group]", "script"]], ["wait", "tr.group-head"], ["url"], ["rows"]]
    steps += [
        ["texts", ".group-title"],
        ["texts", ".group-head:not([hidden]) .group-title"],
        ["open", "/?group=nonsense"],
    ]
    answers, said = browse(site, steps)
    assert answers[3] == "/?group=tag"
    assert answers[4] == ["ablation", "paper", "without a tag"]
    assert answers[5] == ["7", "4", "1", "7", "6", "4", "3", "1", "8", "5", "2"]
    assert answers[6] == ["all side by side"] * 3
    assert answers[9] == ["1", "4", "7", "1", "3", "4", "6", "7", "2", "5", "8"], "sorted within each group"
    assert answers[12] == ["without a tag"], "groups without a run in sight have no head"
    assert answers[15].startswith("/?group=script#filter=")
    assert answers[16] == ["5"], "what was typed is still there"
    assert answers[17] == ["finetune_with_a_rather_long_name_of_a_script.py", "train.py"]
    assert answers[18] == ["train.py"]
    assert answers[19] == 404
    assert [line for line in said if "404" not in line] == []


def test_groups_work_without_scripts_and_compare_all_of_them(site: SiteServer, product: Product) -> None:
    import_listed_runs(product)
    steps: Steps = [["open", "/"], ["choose", ["select[name=group]", "tag"]], ["click", "form.filter button"], ["url"]]
    steps += [["click", ".group-head a"], ["url"], ["count", "figure.overlay .overlay-still path.run-line"]]
    answers, _ = browse(site, steps, scripts=False)
    assert answers[3] == "/?q=&group=tag"
    assert answers[5] == "/compare?n=7&n=4&n=1"
    assert answers[6] == 3, "the picture is there without scripts too"


def test_a_run_in_two_groups_is_chosen_once(site: SiteServer, product: Product) -> None:
    import_listed_runs(product)
    steps: Steps = [["open", "/?group=tag"], ["wait", "th button"]]
    steps += [
        ["click", "tbody:nth-of-type(1) tr[data-run='7'] input"],
        ["click", "tbody:nth-of-type(2) tr[data-run='7'] input"],
    ]
    steps += [["click", "tbody:nth-of-type(2) tr[data-run='6'] input"], ["click", "button.compare"], ["wait", LINES]]
    steps += [["count", LINES]]
    answers, _ = browse(site, steps)
    assert answers[7] == 2


def test_what_tags_and_scripts_are_called_stays_text(site: SiteServer, product: Product) -> None:
    from stored_runs import HOSTILE

    import_listed_runs(product, text=HOSTILE)
    steps: Steps = [["open", "/?group=tag"], ["texts", ".group-title"], ["open", COMPARED], ["wait", LINES], ["axe"]]
    answers, said = browse(site, steps)
    assert HOSTILE in answers[1]
    assert answers[4] == []
    assert said == []


@pytest.mark.parametrize("width", [390, 800, 1280, 2560])
def test_chosen_runs_lie_over_each_other_in_one_chart(site: SiteServer, product: Product, width: int) -> None:
    import_listed_runs(product)
    steps: Steps = [["open", COMPARED], ["wait", LINES], ["texts", f"{VIEW} text.end"], ["count", LINES]]
    steps += [["attribute", [f"{VIEW} path[data-run='4']", "d"]], ["attribute", [f"{VIEW} path[data-run='1']", "d"]]]
    steps += [["cut", VIEW], ["sideways"], ["attribute", [f"{VIEW} svg", "viewBox"]]]
    answers, said = browse(site, steps, width=width)
    assert len(answers[2]) >= 4
    assert all(ROUND.fullmatch(text) or text.endswith(" s") for text in answers[2])
    assert answers[3] == 3
    assert answers[4].count("M") == 2, "run 4 knew nothing of the card for a while"
    assert answers[5].count("M") == 1
    assert answers[6] == []
    assert answers[7] <= 0
    assert float(answers[8].split()[2]) <= width, "letters keep their size"
    assert said == []


def test_the_chart_of_several_runs_is_used_by_mouse_and_keyboard(site: SiteServer, product: Product) -> None:
    import_listed_runs(product)
    told = "figure.overlay .told"
    steps: Steps = [["open", COMPARED], ["wait", LINES], ["point", [VIEW, [0.61, 0.5]]], ["text", told]]
    steps += [["click", "figure.overlay li:nth-child(2) input"], ["settle"], ["count", LINES]]
    steps += [["drag", [VIEW, [0.5, 0.5], [0.6, 0.5]]], ["settle"], ["texts", f"{VIEW} text.middle"]]
    steps += [["choose", ["figure.overlay select", "allocated"]], ["settle"]]
    steps += [["attribute", [f"{VIEW} path[data-run='4']", "d"]], ["focus", VIEW], ["press", "0"], ["settle"]]
    steps += [["press", "ArrowRight"], ["text", told], ["texts", f"{VIEW} text.middle"]]
    answers, said = browse(site, steps)
    assert re.fullmatch(r"1\.7\d\d s: run 2: 4\.80 GiB, run 1: 4\.41 GiB", answers[3]), answers[3]
    assert answers[6] == 2
    assert all(1.2 < float(text.split()[0]) < 2 for text in answers[9])
    assert answers[12].count("M") == 1, "PyTorch's own numbers have no gap"
    assert "run 4: " in answers[17]
    assert "run 2: " not in answers[17]
    assert "0.0 s" in answers[18]
    assert said == []


def test_a_live_chart_has_round_axes(site: SiteServer, product: Product) -> None:
    run = start_run(product, GROWS)
    try:
        steps: Steps = [["open", "/runs/1"], ["wait_text", [".live-numbers", "PyTorch: 256 MiB allocated"]]]
        steps += [["texts", "svg.live text.end"], ["sideways"], ["cut", "svg.live"]]
        answers, said = browse(site, steps, width=390)
    finally:
        run.kill()
        run.wait()
    sizes = [text for text in answers[2] if not text.endswith(" s")]
    assert len(sizes) >= 3
    assert all(ROUND.fullmatch(text) for text in sizes), sizes
    assert answers[3] <= 0
    assert answers[4] == []
    assert said == []
