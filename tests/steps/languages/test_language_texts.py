"""Texts in languages other than Chinese: characters, words, sentences, keys, digits."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from benchbuilder.annotation.values import parse_value
from benchbuilder.config.spec.annotation import GuidingQuestion
from benchbuilder.core.records.row import Span
from benchbuilder.core.text.answers import all_numbers, comparison_key, is_on_boundaries
from benchbuilder.core.text.lengths import split_characters, text_length, truncate_code_points, truncate_text
from benchbuilder.core.text.near_duplicates import trigrams
from benchbuilder.core.text.normalise import fold_text
from benchbuilder.core.text.sentences import split_sentences
from benchbuilder.core.text.wordlist import WordFinder, load_words
from benchbuilder.evaluation.parsing.chosen_options import read_chosen_options
from benchbuilder.exporters.render.svg import shorten_label, width_of
from benchbuilder.exporters.render.templates import visible_text
from benchbuilder.steps.language.answer_texts import contains_text, last_whole_match, number_range
from benchbuilder.steps.language.odd_texts import odd_characters
from benchbuilder.steps.language.questions import is_one_sentence, leaks_answer
from benchbuilder.steps.language.relations import RelationTables

HINDI, THAI, ARABIC = "क्षेत्र की", "น้ำนมแม่", "الحَمْل"
YORUBA = unicodedata.normalize("NFD", "ọmọ ọwọ́")


@pytest.mark.parametrize(
    ("text", "seen_as"),
    [("新生儿", 3), (YORUBA, 7), (ARABIC, 5), ("e\u0301", 1), ("👩\u200d👩\u200d👧", 1), ("a\r\nb", 3), ("", 0)],
)
def test_a_length_counts_what_people_see(text, seen_as):
    assert text_length(text) == seen_as
    assert "".join(split_characters(text)) == text


@pytest.mark.parametrize("text", [HINDI, THAI, ARABIC, YORUBA, "👩\u200d👩\u200d👧 家"])
def test_a_cut_leaves_every_character_whole(text):
    whole = set()
    at = 0
    for character in split_characters(text):
        whole.add(at)
        at += len(character)
    for most in range(len(text) + 2):
        left = truncate_code_points(text, most)
        assert text.startswith(left)
        assert len(left) <= max(most, 0)
        assert len(left) in {*whole, len(text)} or most < len(split_characters(text)[0])
        assert text_length(truncate_text(text, most)) == min(most, text_length(text))


def test_words_are_words_of_any_script():
    assert text_length("हिन्दी में दो", "words") == 3
    assert truncate_text("ما هو العلاج", 2, "words") == "ما هو"
    assert contains_text(f"{YORUBA} kan", "Ọmọ ọwọ́", "words")
    assert not contains_text("environmental", "iron", "words")
    assert contains_text("environmental", "iron", "characters")
    assert not leaks_answer("آب", "کتاب آبی", "", "words")
    assert last_whole_match("iron", "iron in the environment", "words") == Span(start=0, end=4)


def test_a_place_inside_a_character_is_none():
    assert last_whole_match("क", "कि", "characters") is None
    assert not is_on_boundaries(Span(start=0, end=1), "कि", "characters")


def test_full_stops_end_sentences_as_the_script_writes_them():
    assert split_sentences("الجرعة ٢.٥ ملغم. هل تكفي؟ نعم", "؟", ".") == ["الجرعة ٢.٥ ملغم.", "هل تكفي؟", "نعم"]
    assert split_sentences("А. С. Пушкин писал. Да", "!", ".") == ["А. С. Пушкин писал.", "Да"]
    assert split_sentences("डॉ. सिंह आए। ठीक", "।", ".", ["डॉ"]) == ["डॉ. सिंह आए।", "ठीक"]
    assert split_sentences("Wo dókítà Ọ̀gb. Adé. Ó dára", "!", ".", ["ọ̀gb"]) == ["Wo dókítà Ọ̀gb. Adé.", "Ó dára"]
    assert is_one_sentence("Take 2.5 mg of E.coli vaccine (i.e., one).", ".", ".?!")
    assert not is_one_sentence("Take it. Then rest.", ".", ".?!")


def test_digits_of_every_script_are_numbers():
    assert number_range("٢٫٥ ملغم") == (2.5, 2.5)
    assert all_numbers("६० मि.ग्रा.") == all_numbers("60 mg") == ["60"]
    assert comparison_key("๖๐ มก.", ".") == comparison_key("60 มก", ".")
    asked = GuidingQuestion(order=1, subject="claim", label="?", text="?", answer="scalar")
    assert parse_value(asked, "٠٫٧٥") == 0.75


def test_what_does_not_count_is_named():
    assert fold_text("Ọ̀GBẸ́NI", ["case", "marks"]) == "ogbeni"
    assert fold_text("الحَمْل", ["marks"]) == "الحمل"
    assert fold_text("e\u0301", []) == "\u00e9"
    assert WordFinder(["Milk"], ["case"], str.split).find("milk and silk") == {"Milk"}
    assert WordFinder(["ilk"], (), str.split).find("milk and silk") == set()


def test_word_lists_are_composed(tmp_path: Path):
    (tmp_path / "words.txt").write_text(unicodedata.normalize("NFD", "ọmọ\n"), encoding="utf-8")
    assert load_words(tmp_path / "words.txt") == ("ọmọ",)
    assert WordFinder(load_words(tmp_path / "words.txt")).find(YORUBA) == {"ọmọ"}


def test_relations_are_found_in_any_form(tmp_path: Path):
    header = "relation\tstatement\tnegated\ttf\toe\tanswer_end\n"
    row = "àmì\tÀmì {head} ni {tail}.\tÀmì {head} kì í ṣe {tail}.\tṢé àmì {head} ni {tail}?\t\ttail\n"
    (tmp_path / "r.tsv").write_text(header + row, encoding="utf-8")
    tables = RelationTables.read({"default": tmp_path / "r.tsv"})
    assert tables.find("any", unicodedata.normalize("NFD", "àmì"), "a", "b") is not None


def test_joiners_and_marks_of_direction_are_spelling_and_overrides_are_not():
    for text in ("می\u200cشود", "क्\u200dष", "(GDM)\u200f عند", "\u061cنعم", "٪\u0600١"):
        assert odd_characters(text) == ""
        assert visible_text(text) == text
    assert odd_characters("it\u200c is \u202e not") == "U+200C U+202E"
    assert visible_text("a\u202eb") == "a\ufffdb"


def test_labels_of_charts_end_before_a_character():
    for text in (THAI * 9, YORUBA * 9, "कि" * 30):
        short = shorten_label(text, 80)
        assert short.endswith("…")
        assert short[:-1] == "".join(split_characters(text)[: text_length(short[:-1])])
        assert width_of(short) <= 80
    assert width_of("ọ̀") == width_of("o")


def test_near_duplicates_are_told_apart_by_vowel_signs():
    assert trigrams("कितना") != trigrams("काताना")
    assert len(trigrams("กำลังใจ")) == len("กำลังใจ") - 2


def test_keys_of_other_scripts_are_read():
    arabic = {"أ": "الزنك", "ب": "الحديد"}
    assert read_chosen_options("ب", arabic, [], ".") == {"ب"}
    assert read_chosen_options("الجواب: ب. الحديد", arabic, ["الجواب:"], ".") == {"ب"}
    assert read_chosen_options("بالطبع", arabic, [], ".") == frozenset()
    assert read_chosen_options("الزنك", arabic, [], ".") == {"أ"}
    thai = {"ก": "น้ำผึ้ง", "ข": "น้ำนมแม่"}
    assert read_chosen_options("ข. น้ำนมแม่", thai, [], ".") == {"ข"}
    assert read_chosen_options("กินข้าว", thai, [], ".") == frozenset()
    latin = {"A": "irin", "B": "oyin"}
    assert read_chosen_options("Aṣọ", latin, [], ".") == frozenset()
    assert read_chosen_options("选A是对的", latin, ["选"], ".") == {"A"}


def test_tokens_of_vowel_signs_are_estimated_as_those_of_letters():
    from benchbuilder.models.gateway.token_count import estimate_tokens

    assert estimate_tokens("कितना") < estimate_tokens("कखगघङ") * 1.05
    assert estimate_tokens(unicodedata.normalize("NFD", "ọmọ")) < 4


def test_people_may_have_names_with_joiners(tmp_path: Path):
    pytest.importorskip("sqlalchemy")
    from benchbuilder.annotation.database.store import AnnotationStore
    from benchbuilder.core.errors import DataError

    store = AnnotationStore.open(f"sqlite:///{tmp_path / 'v.db'}")
    person, _ = store.invite("علی\u200cرضا", "annotator")
    assert person.name == "علی\u200cرضا"
    with pytest.raises(DataError, match="nobody can be called"):
        store.invite("A\u202enn", "annotator")
    store.close()
