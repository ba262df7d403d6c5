"""What the bundled recipe `care_mi` promises: its sample, its rules of annotation, its card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bundled_builds import shared

from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.annotation import AnnotationSpec
from benchbuilder.core.records.name_sets import OPEN_SET, SET_FORM, set_members
from benchbuilder.core.text.wordlist import load_words

CARE_MI = Path(__file__).parents[2] / "recipes" / "recipe" / "care_mi"
SAMPLE = CARE_MI / "sample"


def lines(path: str) -> list[str]:
    return (SAMPLE / path).read_text(encoding="utf-8").splitlines()


def judging(*words: str) -> AnnotationSpec:
    spec = load_recipe(["recipe=care_mi", *words], cwd=Path("/nowhere"), environ={}).recipe.annotation
    assert isinstance(spec, AnnotationSpec)
    return spec


def test_the_word_list_has_glosses_and_is_large_enough():
    path = CARE_MI / "words.txt"
    words = load_words(path)
    assert len(words) >= 238
    text = path.read_text(encoding="utf-8")
    entries = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert len(entries) == len(words)
    assert all(gloss.strip() for _, _, gloss in (entry.partition("\t") for entry in entries))


def test_the_sample_is_large_enough():
    assert sum(len(lines(f"medqa/{split}.jsonl")) for split in ("train", "dev", "test")) >= 120
    mlecqa = [json.loads(path.read_text(encoding="utf-8")) for path in (SAMPLE / "mlecqa").glob("[CPS][lut]*.json")]
    assert sum(map(len, mlecqa)) >= 80
    triples = [line.split("\t") for line in lines("cpubmed.tsv")[1:]]
    assert len(triples) >= 160
    assert len({cells[1] for cells in triples if len(cells) == 3}) >= 25
    names = dict(line.split("|CHS|") for line in lines("bios/relation_names.txt") if "|CHS|" in line)
    relations = [line.split("|") for line in lines("bios/relations.txt")]
    assert len(relations) >= 60
    assert any(names.get(cells[3], "").endswith("（反向）") for cells in relations if len(cells) > 3)
    assert len(lines("textbook.jsonl")) >= 250
    pages = [json.loads(line)["text"].split("\n") for line in lines("encyclopaedia.jsonl")]
    assert sum(map(len, pages)) >= 150


@pytest.fixture(scope="module")
def items(once, tmp_path_factory):
    return shared(once, "care_mi", tmp_path_factory.mktemp("built")).rows("items")


@pytest.mark.push
def test_sets_are_asked_for_and_bring_most_facts_of_the_graph_into_items(items):
    sets = [item for item in items if item.form == SET_FORM]
    assert len(sets) >= 24
    facts = {item.fact for item in items if item.partition in ("bios", "cpubmed") and item.form != SET_FORM}
    members = 0
    for item in sets:
        right, wrong = (set_members(text) for text in (item.payload.answer, item.payload.answer_wrong))
        assert 2 <= len(right) <= 4
        assert len(wrong) in (0, len(right))
        assert not {name for names in right for name in names} & {name for names in wrong for name in names}
        assert item.payload.type == "oe"
        assert item.fact not in facts
        members += len(right)
    assert len(facts) + members >= 80
    # of an open relation nothing tells what is wrong
    assert {item.tags for item in sets if not item.payload.answer_wrong} == {(OPEN_SET,)}


@pytest.mark.full
def test_the_guiding_questions_stand_in_the_order_of_the_paper():
    names = ["single_answer", "norm", "accurate_answer", "supports", "fluent"]
    assert list(judging().questions_about()) == [*names, "wrong_is_wrong"]
    assert list(judging("variant=reference").questions_about()) == names
    for spec in (judging(), judging("variant=reference")):
        assert [q.label[0] for q in spec.questions_about().values()] == list("①②③④⑤⑥"[: len(spec.questions_about())])
        assert all(spec.keep[name] == 1 for name in spec.questions_about())
        assert spec.min_evidence == 3


@pytest.mark.push
@pytest.mark.parametrize("words", [[], ["variant=reference"]], ids=" ".join)
def test_the_card_says_what_differs_from_the_paper(words):
    card = load_recipe(["recipe=care_mi", *words], cwd=Path("/nowhere"), environ={}).recipe.card
    assert card.deviations
    told = "\n".join(card.deviations)
    if not words:
        for word in (
            "CWM",
            "letter",
            "half-width",
            "常",
            "options",
            "Negation",
            "exchange their answers",
            "affirmed",
            "是多少",
            "sixth",
        ):
            assert word in told, word
    else:
        assert "sixth" not in told


@pytest.mark.push
def test_duplicates_are_first_looked_for_inside_each_source():
    recipe = load_recipe(["recipe=care_mi"], cwd=Path("/nowhere"), environ={}).recipe
    assert recipe.steps["unique"].fields["source"] == "partition"  # pyright: ignore[reportAttributeAccessIssue]
    assert recipe.steps["facts_choice"].prefer == ("medqa", "mlecqa")  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.push
def test_the_variant_writes_heads_in_title_case_and_counts_question_marks():
    ours, theirs = (
        load_recipe(["recipe=care_mi", *words], cwd=Path("/nowhere"), environ={}).recipe
        for words in ([], ["variant=reference"])
    )
    cases = [recipe.sources["bios"].head_case for recipe in (ours, theirs)]  # pyright: ignore[reportAttributeAccessIssue]
    assert cases == ["as_is", "title"]
    trailing = [recipe.steps["stem"].trailing for recipe in (ours, theirs)]  # pyright: ignore[reportAttributeAccessIssue]
    assert set(trailing[0]) - set(trailing[1]) == {"？", "?"}
