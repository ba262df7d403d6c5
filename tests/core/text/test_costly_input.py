"""Patterns, YAML files and numbers that would never end are refused at once."""

from __future__ import annotations

import time

import pytest
import regex
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from benchbuilder.core.text.pattern_limits import MANY_PATHS, MAX_COPIES, SHORT_TEXT, pattern_cost
from benchbuilder.core.text.patterns import check_regex, find_all
from benchbuilder.core.text.plain_yaml import parse_plain_yaml


@pytest.mark.push
@pytest.mark.parametrize(
    "pattern",
    [
        "(?:(?:(?:a|b){1000}){1000}){1000}", "(?:a?){1000000000}", "(?<=(?:a|b){1000000})x", "(?:a{,1000}){,1000}",
        "(?i:(?:a{999}){999})", "(?<n>(?:a{999}){999})", "(?(1)b|(?:a{999}){999})", "[[]{9}(?:(?:a{99}){99}){99}",
        "(?#[)(?:a{999}){999}", r"\[(?:a{999}){999}\]", "[]a](?:a{999}){999}", "a{999}{999}", "(?>(?:a{999}){999})",
        "(?:abcdefghij){e<=12}", "a{i<=3,s<2:[a-z]}", "(?b)a", "(?e)a", "(?x)# [\n(?:a{999}){999}", "(?V1)[[a]",
        "(?:(?R)|a)*", "(a)(?1)*b", "(?P<n>a)(?&n)", "(?P<n>a)(?P>n)", "(?:" * 3000 + ")" * 3000, "a" * 200_000,
        "[" + "[:" * 40_000 + "]" + "(?:a{999}){999}", "[" * 99_999,
    ],
)  # fmt: skip
def test_patterns_without_an_end_are_refused_at_once(pattern: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"refused, because|not a regular expression"):
        check_regex(pattern)
    assert time.process_time() - begin < 20, "it was refused late"


@pytest.mark.parametrize(
    "pattern",
    [r"(?:[^。]{0,400}x){0,9}", r"\p{Han}{2,30}", r"(?i)a{3}(?-i:b)", r"[{e}]x", r"\{e\}", "{answer}",
     r"(?<!a)(?=b)(?!c)(?<=d)", r"(?P<n>a)(?P=n)\g<n>", "[^]]{3}", "(?|a|b)", "[[:alpha:]]{2}", "(?s:.){5}"],
)  # fmt: skip
def test_ordinary_patterns_pass(pattern: str) -> None:
    regex.compile(pattern)
    assert pattern_cost(pattern).refusal is None


@given(st.recursive(st.sampled_from("ab"), lambda inner: st.tuples(inner, st.integers(1, 300), st.sampled_from(
    ["(?:{}){{{}}}", "({}|c){{{}}}", "(?<g>{}){{{}}}", "[]](?i:{}){{1,{}}}"])).map(lambda t: t[2].format(t[0], t[1]))
))  # fmt: skip
def test_nested_counts_are_never_below_what_is_copied(pattern: str) -> None:
    product = 1
    for count in regex.findall(r"\{(?:1,)?(\d+)\}", pattern):
        product *= int(count)
    assert product <= MAX_COPIES or pattern_cost(pattern).refusal is not None


def test_the_place_is_named() -> None:
    with pytest.raises(ValueError, match=r"fuzzy match, at character 7 "):
        check_regex("abc(d){e<=2}")
    assert len(find_all("a{1,3}", "aaaa")) == 2


@pytest.mark.push
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [x, x]\nb: &b [*a, *a]\n", "aliases are not allowed"),
        ("a: &a {x: 1}\nb: {<<: *a}\n", "aliases are not allowed"),
        ("[" * 5000, "nested too deeply"),
        ("a: " + "9" * 5000, "number is too long"),
        ("a: 1" + ":00" * 100_000, "number is too long"),
        ("a: 2001-02-31", "cannot be read"),
        ("a: !!python/name:os.system x", "could not determine a constructor"),
    ],
)
def test_yaml_that_grows_is_refused(text: str, said: str) -> None:
    begin = time.process_time()
    with pytest.raises(yaml.YAMLError, match=said):
        parse_plain_yaml(text)
    assert time.process_time() - begin < 20, "it was refused late"


def test_plain_yaml_is_read_as_ever() -> None:
    text = "{a: 1, b: 1.5, c: [x, null, true], d: 0x1F, e: 2001-02-03, f: 1:30}"
    assert parse_plain_yaml(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [("abc", 1), ("a|b|cd", 3), ("a?b?", 4), ("a{2,4}", 3), ("(?:a|b){3}", 8), ("(?:a|b)?c", 3), ("x*", SHORT_TEXT + 1),
     ("[^a|b*]+?", SHORT_TEXT + 1), (r"(?<!a|b)c(?=d|e)", 4), (r"a\|b\*", 1), ("(?i)a{,2}+", 3), ("(?:ab){2,}", 65)],
)  # fmt: skip
def test_the_ways_of_a_pattern_to_match_are_counted(pattern: str, paths: int) -> None:
    assert pattern_cost(pattern).paths == paths


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(?:a|aa)*$", "(?:a?){30}$", "(a|a)" * 30 + "$", "(?:a{0,9}){0,9}$", ".*.*.*x", "(?:a*b?)*$", "((a)"],
)  # fmt: skip
def test_patterns_with_many_ways_keep_their_time_limit(pattern: str) -> None:
    assert pattern_cost(pattern).paths > 1 << 14
    assert pattern_cost("(a+)+").paths == MANY_PATHS


_PARTS = st.recursive(
    st.sampled_from(["a", "[ab]", ".", "aa"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{0,3}", "*?", "{2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)


@given(_PARTS)
def test_what_runs_without_a_clock_ends_soon(pattern: str) -> None:
    assume(pattern_cost(f"{pattern}y").paths <= 1 << 14)  # others have a clock, which may run out
    begin = time.process_time()
    text = "a" * (SHORT_TEXT - 1) + "x"
    assert find_all(f"{pattern}y", text) == []
    assert time.process_time() - begin < 20
