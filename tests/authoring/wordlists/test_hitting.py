"""What words hit: counts, what a word alone brings, and samples that do not hang on how rows are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchbuilder.authoring.wordlists import match_counts as count_hits
from benchbuilder.authoring.wordlists.match_counts import MatchCounts, count_matches
from benchbuilder.authoring.wordlists.plan import TopicStep
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Fact, Option, Triple
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.steps.topic import TopicSpec


class Held:
    """A plan and a store that hold tables by node."""

    def __init__(self, **tables: Table[Any]) -> None:
        self.tables, self.nodes = tables, dict.fromkeys(tables, self)
        self.key = ""

    def manifest(self, name: str, _: str) -> str:
        return name

    def rows(self, name: str) -> Table[Any]:
        return self.tables[name]


@pytest.fixture(autouse=True)
def _held(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr("benchbuilder.authoring.wordlists.match_counts.stored_table", Held.rows)


def envelope(line: int, partition: str) -> dict[str, Any]:
    return {
        "origin": Origin(file=f"{partition}.tsv", line=line), "produced_by": ProducedBy(rule="x"), "language": "zh",
        "partition": partition,
    }  # fmt: skip


def triples(*pairs: tuple[str, str], partition: str = "bios") -> Table[Any]:
    rows = [
        Fact[Triple].build(payload=Triple(head=head, relation="见于", tail=tail), **envelope(line, partition))
        for line, (head, tail) in enumerate(pairs, start=1)
    ]
    return Table.of(rows, Fact[Triple])


def choices(*questions: str, partition: str = "medqa") -> Table[Any]:
    options = (Option(key="A", text="贫血"), Option(key="B", text="肺炎"))
    rows = [
        Fact[Choice].build(
            payload=Choice(question=text, options=options, answer_key="A", answer="贫血"), **envelope(line, partition)
        )
        for line, text in enumerate(questions, start=1)
    ]
    return Table.of(rows, Fact[Choice])


def topic(match: str, groups: dict[str, list[str]], **more: Any) -> TopicSpec:
    return TopicSpec.model_validate(
        {"kind": "topic", "from": "x", "words": "none.txt", "match": match, "groups": groups, **more}
    )


def found(words: list[str], searched: list[TopicStep], held: Any, seed: int = 1) -> MatchCounts:
    return count_matches(words, searched, held, held, seed)


ANYWHERE = topic("contains", {"anywhere": ["question", "options"]})
BOTH_ENDS = topic("exact", {"head": ["head"], "tail": ["tail"]})


def test_a_word_alone_brings_the_rows_that_are_lost_without_it():
    held = Held(rows=choices("母乳喂养", "母乳", "羊水与母乳", "羊水", "发热"))
    hits = found(["母乳", "母乳喂养", "羊水", "脐带"], [TopicStep("on_topic", ANYWHERE, ("rows",))], held)
    assert hits.totals().tolist() == [3, 1, 2, 0]
    assert hits.only_match_counts.tolist() == [1, 0, 1, 0]
    assert (hits.rows, hits.rows_on_topic) == (5, 4)
    assert [[sample.is_only_match for sample in samples] for samples in hits.samples] == [
        [True, False, False], [False], [True, False], [],
    ]  # fmt: skip
    assert hits.samples[0][0].text == "母乳 | 贫血 | 肺炎"
    assert hits.samples[0][0].source == "medqa.tsv:2"


def test_with_several_groups_a_row_needs_a_word_in_each():
    held = Held(rows=triples(("子痫", "孕妇"), ("子痫", "成人"), ("肺炎", "孕妇"), ("孕妇", "孕妇")))
    hits = found(["子痫", "孕妇"], [TopicStep("on_topic", BOTH_ENDS, ("rows",))], held)
    assert hits.totals().tolist() == [2, 3], "counted as the step counts: kept or not"
    assert hits.rows_on_topic == 2
    assert hits.only_match_counts.tolist() == [1, 2], "either word is all that its end has"
    assert [sample.source for sample in hits.samples[0]] == ["bios.tsv:1"], "rows off topic are no samples"


def test_columns_are_sources_and_a_source_of_two_steps_is_told_apart():
    held = Held(a=choices("母乳"), b=Table.concat([choices("母乳"), choices("羊水", partition="mlecqa")], Fact[Choice]))
    searched = [TopicStep("first", ANYWHERE, ("a",)), TopicStep("second", ANYWHERE, ("b",))]
    hits = found(["母乳"], searched, held)
    assert {name: counts.tolist() for name, counts in hits.counts.items()} == {
        "medqa": [1], "medqa (second)": [1], "mlecqa": [0],
    }  # fmt: skip
    assert hits.totals().tolist() == [2]


def test_samples_are_drawn_by_the_seed_and_do_not_hang_on_how_rows_are_cut(monkeypatch: pytest.MonkeyPatch):
    held = Held(rows=choices(*(f"母乳{number}" + ("羊水" if number % 3 else "") for number in range(90))))
    searched = [TopicStep("on_topic", ANYWHERE, ("rows",))]
    whole = found(["母乳", "羊水"], searched, held)
    assert [len(samples) for samples in whole.samples] == [10, 10]
    assert all(sample.is_only_match for sample in whole.samples[0])
    assert not any(sample.is_only_match for sample in whole.samples[1])
    monkeypatch.setattr(count_hits, "_AT_ONCE", 7)
    assert found(["母乳", "羊水"], searched, held).samples == whole.samples
    other = found(["母乳", "羊水"], searched, held, seed=2)
    assert other.samples != whole.samples
    assert other.only_match_counts.tolist() == whole.only_match_counts.tolist()


def test_what_does_not_count_for_the_step_does_not_count_here():
    held = Held(rows=choices("HELLP", "Hellp综合征"))
    strict, folded = (topic("contains", {"anywhere": ["question"]}, fold=fold) for fold in ([], ["case"]))
    plain = found(["hellp"], [TopicStep("on_topic", strict, ("rows",))], held)
    assert plain.totals().tolist() == [0]
    hits = found(["hellp"], [TopicStep("on_topic", folded, ("rows",))], held)
    assert hits.totals().tolist() == [2]


def test_a_long_text_is_shown_around_the_word_and_texts_of_a_corpus_too():
    text = "甲" * 300 + "母乳" + "乙" * 300
    row = Passage.build(base="wiki", document="1", title="喂养", text=text, **envelope(1, "wiki"))
    held = Held(rows=Table.of([row], Passage))
    spec = topic("contains", {"anywhere": ["title", "text"]})
    [[sample]] = found(["母乳"], [TopicStep("on_topic", spec, ("rows",))], held).samples
    assert "母乳" in sample.text
    assert sample.text.startswith("…甲")
    assert sample.text.endswith("乙…")
    assert len(sample.text) <= 162


def test_no_words_and_no_rows_are_no_trouble(tmp_path: Path):
    held = Held(rows=choices(), full=choices("母乳"))
    searched = [TopicStep("on_topic", ANYWHERE, ("rows", "full"))]
    assert found([], searched, held).samples == []
    assert found(["羊水"], searched, held).totals().tolist() == [0]
