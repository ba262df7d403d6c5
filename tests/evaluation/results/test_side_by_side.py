import csv
import io
import json
from statistics import fmean

import pytest
from finished_evaluation import Evaluation, item, large
from html_page import Page, squeezed
from test_results import write

from benchbuilder.core import page_texts
from benchbuilder.core.errors import DataError
from benchbuilder.evaluation.results.side_by_side import write_side_by_side


def saved(folder, build):
    return write(folder, build)["results.json"]


def beside(tmp_path, first, second, language="en"):
    left, right = saved(tmp_path / "left", first), saved(tmp_path / "right", second)
    files = write_side_by_side(left, right, tmp_path / "both", texts=page_texts(language))
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def rows_of(files):
    return {(row["table"], row["line"], row["column"]): row for row in csv.DictReader(io.StringIO(files["beside.csv"]))}


def rated(values, said, skip=()):
    made = Evaluation([item(n) for n in range(6) if n not in skip])
    for row in made.items:
        number = row.origin.line - 1
        for model, given in values.items():
            made.answer(model, row)
            made.score("people_rate", "correctness", model, row, given[number])
            made.verdict(model, row, said)
    return made


GLAD = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def test_differences_are_second_less_first_over_common_items(tmp_path):
    later = [0.2, 0.2, 0.5, 0.4, 0.9, 0.9]
    files = beside(
        tmp_path, rated({"glad": GLAD, "old": GLAD}, "yes").finished(),
        rated({"glad": later, "new": later}, "no", skip={5}).finished(),
    )  # fmt: skip
    rows = rows_of(files)
    glad = rows["means_correctness_people_rate", "glad", "mean"]
    assert float(glad["first"]) == pytest.approx(fmean(GLAD[:5]))
    assert float(glad["second"]) == pytest.approx(fmean(later[:5]))
    assert float(glad["difference"]) == pytest.approx(fmean([0.1, 0, 0.2, 0, 0.4]))
    assert float(glad["difference_low"]) >= 0
    assert glad["n"] == "5"
    old, new = (rows["means_correctness_people_rate", name, "mean"] for name in ("old", "new"))
    assert (old["first_whole"], old["second_whole"], old["first"], old["n"]) == ("0.35", "", "", "0")
    assert (new["first_whole"], new["second_whole"], new["difference"]) == ("", "0.44", "")
    assert (float(glad["first_whole"]), glad["first_n"]) == (pytest.approx(fmean(GLAD)), "6")
    assert (float(glad["second_whole"]), glad["second_n"]) == (pytest.approx(fmean(later[:5])), "5")
    accuracy = rows["verdicts_verdict_verdict", "glad", "accuracy"]
    assert (accuracy["first"], accuracy["second"]) == ("1", "0")
    text = squeezed(" ".join(Page(files["beside.html"]).text.values()))
    assert "The two runs cover different items" in text
    assert "old only in the first" in text
    assert "new only in the second" in text


@pytest.mark.push
def test_unchanged_items_have_the_same_score_bit_for_bit(tmp_path):
    values = [0.1, 0.7, 0.3, 0.2, 0.6, 0.9]
    files = beside(tmp_path, rated({"glad": values}, "yes").finished(), rated({"glad": values}, "yes", {1}).finished())
    glad = rows_of(files)["means_correctness_people_rate", "glad", "mean"]
    assert glad["first"] == glad["second"]
    assert float(glad["first"]) == pytest.approx(fmean(values[:1] + values[2:]))
    assert (glad["difference"], glad["n"]) == ("0", "5")
    assert glad["first_whole"] != glad["second_whole"] == glad["second"]
    assert "every score on them is the same" in files["beside.md"]
    other = beside(tmp_path, rated({"glad": values}, "yes").finished(), rated({"glad": GLAD}, "yes", {1}).finished())
    assert "On 3 of the 5 items in common, scores differ." in other["beside.md"]


@pytest.mark.push
def test_a_run_beside_itself_differs_in_nothing(tmp_path):
    files = beside(tmp_path, large(30), large(30))
    assert {row["difference"] for row in rows_of(files).values()} == {"0"}
    assert "Both runs cover the same items." in files["beside.md"]
    assert "The recipes are the same." in files["beside.md"]
    assert "Nothing else changed." in files["beside.md"]


@pytest.mark.push
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_is_well_formed(tmp_path, language):
    files = beside(tmp_path, large(30, title="a <b>"), large(30, seed=5, title="c & d"), language)
    page = Page(files["beside.html"])
    assert len(page.ids) == len(set(page.ids))
    assert not page.links
    assert "a <b>" in page.text[""]
    assert "<b>" not in files["beside.html"].replace("<b>&", "")
    assert "a &lt;b&gt;" in files["beside.md"]


def test_runs_that_share_nothing_say_so(tmp_path):
    other = Evaluation([item(9)])
    other.answer("glad", other.items[0])
    other.score("people_rate", "correctness", "glad", other.items[0], 1.0)
    files = beside(tmp_path, rated({"glad": GLAD}, "yes").finished(), other.finished())
    assert "The two runs share no items." in files["beside.md"]
    glad = rows_of(files)["means_correctness_people_rate", "glad", "mean"]
    assert (glad["first_whole"], glad["second_whole"], glad["difference"]) == ("0.35", "1", "")


def test_files_that_are_none_of_ours_are_told(tmp_path):
    good = saved(tmp_path, rated({"glad": GLAD}, "yes").finished())
    bad = tmp_path / "bad.json"
    for text, match in (("{", "not JSON"), ("[]", "unknown format"), (json.dumps({"schema": 99}), "unknown format")):
        bad.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=match):
            write_side_by_side(good, bad, tmp_path / "out", texts=page_texts("en"))
    with pytest.raises(DataError, match="cannot be read"):
        write_side_by_side(tmp_path / "gone.json", good, tmp_path / "out", texts=page_texts("en"))
