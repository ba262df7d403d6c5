"""The tokenizers without a dictionary: white space, character n-grams, and those of language models."""

from __future__ import annotations

import pickle
from contextlib import suppress

import pytest
from pydantic import ValidationError

from benchbuilder.core.errors import DataError
from benchbuilder.core.registry import create_from_spec
from benchbuilder.retrieval.base import word_boundary_problem
from benchbuilder.retrieval.tokenizers.huggingface import HuggingfaceSpec
from benchbuilder.retrieval.tokenizers.simple import CharacterNgramsSpec, WhitespaceSpec

# --- white space


def test_words_between_white_space():
    tokenizer = create_from_spec("tokenizer", WhitespaceSpec(kind="whitespace"))
    tokenizer.open()
    assert tokenizer.tokens(" Folic acid,\u3000taken\tearly.\n") == ["Folic", "acid,", "taken", "early."]
    assert tokenizer.tokens("") == []
    assert tokenizer.fingerprint() == {}


def test_punctuation_apart_from_words_but_not_inside_them():
    tokenizer = create_from_spec("tokenizer", WhitespaceSpec(kind="whitespace", punctuation="apart"))
    text = "Don't give 2.5 mg (self-care), e.g. «ọmọ»؟ ٢٫٥ क्\u200dष कि।"
    assert tokenizer.tokens(text) == [
        "Don't", "give", "2.5", "mg", "(", "self-care", ")", ",", "e", ".", "g", ".", "«", "ọmọ", "»", "؟", "٢٫٥",
        "क्\u200dष", "कि", "।",
    ]  # fmt: skip


def test_marks_that_stand_apart_from_their_letters_stay_with_them():
    tokenizer = create_from_spec("tokenizer", WhitespaceSpec(kind="whitespace", punctuation="apart"))
    assert tokenizer.tokens("o\u0323\u0301mo\u0323 náà") == ["o\u0323\u0301mo\u0323", "náà"]


# --- character n-grams


def ngrams(text, shortest=3, longest=4, within="words"):
    spec = CharacterNgramsSpec(kind="character_ngrams", shortest=shortest, longest=longest, within=within)
    return create_from_spec("tokenizer", spec).tokens(text)


def test_runs_of_each_length_inside_words_by_where_they_begin():
    assert ngrams("umama, uyaphi") == [
        "uma",
        "umam",
        "mam",
        "mama",
        "ama",
        "uya",
        "uyap",
        "yap",
        "yaph",
        "aph",
        "aphi",
        "phi",
    ]


def test_short_words_are_tokens_as_they_are_and_marks_between_words_are_none():
    assert ngrams("u-no: (a)") == ["u", "no", "a"]


def test_over_the_whole_text_where_words_are_not_apart():
    assert ngrams("ab c", 2, 2, "text") == ["ab", "b ", " c"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("คือน้ำนม", "คื"),  # a vowel above stays with its consonant
        ("o\u0323\u0300mo\u0323", "o\u0323\u0300m"),  # a tone and a dot below
        ("कि\u200dक", "कि\u200dक"),
    ],
)
def test_a_letter_is_never_cut_from_its_marks(text, first):
    found = ngrams(text, 1 if first == "คื" else 2, 2)
    assert found[0] == first
    assert not any(token[0] in "\u0323\u0300\u0e37\u200d\u093f" for token in found)


def test_the_longest_is_not_shorter_than_the_shortest():
    with pytest.raises(ValidationError, match="less than shortest"):
        ngrams("a", 4, 3)


def test_its_tokens_overlap_and_a_step_that_needs_words_says_so():
    made = create_from_spec(
        "tokenizer", CharacterNgramsSpec(kind="character_ngrams", shortest=2, longest=3, within="words")
    )
    assert [issue.key for issue in word_boundary_problem(made)] == ["tokenizer"]
    assert [issue.actual for issue in word_boundary_problem(None)] == ["null"]


# --- tokenizers of language models

TEXTS = (
    "孕妇应当注意补充叶酸。",
    "Rewrite question and answer",
    "ความดัน ๒.๕",
    "क्या शिशु",
    "o\u0323mo\u0323 \u200f٢٫٥",
    "👶🏽",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a small tokenizer of a language model."""
    pytest.importorskip("transformers")
    import tiny_models

    path = tmp_path_factory.mktemp("tokenizer")
    tiny_models.tokenizer(None).save_pretrained(path)
    return path


def huggingface(**spec):
    return create_from_spec("tokenizer", HuggingfaceSpec(kind="huggingface", **spec))


def test_pieces_are_the_text_whatever_bytes_the_vocabulary_has(folder):
    tokenizer = huggingface(path=str(folder))
    for text in TEXTS:
        found = tokenizer.tokens(text)
        assert "".join("".join(found).split()) == "".join(text.split())
        assert all(found)
    assert 1 < len(tokenizer.tokens(TEXTS[1])) < len(TEXTS[1])


def test_what_is_in_the_folder_is_in_the_fingerprint(folder, tmp_path):
    known = huggingface(path=str(folder)).fingerprint()
    assert set(known) == {"files", "tokenizers", "transformers"}
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert huggingface(path=str(tmp_path)).fingerprint() == known
    with (tmp_path / "tokenizer_config.json").open("a", encoding="utf-8") as stream:
        stream.write("\n")
    assert huggingface(path=str(tmp_path)).fingerprint() != known
    assert huggingface(name="some/model", revision="abc").fingerprint()["revision"] == "abc"


def test_it_travels_unopened(folder):
    tokenizer = huggingface(path=str(folder))
    tokenizer.open()
    assert pickle.loads(pickle.dumps(tokenizer)).tokens(TEXTS[0]) == tokenizer.tokens(TEXTS[0])


def test_no_code_of_a_tokenizer_is_run(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "own.py").write_text("raise SystemExit('run')\n", encoding="utf-8")
    config = '{"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", null]}}'
    (tmp_path / "tokenizer_config.json").write_text(config, encoding="utf-8")
    with suppress(DataError):  # it may do without the class, but never run it
        huggingface(path=str(tmp_path)).open()


def test_a_folder_that_holds_none(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(DataError, match="no folder of a tokenizer"):
        huggingface(path=str(tmp_path / "none")).open()
    with pytest.raises(DataError, match="cannot be loaded"):
        huggingface(path=str(tmp_path)).open()


@pytest.mark.parametrize("spec", [{}, {"name": "a/b", "path": "c"}, {"path": "c", "revision": "d"}, {"name": "../up"}])
def test_one_of_folder_and_name(spec):
    with pytest.raises(ValidationError):
        HuggingfaceSpec(kind="huggingface", **spec)
