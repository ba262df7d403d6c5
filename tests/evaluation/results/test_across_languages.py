"""The same facts in two languages: which families are shared, what a model knows in each, and how sure a gap is."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from test_pressure import BOOTSTRAP
from test_side_by_side import rated, saved

from benchbuilder.core import page_texts
from benchbuilder.evaluation.results.across_languages import SharedItems, language_gaps, shared_items
from benchbuilder.evaluation.results.side_by_side import write_side_by_side


def run(*items: tuple[str, list[str], str]) -> dict[str, Any]:
    """Results of items, each with its family, the facts that it is made of, and its right verdict."""
    lines = [[f"item-{place}", family, "exam", "TF", expected] for place, (family, _, expected) in enumerate(items)]
    return {"items": lines, "facts": [facts for _, facts, _ in items]}


ENGLISH = run(("fact-1", ["fact-1"], "yes"), ("fact-1", ["fact-1"], "no"), ("x", ["fact-2", "fact-3"], "no"),
              ("fact-4", ["fact-4"], "yes"))  # fmt: skip


def test_families_are_joined_by_the_facts_of_the_original():
    spanish = run(("fact-91", ["fact-91", "fact-1"], "no"), ("fact-92", ["fact-92", "fact-3"], "no"),
                  ("fact-95", ["fact-95", "fact-5"], "yes"))  # fmt: skip
    assert [(one.first, one.second) for one in shared_items(ENGLISH, spanish)] == [((1,), (0,)), ((2,), (1,))]
    joined = run(("fact-91", ["fact-91", "fact-1"], "no"), ("fact-91", ["fact-92", "fact-3"], "no"))
    (one,) = shared_items(ENGLISH, joined)
    assert (one.first, one.second) == ((1, 2), (0, 1)), "one family in Spanish is one in both"


def test_a_question_with_the_other_verdict_is_not_compared():
    spanish = run(("fact-91", ["fact-91", "fact-1"], "no"), ("fact-94", ["fact-94", "fact-4"], "no"))
    shared = shared_items(ENGLISH, spanish)
    (gap,) = language_gaps({"yes-sayer": [1.0, 0.0, 0.0, 1.0]}, {"yes-sayer": [0.0, 0.0]}, shared, BOOTSTRAP)
    assert (gap.gap.value, gap.gap.n) == (0, 1)


def test_a_gap_is_over_families_and_not_over_items():
    shared = [SharedItems("a", (0, 1), (0,)), SharedItems("a", (2,), (1,)), SharedItems("b", (3,), (2,)),
              SharedItems("c", (4,), (3,)), SharedItems("d", (5,), (4,))]  # fmt: skip
    first = {"m": [1.0, 0.0, 1.0, 1.0, 1.0, None], "only here": [1.0] * 6}
    second = {"m": [1.0, 1.0, 0.0, 1.0, 1.0]}
    (gap,) = language_gaps(first, second, shared, BOOTSTRAP)
    assert (gap.model, gap.gap.n) == ("m", 3), "the fourth family has no answer in the first language"
    assert (gap.first, gap.second) == (pytest.approx(2.75 / 3), pytest.approx(2 / 3))
    assert gap.gap.value == pytest.approx(0.75 / 3)
    assert gap.known == {"both": 1, "only_first": 1, "only_second": 1, "none": 0}
    assert gap.needed == 1372  # (2.8 · sd / 0.05)² with differences -0.25, 1 and 0


def test_equal_names_of_families_join_nothing():
    other = run(("x", [], "no"), ("fact-1", [], "yes"))
    assert shared_items(ENGLISH, other) == []


def test_side_by_side_compares_what_is_known_in_each_language(tmp_path: Path) -> None:
    values = [0.1, 0.7, 0.3, 0.2, 0.6, 0.9]
    english = saved(tmp_path / "left", rated({"glad": values}, "yes").finished())
    spanish = saved(tmp_path / "right", rated({"glad": values}, "no").finished())
    data = json.loads(english.read_text("utf-8"))
    other = json.loads(spanish.read_text("utf-8"))
    other["language"], facts = "es", [[f"fact-{place}"] for place in range(6)]
    data["language"], data["facts"] = "en", facts
    other["items"] = [[f"es-{place}", f"es-{place}", *line[2:]] for place, line in enumerate(other["items"])]
    other["facts"] = [["fact-es", *own] for own in facts[:1]] + facts[1:]
    for file, changed in ((english, data), (spanish, other)):
        file.write_text(json.dumps(changed), "utf-8")
    files = {path.name: path for path in write_side_by_side(english, spanish, tmp_path, texts=page_texts("en"))}
    (line,) = csv.DictReader(io.StringIO(files["beside_languages.csv"].read_text("utf-8")))
    assert line["table"] == "languages_verdict_verdict", "how near texts are is not compared over languages"
    assert (line["model"], line["families"], line["first"], line["second"], line["gap"]) == ("glad", "6", "1", "0", "1")
    assert (line["both"], line["only_first"], line["only_second"], line["none"]) == ("0", "6", "0", "0")
    page = files["beside.html"].read_text("utf-8")
    assert "two languages, en and es: 6 families have items with the same right verdict in both" in page
    assert "The two runs share no items" not in page
