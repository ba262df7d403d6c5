from __future__ import annotations

import pickle
from contextlib import suppress

import pytest
from pydantic import ValidationError

pytest.importorskip("transformers")

import tiny_models

from benchbuilder.core.errors import DataError
from benchbuilder.core.registry import create_from_spec
from benchbuilder.retrieval.tokenizers.huggingface import HuggingfaceSpec

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
    made = tmp_path_factory.mktemp("tokenizer")
    tiny_models.tokenizer(None).save_pretrained(made)
    return made


def make(**spec):
    return create_from_spec("tokenizer", HuggingfaceSpec(kind="huggingface", **spec))


def test_pieces_are_the_text_whatever_bytes_the_vocabulary_has(folder):
    tokenizer = make(path=str(folder))
    for text in TEXTS:
        found = tokenizer.tokens(text)
        assert "".join("".join(found).split()) == "".join(text.split())
        assert all(found)
    assert 1 < len(tokenizer.tokens(TEXTS[1])) < len(TEXTS[1])


def test_what_is_in_the_folder_is_in_the_fingerprint(folder, tmp_path):
    known = make(path=str(folder)).fingerprint()
    assert set(known) == {"files", "tokenizers", "transformers"}
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert make(path=str(tmp_path)).fingerprint() == known
    with (tmp_path / "tokenizer_config.json").open("a", encoding="utf-8") as stream:
        stream.write("\n")
    assert make(path=str(tmp_path)).fingerprint() != known
    assert make(name="some/model", revision="abc").fingerprint()["revision"] == "abc"


def test_it_travels_unopened(folder):
    tokenizer = make(path=str(folder))
    tokenizer.open()
    assert pickle.loads(pickle.dumps(tokenizer)).tokens(TEXTS[0]) == tokenizer.tokens(TEXTS[0])


def test_no_code_of_a_tokenizer_is_run(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "own.py").write_text("raise SystemExit('run')\n", encoding="utf-8")
    said = '{"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", null]}}'
    (tmp_path / "tokenizer_config.json").write_text(said, encoding="utf-8")
    with suppress(DataError):  # it may do without the class, but never run it
        make(path=str(tmp_path)).open()


def test_a_folder_that_holds_none(tmp_path):
    with pytest.raises(DataError, match="no folder of a tokenizer"):
        make(path=str(tmp_path / "none")).open()
    with pytest.raises(DataError, match="cannot be loaded"):
        make(path=str(tmp_path)).open()


@pytest.mark.parametrize("spec", [{}, {"name": "a/b", "path": "c"}, {"path": "c", "revision": "d"}, {"name": "../up"}])
def test_one_of_folder_and_name(spec):
    with pytest.raises(ValidationError):
        HuggingfaceSpec(kind="huggingface", **spec)
