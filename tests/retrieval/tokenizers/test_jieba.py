from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.core import registry
from benchbuilder.core.errors import DataError
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec, JiebaTokenizer


def test_words():
    assert JiebaTokenizer(JiebaSpec(kind="jieba")).tokens("孕妇应当补充叶酸。") == [
        "孕妇",
        "应当",
        "补充",
        "叶酸",
        "。",
    ]


@pytest.mark.push
@settings(max_examples=200)
@given(st.text(alphabet="子痫前期是妊娠AaB1.%-　 \t\n（），。é𠮷", max_size=40))
def test_the_tokens_are_the_text(text):
    assert "".join(JiebaTokenizer(JiebaSpec(kind="jieba")).tokens(text)) == text


def test_a_user_dictionary_belongs_to_one_instance(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("子痫前期\n胎膜早破 50 n\n\n", encoding="utf-8-sig")
    spec = JiebaSpec(kind="jieba", user_dictionary=str(words))
    text = "子痫前期与胎膜早破"
    before = JiebaTokenizer(JiebaSpec(kind="jieba")).tokens(text)
    assert JiebaTokenizer(spec).tokens(text) == ["子痫前期", "与", "胎膜早破"]
    assert JiebaTokenizer(JiebaSpec(kind="jieba")).tokens(text) == before != ["子痫前期", "与", "胎膜早破"]
    plain = JiebaTokenizer(JiebaSpec(kind="jieba")).fingerprint()
    assert JiebaTokenizer(spec).fingerprint().items() > plain.items()


def test_words_of_a_list_are_tokens(tmp_path):
    listed, dictionary = tmp_path / "words.txt", tmp_path / "dictionary.txt"
    listed.write_text("# of birth\n胎膜早破\tPROM\n子痫前期\n胎膜 早破\n", encoding="utf-8")
    dictionary.write_text("子痫前期 1\n", encoding="utf-8")
    text = "子痫前期与胎膜早破"
    made = JiebaTokenizer(JiebaSpec(kind="jieba", words=str(listed)))
    assert made.tokens(text) == ["子痫前期", "与", "胎膜早破"] != JiebaTokenizer(JiebaSpec(kind="jieba")).tokens(text)
    both = JiebaTokenizer(JiebaSpec(kind="jieba", words=str(listed), user_dictionary=str(dictionary)))
    assert both._own() == (("子痫前期", 1), ("胎膜早破", None))
    assert (
        len({tuple(one.fingerprint().values()) for one in (made, both, JiebaTokenizer(JiebaSpec(kind="jieba")))}) == 3
    )


def test_comments_and_glosses_of_a_list_do_not_count(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("# birth\n胎膜早破\tPROM\n", encoding="utf-8")
    second.write_text("胎膜早破\n", encoding="utf-8")
    made = [JiebaTokenizer(JiebaSpec(kind="jieba", words=str(path))).fingerprint() for path in (first, second)]
    assert made[0] == made[1]


def test_hmm_guesses_words_that_no_dictionary_has():
    guessed = JiebaTokenizer(JiebaSpec(kind="jieba")).tokens("他来到了网易杭研大厦")
    plain = JiebaTokenizer(JiebaSpec(kind="jieba", hmm=False)).tokens("他来到了网易杭研大厦")
    assert "杭研" in guessed
    assert "杭研" not in plain


@pytest.mark.parametrize("line", ["胎膜早破 0", "胎膜早破 many"])
def test_a_wrong_user_dictionary_names_its_line(line, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text(f"子痫前期\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        JiebaTokenizer(JiebaSpec(kind="jieba", user_dictionary=str(words))).open()
    assert raised.value.where == f"{words}:2"


def test_a_missing_user_dictionary():
    with pytest.raises(DataError, match="cannot be read"):
        JiebaTokenizer(JiebaSpec(kind="jieba", user_dictionary="none.txt")).open()


def test_it_survives_pickling():
    made = registry.create_from_spec("tokenizer", JiebaSpec(kind="jieba"))
    made.open()
    assert pickle.loads(pickle.dumps(made)).tokens("补充叶酸") == ["补充", "叶酸"]


@pytest.mark.full
def test_no_log_lines_no_warnings_and_no_shared_cache(tmp_path):
    code = (
        "from benchbuilder.retrieval.tokenizers.jieba import JiebaTokenizer, JiebaSpec\n"
        "import sys; assert 'jieba' not in sys.modules\n"
        "print(len(JiebaTokenizer(JiebaSpec(kind='jieba')).tokens('补充叶酸')))"
    )
    env = {"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONPYCACHEPREFIX": str(tmp_path)}
    command = [sys.executable, "-W", "error::DeprecationWarning", "-W", "error::SyntaxWarning", "-c", code]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "2\n", "")
    assert not list(tmp_path.glob("jieba*"))
