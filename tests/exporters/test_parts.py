import itertools
import re

import pytest
from finished_build import finished

from benchbuilder.core import page_texts
from benchbuilder.exporters.render.svg import (
    Bar,
    Series,
    axis_ticks,
    bar_chart,
    column_chart,
    shorten_label,
    svg_element,
)
from benchbuilder.exporters.report import funnel
from benchbuilder.exporters.report.annotation import annotation_summaries
from benchbuilder.exporters.report.counts import polarity_counts, sample_entries, score_blind_baselines
from benchbuilder.exporters.report.entries import candidate_entries, entry_ancestors, entry_of, item_entries
from benchbuilder.exporters.report.summaries import (
    candidate_summaries,
    item_summaries,
    load_entries,
    summary_of,
)


def test_names_that_nobody_translated_stay_as_they_are():
    assert page_texts("zh").get("column.dish", "dish") == "dish"
    with pytest.raises(KeyError):
        page_texts("zh")("report.missing")


def test_examples_are_spread_and_depend_on_the_seed_alone():
    entries = item_summaries(finished(200))
    drawn = sample_entries(entries, 20, 11)
    groups = {(entry.source, entry.type) for entry in entries}
    assert {(entry.source, entry.type) for entry in drawn} == groups
    assert drawn == sample_entries(list(reversed(entries)), 20, 11)
    assert drawn != sample_entries(entries, 20, 12)
    assert sample_entries(entries[:3], 20, 11) == sorted(entries[:3], key=lambda e: (e.source, e.type, e.id))
    assert sample_entries([], 20, 11) == []


def test_ancestry_goes_from_fact_to_question():
    build = finished(30)
    (entry,) = item_entries(build)[:1]
    if entry.source not in ("medqa", "mlecqa"):
        entry = next(e for e in item_entries(build) if e.source in ("medqa", "mlecqa"))
    assert [a.role for a in entry_ancestors(build, [entry])[entry.row.id]] == ["fact", "statement", "question"]


def test_candidates_carry_what_was_retrieved_for_them():
    build = finished(30)
    retrieved = list(build.tables["evidence"])
    for entry in candidate_entries(build):
        assert [p.text for p in entry.evidence] == [row.text for row in retrieved if row.of == entry.row.id]


@pytest.mark.parametrize("state", ["done", "waiting"])
def test_summaries_say_of_entries_what_counts(state):
    build = finished(30, state=state)
    find, entries = (
        (item_summaries, item_entries(build)) if state == "done" else (candidate_summaries, candidate_entries(build))
    )
    summaries = find(build, ["不"])
    assert summaries == [summary_of(entry, ["不"]) for entry in entries]
    assert {entry.has_cue for entry in summaries} == {True, False}
    assert load_entries(build, [entry.id for entry in summaries[5:2:-1]]) == entries[5:2:-1]
    assert load_entries(build, []) == []


def test_branches_follow_each_source_through_its_steps():
    build = finished(60)
    branches = {branch.source: branch for branch in funnel.source_funnels(build)}
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
    assert branches["bios"].units.total == branches["bios"].units.kept + 8
    assert branches["bios"].why == (("duplicate", 5), ("malformed", 3))


def test_reasons_are_ranked_within_a_step_and_losses_only():
    rows = funnel.reason_counts(finished(300), "dropped")
    asked = [row for row in rows if row.step == "ask"]
    assert [row.name for row in asked] == ["too_long", "leaks", "two_sentences", "no_seam"]
    assert asked[0].sentence == "The question is too long."
    assert asked[0].total == sum(asked[0].by_source.values())
    assert [row.name for row in funnel.reason_counts(finished(), "not_applicable")] == ["other_branch"]


def test_words_without_a_list_are_those_of_the_tallies():
    found = funnel.word_matches(finished())
    assert found is not None
    assert found.unmatched == ()
    assert found.total == 10
    assert next(iter(found.matches["medqa"])) == "缩宫素"


def test_a_word_that_the_tally_counts_zero_times_is_silent():
    build = finished()
    (topic,) = [account for account in build.step_counts if account.step == "topic"]
    topic.tallies["words", "medqa", "脐带先露"] = 0
    found = funnel.word_matches(build)
    assert found is not None
    assert found.unmatched == ("脐带先露",)
    assert "脐带先露" not in found.matches["medqa"]


def test_polarity_and_baselines():
    entries = item_summaries(finished(200), ["不"])
    asked = [entry for entry in entries if entry.expected]
    rows = polarity_counts(entries, ["medqa", "bios", "nobody"])
    assert [row.source for row in rows] == ["medqa", "bios"]
    assert sum(row.total for row in rows) == sum(e.source in ("medqa", "bios") for e in asked)
    found = {(row.name, row.source): row for row in score_blind_baselines(entries, ["bios"], cue_words=True)}
    assert found["always_yes", ""].correct + found["always_no", ""].correct == len(asked)
    assert found["cue", "bios"].score == 1.0
    assert score_blind_baselines([], ["bios"]) == []
    assert ("longest", "") not in found


def test_where_answers_are_proposed_the_longer_one_is_a_baseline():
    rows = [row.model_copy(update={"form": "verify"}) for row in (entry.row for entry in item_entries(finished(40)))]
    entries = [entry_of(row) for row in rows]
    (longest,) = (
        row for row in score_blind_baselines([summary_of(entry, []) for entry in entries], []) if row.name == "longest"
    )
    asked = [entry for entry in entries if entry.expected]
    right = sum(len(e.cells["answer"]) > len(e.cells["answer-wrong"]) for e in asked)
    tied = sum(len(e.cells["answer"]) == len(e.cells["answer-wrong"]) and e.expected == "yes" for e in asked)
    assert (longest.correct, longest.total) == (right + tied, len(asked))


def test_judgements_are_read_from_the_notes():
    (found,) = annotation_summaries(finished(60)).values()
    assert [row.chosen for row in found.thresholds] == [False, False, False, True, False, False]
    assert [row.name for row in found.agreement if row.is_imbalanced] == ["single"]
    assert found.agreement[3].measures["kappa"].words == "both annotators always gave the same answer"
    assert not found.agreement[3].gates
    assert annotation_summaries(finished(60, reviewed=False)) == {}
    assert annotation_summaries(finished(60, state="waiting")) == {}


@pytest.mark.parametrize(("top", "last"), [(0, 1), (1, 1), (3, 3), (87, 100), (100, 100), (101, 150), (12345, 15000)])
def test_ticks_are_whole_and_reach_the_top(top, last):
    scale = axis_ticks(top)
    assert scale[-1] == last >= top
    assert all(value == int(value) for value in scale)
    assert len({b - a for a, b in itertools.pairwise(scale)}) == 1


def test_charts_escape_what_they_are_given():
    assert svg_element("text", "<b>", title='"') == '<text title="&#34;">&lt;b&gt;</text>'
    assert "<b>" not in bar_chart([Bar("<b>", 1, "1", "c0")], "<b>")


def test_stacked_columns_are_as_high_as_their_values():
    chart = column_chart(["a", "b"], [Series("x", "c0", [1, 0]), Series("y", "c1", [3, 4])], "t", axis="n", totals=True)
    heights = [float(h) for h in re.findall(r'height="([\d.]+)" class="c\d edge"', chart)]
    assert heights == [37.5, 112.5, 150.0]
    assert chart.count("<rect") == 3
    assert column_chart([], [], "empty", axis="")


def test_long_labels_are_cut():
    assert shorten_label("妊娠期糖尿病", 40).endswith("…")
    assert shorten_label("bios", 104) == "bios"
