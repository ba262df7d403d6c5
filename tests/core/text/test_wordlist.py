import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.errors import DataError
from benchbuilder.core.text.wordlist import WordFinder, load_words


def test_comments_glosses_blanks_and_repeats_are_left_out(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeff# 喂养\n母乳\tbreast milk\n\n 母乳 \nHELLP综合征\n  # 注\n".encode())
    assert load_words(path) == ("母乳", "HELLP综合征")


def test_a_bad_list_says_what_is_wrong(tmp_path):
    with pytest.raises(DataError, match="missing"):
        load_words(tmp_path / "none.txt")
    (tmp_path / "gb.txt").write_bytes("母乳".encode("gb18030"))
    with pytest.raises(DataError, match="not UTF-8"):
        load_words(tmp_path / "gb.txt")
    (tmp_path / "empty.txt").write_text("# only a comment\n", "utf-8")
    with pytest.raises(DataError, match="no words"):
        load_words(tmp_path / "empty.txt")


@given(st.lists(st.text(alphabet="甲乙丙", min_size=1, max_size=3)), st.text(alphabet="甲乙丙丁", max_size=15))
def test_every_word_that_occurs_is_found(words, text):
    assert WordFinder(words).find(text) == {word for word in words if word in text}


@given(
    st.sets(st.text(alphabet="abc", max_size=6).map(lambda end: "a" + end), min_size=40, max_size=80),
    st.text(alphabet="abcd", max_size=40),
)
def test_every_word_of_a_long_list_is_found_too(words, text):
    assert len(words) > 16, "enough for longer pieces than letters"
    assert WordFinder(words).find(text) == {word for word in words if word in text}
