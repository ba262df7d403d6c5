import pytest

from benchbuilder.core.errors import DataError
from benchbuilder.core.text import patterns
from benchbuilder.core.text.patterns import check_regex, find, find_all, find_word, replace_all, word_boundaries


def test_a_broken_pattern_is_a_value_error_that_shows_it():
    with pytest.raises(ValueError, match=r"'\(' is not a regular expression"):
        check_regex("(")


def test_a_runaway_pattern_stops_with_a_message(monkeypatch):
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.05)
    with pytest.raises(DataError, match="took longer") as caught:
        find_all("(a|aa)+$", "a" * 60 + "b")
    assert "rewrite the pattern" in caught.value.next
    with pytest.raises(DataError, match="took longer"):
        replace_all("(a|aa)+$", "", "a" * 60 + "b")


@pytest.mark.parametrize(
    ("text", "tokens", "starts"),
    [
        ("血压正常常见", ["血压", "正常", "常见"], []),
        ("此病常发生", ["此", "病", "常", "发生"], [2]),
        ("最常 见", ["最", "常", "见"], [1]),
    ],
)
def test_a_word_is_whole_tokens(text, tokens, starts):
    assert [span.start for span in find_word("常", text, lambda _: tokens)] == starts


def test_a_word_may_be_several_tokens():
    assert len(find_word("最常见", "最常见的", lambda _: ["最", "常见", "的"])) == 1


def test_tokens_that_are_not_in_the_text_are_passed_over():
    assert word_boundaries("ab", ["a", "x", "b"]) == {0, 1, 2}


def test_a_substring_is_not_read_as_a_pattern():
    assert [span.start for span in find("a+", "aa+a", "substring")] == [1]


def test_words_without_a_tokenizer_are_refused():
    with pytest.raises(ValueError, match="needs a tokenizer"):
        find("a", "a", "word")
