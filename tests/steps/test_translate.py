"""Words of other languages are translated by a dictionary or by a model, or dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from claim_rows import PROMPTS
from gathered import outcomes_of
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact, Term
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.text.normalise import fold_text
from benchbuilder.models.base import Reply
from benchbuilder.models.providers.openai import OpenAISpec
from benchbuilder.steps.terms import MergeTerms, MergeTermsSpec, NormaliseTerm, NormaliseTermSpec
from benchbuilder.steps.translate import Translate, TranslateSpec, read_dictionary

RECIPES = Path(__file__).parents[2] / "recipes"
DICTIONARY = "# ours\nplacenta\t胎盘\npre-eclampsia\t先兆子痫\t子痫前期\nPre-eclampsia\t子痫前期\nHELLP\tHELLP\n"
MODEL = OpenAISpec(kind="openai", name="some-model")


def word_settings(language: str, step: str) -> dict[str, Any]:
    return yaml.safe_load((RECIPES / "words" / f"{language}.yaml").read_text("utf-8"))[step]


def term(text: str, language: str = "en", line: int = 1, name: str = "glossary", **more: Any) -> Fact[Term]:
    return Fact[Term].build(
        payload=Term(text=text, lists=(name,), **more), origin=Origin(file=f"{name}.txt", line=line),
        produced_by=ProducedBy(rule="terms"), language=language, partition=name,
    )  # fmt: skip


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    path = tmp_path / "dictionary.tsv"
    path.write_text(DICTIONARY, "utf-8")
    return path


def translate(**spec: Any) -> Translate:
    given = {
        **word_settings("zh", "translate"),
        "kind": "translate",
        "from": "rows",
        "about": "孕产妇与婴儿保健",
        **spec,
    }
    given["prompt"] = {"path": "zh/translate_term.j2", "resolved_path": str(PROMPTS / "zh" / "translate_term.j2")}
    context = StepContext(seed=1, language="zh", step="translate", cache=Path("cache"), workplace=Path("people"))
    stage = Translate(TranslateSpec.model_validate(given), context)
    stage.open({})
    return stage


def talk(stage: Translate, row: Fact[Term], *replies: str) -> tuple[list[Any], list[str]]:
    conversation, asked, waiting = stage.converse(row, {}), list[str](), list(replies)
    try:
        request = next(conversation)
        while True:
            asked.append(request.messages[-1].content)
            request = conversation.send(Reply(waiting.pop(0), "complete"))
    except StopIteration as end:
        assert not waiting, f"not asked for: {waiting}"
        return end.value, asked


def test_the_dictionary_gives_every_translation_a_row_of_its_own(dictionary):
    outcomes, asked = talk(translate(dictionary=str(dictionary), model=MODEL), term("Pre-Eclampsia", note="n"))
    assert asked == []
    assert [outcome.row.payload.text for outcome in outcomes] == ["先兆子痫", "子痫前期"]
    assert {outcome.slot for outcome in outcomes} == {"1", "2"}
    assert len({outcome.row.id for outcome in outcomes}) == 2
    for outcome in outcomes:
        assert outcome.row.payload.original == ("Pre-Eclampsia",)
        assert outcome.row.payload.translated_by == ("dictionary.tsv",)
        assert (outcome.row.payload.note, outcome.row.language) == ("n", "zh")


def test_what_the_dictionary_lacks_is_put_to_the_model_with_languages_by_name(dictionary):
    [outcome], [asked] = talk(translate(dictionary=str(dictionary), model=MODEL), term("colostrum"), "译名：初乳。")
    assert outcome.row.payload.text == "初乳"
    assert outcome.row.payload.translated_by == ("some-model",)
    assert outcome.row.produced_by.rule == "translate/model/zh/translate_term.j2"
    assert "英语术语译成中文" in asked
    assert "孕产妇与婴儿保健" in asked


@pytest.mark.parametrize(("replies", "reason"), [
    (["初乳。母乳的第一种形式。", "初乳、母乳、奶水"], "no_word"),
    (["初乳\n或 前奶", "初乳；前奶"], "no_word"),
    (["初" * 31, "乳" * 31], "too_long"),
    (["", ""], "reply_empty"),
])  # fmt: skip
def test_a_reply_that_is_no_single_word_is_asked_for_again_and_then_dropped(replies, reason):
    stage = translate(model=MODEL, sampling={"temperature": 0.5})
    [outcome], asked = talk(stage, term("colostrum"), *replies)
    assert (outcome.reason, len(asked)) == (reason, 2)


def test_without_a_model_what_the_dictionary_lacks_is_dropped(dictionary):
    [outcome], _ = talk(translate(dictionary=str(dictionary)), term("colostrum"))
    assert outcome == Dropped("needs_model", "colostrum: not in the dictionary")


def test_a_translation_that_is_the_word_itself_stays_or_not_as_the_settings_say(dictionary):
    [outcome], _ = talk(translate(dictionary=str(dictionary)), term("HELLP"))
    assert outcome.row.payload.text == "HELLP"
    [outcome], _ = talk(translate(dictionary=str(dictionary), same="drop"), term("HELLP"))
    assert outcome == Dropped("untranslated")


@pytest.mark.parametrize("language", ["zh", "zh-Hant"])
def test_a_word_of_the_recipes_language_is_left_alone(dictionary, language):
    [outcome], asked = talk(translate(dictionary=str(dictionary), model=MODEL), term("placenta", language))
    assert (outcome.row.payload.text, outcome.row.payload.original, asked) == ("placenta", (), [])


@pytest.mark.parametrize("text", ["placenta\n", "\t胎盘\n", "placenta\t \n"])
def test_a_dictionary_of_another_shape_is_told_with_its_line(tmp_path, text):
    path = tmp_path / "d.tsv"
    path.write_text("# ours\n" + text, "utf-8")
    with pytest.raises(DataError, match=r"d\.tsv:2"):
        read_dictionary(path)


def tidy(language: str, text: str, **spec: Any) -> str:
    given = {**word_settings(language, "tidy"), "kind": "normalise_term", "from": "rows", **spec}
    context = StepContext(seed=1, language=language, step="tidy", cache=Path("cache"), workplace=Path("people"))
    [outcome] = NormaliseTerm(NormaliseTermSpec.model_validate(given), context).map(term(text, language), {})
    return outcome.row.payload.text if isinstance(outcome, Kept) else outcome.reason


@pytest.mark.parametrize(("text", "made"), [
    ("早產", "早产"), ("ＨＥＬＬＰ综合征", "HELLP综合征"), ("【胎盘】", "胎盘"), ("子痫前期（重度）", "子痫前期"),
    ("“羊水”。", "羊水"), ("产", "too_short"), ("产" * 31, "too_long"), ("（）", "empty"), ("12-3", "refused"),
    ("#1", "comment"), ("β-hCG", "β-hCG"),
])  # fmt: skip
def test_a_chinese_word_is_written_in_one_form(text, made):
    assert tidy("zh", text) == made


@pytest.mark.parametrize(("text", "made"), [
    ("Mastitis (puerperal)", "mastitis"), ("Diabetes, Gestational", "refused"),
    ("Cafe\u0301 au lait", "caf\u00e9 au lait"),
    ("β-hCG", "β-hcg"), ("it", "too_short"),
])  # fmt: skip
def test_an_english_word_is_written_in_one_form(text, made):
    assert tidy("en", text) == made


@pytest.mark.parametrize("text", ["हृदय", "ọmọ", "ตั้งครรภ์", "حمل"])
def test_marks_are_no_length_and_stay(text):
    made = tidy("standard", text, min_length=2)
    assert made == text
    assert tidy("standard", "कि", min_length=2) == "too_short"


def test_words_may_be_counted():
    limits = {"unit": "words", "min_length": 2, "max_length": 3}
    found = [tidy("en", text, **limits) for text in ("placenta", "breast milk", "a b c d")]
    assert found == ["too_short", "breast milk", "too_long"]


def test_the_same_word_of_several_lists_is_one_and_says_which():
    rows = [
        term("母乳", "zh", name="own", note="milk"), term("Breast Milk", "zh", name="own", line=2),
        term("母乳", "zh", name="book", original=("Muttermilch",), translated_by=("d.tsv",), note="milk"),
        term("breast milk", "zh", name="web", note="fluid"),
    ]  # fmt: skip
    context = StepContext(seed=1, language="zh", step="merge", cache=Path("cache"), workplace=Path("people"))
    spec = MergeTermsSpec.model_validate({"kind": "merge_terms", "from": "rows", "fold": ["case"]})
    outcomes, _ = outcomes_of(MergeTerms(spec, context), {"each": Table.of(rows, Fact[Term])}, Fact[Term])
    kept = outcomes[rows[0].id]
    assert isinstance(kept, Kept)
    assert kept.row.payload == Term(
        text="母乳", original=("Muttermilch",), lists=("own", "book"), translated_by=("d.tsv",), note="milk"
    )
    assert kept.row.parents == (rows[0].id, rows[2].id)
    assert outcomes[rows[2].id] == Dropped("merged", "母乳 of book: as 母乳 of own")
    assert outcomes[rows[3].id] == Dropped("merged", "breast milk of web: as Breast Milk of own")
    assert outcomes[rows[1].id].row.payload.note == "fluid"


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "A", "b", "ä"]), st.sampled_from(["own", "web"])), max_size=9),
       st.sampled_from([(), ("case",), ("case", "marks")]), st.sampled_from([1, 100]))  # fmt: skip
def test_equal_words_are_merged_into_the_first(words: list[tuple[str, str]], fold: Any, window: int) -> None:
    rows = [term(text, name=name, line=line, note=str(line)) for line, (text, name) in enumerate(words, 1)]
    context = StepContext(seed=1, language="en", step="merge", cache=Path("cache"), workplace=Path("people"))
    step = MergeTerms(MergeTermsSpec.model_validate({"kind": "merge_terms", "from": "rows", "fold": fold}), context)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchbuilder.steps.terms._WINDOW", window)
        outcomes, _ = outcomes_of(step, {"each": Table.of(rows, Fact[Term])}, Fact[Term])
    for row in rows:
        equal = [one for one in rows if fold_text(one.payload.text, fold) == fold_text(row.payload.text, fold)]
        texts = [f"{one.payload.text} of {one.payload.lists[0]}" for one in (row, equal[0])]
        found = outcomes[row.id]
        if row.id != equal[0].id:
            assert found == Dropped("merged", f"{texts[0]}: as {texts[1]}")
            continue
        assert isinstance(found, Kept)
        assert found.row.parents == tuple(one.id for one in equal)
        assert found.row.payload.lists == tuple(dict.fromkeys(one.payload.lists[0] for one in equal))
