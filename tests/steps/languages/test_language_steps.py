"""The language settings of a recipe, step by step: joiners, units, whole words, ignored forms."""

from __future__ import annotations

from typing import Any

import pytest
from claim_rows import RULES, choice, envelope, kept, make, model_made, reason, statement, tokenizer
from pydantic import ValidationError

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Fact
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import ProducedBy
from benchbuilder.core.registry import create_from_spec, find_kind
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.steps.writer import ReplyFault

STEM: dict[str, Any] = {
    "stops": ["?", "!"],
    "soft_stops": ["."],
    "abbreviations": ["dr"],
    "blank": None,
    "max_question": 8,
    "unit": "words",
    "clause_mark": ",",
    "trailing": [",", ".", "?"],
    "joiner": " ",
}


def split(question: str, context: str = "", **spec: Any) -> Any:
    return kept(make("split_stem", {**STEM, **spec}).map(choice(question, "iron", "zinc", context=context), {})).payload


def test_the_context_ends_in_what_separates_it_from_the_question():
    payload = split("A woman is tired. Which mineral does she lack?", context="She is 30.")
    assert (payload.context, payload.question) == ("She is 30. A woman is tired. ", "Which mineral does she lack")
    assert split("Which mineral does she lack?").context == ""
    assert split("A woman is tired.\n Which mineral?", joiner="\n").context == "A woman is tired.\n"


def test_a_long_question_is_cut_by_words_or_characters():
    said = "In a woman who is 30 and tired, the mineral she lacks is"
    assert split(said).context == "In a woman who is 30 and tired, "
    assert split(said, max_question=20).context == ""
    assert split(said, max_question=60, unit="characters").context == ""


def test_cleaning_keeps_the_separator():
    spec = {
        "remove": ["*"],
        "numbering": None,
        "inner_numbering": None,
        "inner": "break",
        "sentence_break": "",
        "stops": [],
    }
    row = choice("Which  mineral*", "iron", "zinc", context="She is  30. ")
    payload = kept(make("clean_choice", spec).map(row, {})).payload
    assert (payload.context, payload.question) == ("She is 30. ", "Which mineral")


SPACED = {
    **RULES["state_choice"],
    "seams": [" is"],
    "joiner": " ",
    "stop": ".",
    "ends": ".?!",
    "marks": ".,",
    "max_length": 12,
    "unit": "words",
    "matching": "words",
    "not_questions": [],
    "not_answers": [],
}


def test_question_and_answer_are_joined_with_a_space():
    row = kept(make("state_choice", SPACED).map(choice("The mineral she lacks is", "iron"), {}))
    assert row.text == "The mineral she lacks is iron."
    assert (row.answer.slice_of(row.text), row.seam.slice_of(row.text)) == ("iron", " is")
    assert reason(make("state_choice", {**SPACED, "max_length": 5}).map(choice("The mineral she lacks is", "iron"), {}))
    assert reason(make("state_choice", SPACED).map(choice("The subject of the thesis", "iron"), {})) == "needs_model"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Environmental causes aside, she lacks iron.", "iron"),
        ("Iron is what she lacks.", None),  # another letter: an edit of a short word
        ("She lacks environmental care.", None),
    ],
)
def test_a_models_statement_holds_the_answer_as_a_whole_word(text, found):
    stage = make(
        "state_choice",
        {**SPACED, "keeps": 0.0, "glue": [".*"], "max_glue": 99, "asking": [], "may_go": [], "max_edits": 0},
    )
    made = stage.judge(choice("What does she lack", "iron", "zinc"), {}, text, ProducedBy(rule="model"))
    if found is None:
        assert isinstance(made, ReplyFault)
    else:
        assert made.answer.start == text.rindex("iron")


def test_the_place_of_an_answer_is_no_part_of_a_word():
    true = model_made("Iron helps: she needs iron in the environment.", "iron")
    spec = {**RULES["replace_choice"], "matching": "words"}
    row = kept(make("replace", spec).map(true, {"fact": choice("What does she need", "iron", "zinc")}))
    assert row.text == "Iron helps: she needs zinc in the environment."


def test_an_option_inside_another_word_is_another_option():
    true = statement("与贫血有关的矿物是", "ion")
    fact = {"fact": choice("与贫血有关的矿物是", "ion", "mention")}
    assert reason(make("replace", RULES["replace_choice"]).map(true, fact)) == "ambiguous_option"
    assert kept(make("replace", {**RULES["replace_choice"], "matching": "words"}).map(true, fact)).text.endswith(
        "mention。"
    )


def quiz(*questions: str) -> Table[Any]:
    rows = [choice(question, "iron", "zinc", line=n) for n, question in enumerate(questions, 1)]
    return Table.of(rows, Fact[Choice])


@pytest.mark.parametrize(
    ("match", "fold", "kept_rows"),
    [
        ("contains", [], [1, 2]),
        ("words", [], [2]),
        ("words", ["case"], [0, 2]),
        ("contains", ["case", "marks"], [0, 1, 2, 3]),
    ],
)
def test_words_of_the_list_are_found_whole_or_anywhere(match, fold, kept_rows, tmp_path):
    (tmp_path / "words.txt").write_text("labour\n", encoding="utf-8")
    spec = {"words": str(tmp_path / "words.txt"), "match": match, "fold": fold, "groups": {"any": ["question"]}}
    apart = find_kind("tokenizer", "whitespace").load().spec_class(kind="whitespace", punctuation="apart")
    stage = make("topic", {**spec, "tokenizer": apart})
    texts = ("Labour, then birth", "the laboured breath", "when labour begins.", "a labo\u0301ur")
    found = stage.screen(quiz(*texts)).reasons.to_pylist()
    assert [n for n, reason_ in enumerate(found) if reason_ is None] == kept_rows


def test_a_step_that_needs_words_refuses_overlapping_tokens(tmp_path):
    (tmp_path / "words.txt").write_text("labour\n", encoding="utf-8")
    grams = (
        find_kind("tokenizer", "character_ngrams")
        .load()
        .spec_class(kind="character_ngrams", shortest=2, longest=3, within="words")
    )
    rows = {"each": Fact[Choice]}
    topic = {
        "words": str(tmp_path / "words.txt"),
        "match": "words",
        "groups": {"any": ["question"]},
        "tokenizer": grams,
    }
    assert [c.key for c in make("topic", topic).validate_inputs(rows)] == ["tokenizer"]
    assert not list(make("topic", {**topic, "match": "contains"}).validate_inputs(rows))
    checks = {"odd": {"because": "Odd.", "fields": ["question"], "mode": "word", "patterns": ["x"]}}
    assert [
        c.key for c in make("screen", {"joiner": " ", "checks": checks, "tokenizer": grams}).validate_inputs(rows)
    ] == ["tokenizer"]
    negate = {**RULES["negate_choice"], "tokenizer": grams, "strategy": "rules"}
    assert [c.key for c in make("negate", negate).validate_inputs(rows)] == ["tokenizer"]
    assert not list(make("negate", {**negate, "tokenizer": tokenizer("whitespace")}).validate_inputs(rows))


def test_lengths_of_checks_are_in_words_if_the_recipe_says_so():
    checks = {"long": {"because": "Long.", "fields": ["question+answer"], "at_most": 4, "unit": "words"}}
    stage = make("screen", {"joiner": " ", "checks": checks})
    result = stage.screen(quiz("what she lacks is", "she lacks"))
    assert result.reasons == ["long", None]
    assert result.details[0] == "5 words, more than 4"


def test_a_paragraph_is_short_by_what_people_see():
    page = Passage.build(base="book", document="1", text="o\u0323\u0300" * 5, **envelope(1, "book"))
    spec = {"min_chars": 5, "filter_bases": [], "words": None}
    assert reason(make("paragraphs", spec).map(page, {})) == "too_short"


def test_retrieval_ignores_what_the_recipe_names(tmp_path):
    cls = find_kind("retriever", "bm25").load()
    given = {"variant": "plus", "k1": 1.5, "b": 0.75, "epsilon": 0.25, "delta": 0.5, "top_k": 1, "stop_words": None}
    texts = ["O\u0323mo\u0323 náà ń ke", "ìyá rè̩ ti lo̩"]

    def hits(query: str, *fold: str) -> list[int]:
        spec = cls.spec_class.model_validate(
            {"kind": "bm25", **given, "fold": fold, "tokenizer": tokenizer("whitespace")}
        )
        made = create_from_spec("retriever", spec)
        made.index(texts, tmp_path)
        return [at for at, _ in made.search(query)]

    assert hits("\u1ecdm\u1ecd") == []
    assert hits("\u1eccm\u1ecd") == [0]  # composed here, apart there
    assert hits("omo", "case", "marks") == [0]


@pytest.mark.parametrize("lacking", ["joiner", "unit"])
def test_what_depends_on_the_language_has_no_default(lacking):
    with pytest.raises(ValidationError, match=lacking):
        make("split_stem", {name: value for name, value in STEM.items() if name != lacking})


def test_duplicates_in_two_forms_of_unicode_are_one():
    stage = make("deduplicate", {"fields": {"question": "payload.question"}})
    tables = {"each": quiz("Kí ni \u1ecdm\u1ecd", "Ki\u0301 ni o\u0323mo\u0323", "Kí ni omo")}
    outcomes = account_gather(stage, tables, stage.gather(tables), tables["each"].row).outcomes
    assert outcomes.column("outcome").to_pylist() == ["kept", "dropped", "kept"]
