import itertools
import re
import string
from importlib.resources import files

import pytest
from finished_build import finished

from benchbuilder.exporters.render.i18n import Wording, texts_of
from benchbuilder.exporters.render.svg import Bar, Series, bars, columns, shorten, tag, ticks
from benchbuilder.exporters.report import funnel
from benchbuilder.exporters.report.annotation import judgements
from benchbuilder.exporters.report.blind_baselines import baselines, polarity
from benchbuilder.exporters.report.entries import ancestry, candidates, examples, items


def holes(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_both_languages_say_the_same_things():
    english, chinese = texts_of("en"), texts_of("zh")
    assert english.keys() == chinese.keys()
    for key in english:
        assert holes(english[key]) == holes(chinese[key]), key


def test_every_text_that_a_template_asks_for_is_there():
    folder = files("benchbuilder.exporters.report").joinpath("templates")
    asked = set()
    for path in [*folder.iterdir(), *folder.joinpath("report").iterdir()]:
        if path.is_file():
            asked |= set(re.findall(r'\bt\("([a-z_.]+)"\s*[,)]', path.read_text(encoding="utf-8")))
    assert len(asked) > 100
    assert not asked - texts_of("en").keys()


def test_names_that_nobody_translated_stay_as_they_are():
    assert Wording("zh").get("column.dish", "dish") == "dish"
    with pytest.raises(KeyError):
        Wording("zh")("report.missing")


def test_examples_are_spread_and_depend_on_the_seed_alone():
    entries = items(finished(200))
    drawn = examples(entries, 20, 11)
    groups = {(entry.source, entry.type) for entry in entries}
    assert {(entry.source, entry.type) for entry in drawn} == groups
    assert drawn == examples(list(reversed(entries)), 20, 11)
    assert drawn != examples(entries, 20, 12)
    assert examples(entries[:3], 20, 11) == sorted(entries[:3], key=lambda e: (e.source, e.type, e.row.id))
    assert examples([], 20, 11) == []


def test_ancestry_goes_from_fact_to_question():
    build = finished(30)
    (entry,) = items(build)[:1]
    if entry.source not in ("medqa", "mlecqa"):
        entry = next(e for e in items(build) if e.source in ("medqa", "mlecqa"))
    assert [a.role for a in ancestry(build, [entry])[entry.row.id]] == ["fact", "statement", "question"]


def test_candidates_carry_what_was_retrieved_for_them():
    build = finished(30)
    retrieved = list(build.tables["evidence"])
    for entry in candidates(build):
        assert [p.text for p in entry.evidence] == [row.text for row in retrieved if row.of == entry.row.id]


def test_branches_follow_each_source_through_its_steps():
    build = finished(60)
    branches = {branch.source: branch for branch in funnel.branches(build)}
    assert [step.step for step in branches["bios"].steps] == [
        "topic",
        "state",
        "ask",
        "candidates",
        "evidence",
        "items",
    ]
    assert branches["textbooks"].steps == ()
    assert branches["bios"].joined == 120
    assert branches["bios"].units.tickets == branches["bios"].units.kept + 8
    assert branches["bios"].why == (("duplicate", 5), ("malformed", 3))


def test_reasons_are_ranked_within_a_step_and_losses_only():
    rows = funnel.reasons(finished(300), "dropped")
    asked = [row for row in rows if row.step == "ask"]
    assert [row.name for row in asked] == ["too_long", "leaks", "two_sentences", "no_seam"]
    assert asked[0].sentence == "The question is too long."
    assert asked[0].total == sum(asked[0].by_source.values())
    assert [row.name for row in funnel.reasons(finished(), "not_applicable")] == ["other_branch"]


def test_words_without_a_list_are_those_of_the_tallies():
    found = funnel.words(finished())
    assert found is not None
    assert found.silent == ()
    assert found.total == 10
    assert next(iter(found.hits["medqa"])) == "缩宫素"


def test_a_word_that_the_tally_counts_zero_times_is_silent():
    build = finished()
    (topic,) = [account for account in build.accounts if account.step == "topic"]
    topic.tallies["words", "medqa", "脐带先露"] = 0
    found = funnel.words(build)
    assert found is not None
    assert found.silent == ("脐带先露",)
    assert "脐带先露" not in found.hits["medqa"]


def test_polarity_and_baselines():
    entries = items(finished(200))
    asked = [entry for entry in entries if entry.expected]
    rows = polarity(entries, ["medqa", "bios", "nobody"])
    assert [row.source for row in rows] == ["medqa", "bios"]
    assert sum(row.total for row in rows) == sum(e.source in ("medqa", "bios") for e in asked)
    found = {(row.name, row.source): row for row in baselines(entries, ["bios"], ["不"])}
    assert found["always_yes", ""].right + found["always_no", ""].right == len(asked)
    assert found["cue", "bios"].score == 1.0
    assert baselines([], ["bios"], []) == []


def test_judgements_are_read_from_the_notes():
    (found,) = judgements(finished(60)).values()
    assert [row.chosen for row in found.survivors] == [False, False, False, True, False, False]
    assert [row.name for row in found.agreement if row.is_lopsided] == ["single"]
    assert found.agreement[3].measures["kappa"].words == "both annotators always gave the same answer"
    assert not found.agreement[3].gates
    assert judgements(finished(60, reviewed=False)) == {}
    assert judgements(finished(60, state="waiting")) == {}


@pytest.mark.parametrize(("top", "last"), [(0, 1), (1, 1), (3, 3), (87, 100), (100, 100), (101, 150), (12345, 15000)])
def test_ticks_are_whole_and_reach_the_top(top, last):
    scale = ticks(top)
    assert scale[-1] == last >= top
    assert all(value == int(value) for value in scale)
    assert len({b - a for a, b in itertools.pairwise(scale)}) == 1


def test_charts_escape_what_they_are_given():
    assert tag("text", "<b>", title='"') == '<text title="&#34;">&lt;b&gt;</text>'
    assert "<b>" not in bars([Bar("<b>", 1, "1", "c0")], "<b>")


def test_stacked_columns_are_as_high_as_their_values():
    chart = columns(["a", "b"], [Series("x", "c0", [1, 0]), Series("y", "c1", [3, 4])], "t", axis="n", totals=True)
    heights = [float(h) for h in re.findall(r'height="([\d.]+)" class="c\d edge"', chart)]
    assert heights == [37.5, 112.5, 150.0]
    assert chart.count("<rect") == 3
    assert columns([], [], "empty", axis="")


def test_long_labels_are_cut():
    assert shorten("妊娠期糖尿病", 40).endswith("…")
    assert shorten("bios", 104) == "bios"
