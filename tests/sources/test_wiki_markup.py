from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.sources.formats.topic_words import TopicWords
from benchbuilder.sources.formats.wikitext import UnreadableMarkupError, WikiMarkup, has_too_many_unclosed, resolve

MARKUP = WikiMarkup(
    variants=("zh-hans", "zh-cn", "zh"),
    files=("File",),
    sections=("参考",),
    shown=((("Lang", "Le"), ("2", "1")),),
    disambiguation=("Disambig", "Letter-Number disambig", "消歧义"),
)


@pytest.mark.parametrize(("markup", "shown", "title"), [
    ("-{zh-hans:甲;zh-hant:乙}-", "甲", ""),
    ("-{zh-tw:乙; zh-cn : 甲 ;}-", "甲", ""),
    ("-{zh-tw:乙;zh-hk:丙}-", "乙", ""),
    ("-{ZH-HANS:甲;zh-hant:乙}-", "甲", ""),
    ("-{A|zh-hans:甲;zh-hant:乙}-", "甲", ""),
    ("-{H|zh-hans:甲;zh-hant:乙}-x-{-|zh:甲}-", "x", ""),
    ("-{T|zh-hans:甲;zh-hant:乙}-", "", "甲"),
    ("-{T|乙}-", "", "乙"),
    ("-{R|zh-hans:甲}-", "zh-hans:甲", ""),
    ("-{乾}-隆", "乾隆", ""),
    ("-{zh-hans:甲&nbsp;丁;zh-hant:乙; x}-", "甲&nbsp;丁", ""),
    ("-{zh-hans:-{丙}-甲;zh-hant:乙}-", "丙甲", ""),
    ("-{zh-hans:[[甲|丁]];zh-hant:乙}-", "[[甲|丁]]", ""),
    ("-{[[甲|丁]]}-", "[[甲|丁]]", ""),
    ("-{zh-hans;zh-hant|甲}-", "甲", ""),
    ("-{乙=>zh-hans:甲;乙=>zh-tw:丙}-", "甲", ""),
    ("a-{{b}}-c", "a-{{b}}-c", ""),
    ("-{zh-hans:甲", "zh-hans:甲", ""),
    ("甲}-乙", "甲}-乙", ""),
    ("-{" * 40 + "甲" + "}-" * 40, "甲", ""),
])  # fmt: skip
def test_variants_of_a_language(markup, shown, title):
    assert resolve(markup, MARKUP.variants) == (shown, title)
    assert resolve(markup, ()) == (markup, "")


def test_variants_of_another_language():
    assert resolve("-{sr-ec:а;sr-el:a}- zh:-{zh:x}-", ("sr-el", "sr-ec")) == ("a zh:zh:x", "")


@pytest.mark.parametrize(("markup", "text"), [
    ("a <nowiki>[[b]] {{c}}</nowiki> d", "a b c d"),
    ("[[File:a.jpg|thumb|[[b]] c]]d[[:File:a.jpg]]", "dFile:a.jpg"),
    ("[[a#b|c]] [[d (e)|]] [https://x.org y z] https://x.org/w", "c y z"),
    ("{{lang|en|b}} {{Le|b}} {{template:LANG|en| {{le|c}} }} {{lang}}", "b b c"),
    ("{{{1|a}}}{{{2}}}", "a"),
    ("a<ref>b<ref>c</ref></ref>d<ref name=x/>e", "ade"),
    ("a<!-- b -->c<!-- d", "ac"),
    ("[[a]] | b\n| c\n! f !! g\n! h\nd | e", "a | b\n! h\nd | e"),
    ("a__NOTOC__b__无目录__ snake_case", "ab snake_case"),
    ("; a : b\n: c\n** d\n#e", "a b\nc\nd\ne"),
    ("a ({{x}}, ) b（；）", "a b"),
    ("&lt;b&gt; &#27597; &zwj;", "<b> 母 \u200d"),
    ("a<br>b<p>c</p><div>d</div>", "a\nb\nc\nd"),
    ("a<math>x</math> b<sup>2</sup><syntaxhighlight>c</syntaxhighlight>", "a b2"),
    ("''a'' '''''b''''' c's", "a b c's"),
    ("== 参考 ==\na\n=== b ===\nc\n= d =\ne", "e"),
])  # fmt: skip
def test_what_is_shown_of_markup(markup, text):
    assert MARKUP.clean(markup)[0] == text


@pytest.mark.parametrize("markup", [
    "{{disambig}}", "{{ Disambig|x}}", "{{Template:disambig\n|x}}", "{{letter-number_disambig}}",
    "__DISAMBIG__", "{{消歧义}}",
])  # fmt: skip
def test_marks_of_disambiguation(markup):
    assert MARKUP.is_disambiguation(f"a\n{markup}")


@pytest.mark.parametrize("markup", ["disambig", "{{disambig needed}}", "{{x|disambig}}", "[[disambig]]"])
def test_no_marks_of_disambiguation(markup):
    assert not MARKUP.is_disambiguation(f"a\n{markup}")
    assert not WikiMarkup().is_disambiguation(f"a\n{markup}")


def test_what_is_never_closed():
    for text in ("{{a|" * 500, "<b>" * 500, "[[" * 500, "{|\n" * 500, "}}" * 500 + "{{" * 500):
        assert has_too_many_unclosed(text)
        with pytest.raises(UnreadableMarkupError):
            MARKUP.clean(text)
    for text in ("<a " * 500, '<a b="' * 500, "x <b y. " * 20_000, "[http://a " * 20_000):
        assert has_too_many_unclosed(text)
    for text in (
        "a<br>" * 500,
        "x <3 y. " * 500,
        "[http://a b] c " * 9000,
        "{{a|b=|}}" * 500,
        "{|\n|}\n" * 500,
        "<li>a" * 500,
        "<ref name=a />" * 500,
        "[[a]]" * 900,
    ):
        assert not has_too_many_unclosed(text)


def test_blanks_without_end_take_no_time():
    before = perf_counter()
    assert not has_too_many_unclosed("{|\n|}\n" * 500 + "\n" * 200_000)
    assert not MARKUP.is_disambiguation("{{" + " " * 200_000)
    assert MARKUP.is_disambiguation("{{" + " " * 200_000 + "disambig }}")
    assert resolve("-{" + " " * 200_000 + "x}-", MARKUP.variants)[0].strip() == "x"
    assert resolve("-{" + " " * 200_000 + "zh-hans : a}-", MARKUP.variants)[0] == "a"
    assert perf_counter() - before < 10


WORDS = ("母乳", "母乳喂养", "奶", "breast milk", "β-hCG", "Crohn's")
GAPS = st.sampled_from([
    "", "", "'''", "''", "<!-- x -->", "<b>", "</b>", "<ref>y</ref>", "{{x}}", "{{x|y={{z}}}}", "[[", "]]", "[[x|",
    "-{", "}-", "__TOC__", "(){{x}}", "<span class=a>", "</span>", "{{lang|en|", "}}", " ", "&nbsp;", "（）",
    "<nowiki/>", "-{zh-hans:", ";zh-hant:y}-", "{{{x|", "}}}", "[http://x.org ", "]",
])  # fmt: skip
LETTERS = st.sampled_from([*"母乳喂养奶餵養 x", "breast", "milk", "β", "-", "hCG", "Crohn", "'s", "&#27597;", "\n"])


@pytest.mark.push
@settings(max_examples=400, derandomize=True)
@given(st.lists(st.one_of(LETTERS, GAPS), max_size=14).map("".join), st.booleans(), st.sampled_from([(), ("case",)]))
def test_a_word_of_the_text_is_never_missed_in_its_markup(markup, convert, fold):
    words = TopicWords(WORDS, fold, "t2s" if convert else None)
    text, title = MARKUP.clean(markup)
    if words.in_text(title or "T", text):
        assert words.may_be_in("T", markup)


def test_most_pages_without_a_word_are_seen_to_have_none():
    words = TopicWords(WORDS, (), "t2s")
    for markup in ("母親的[[乳|牛乳]]{{x}}", "the breast and its [[milk]] ducts"):
        assert not words.may_be_in("T", markup)
    for markup in ("'''母'''乳", "母[[x|乳]]", "母{{x}}乳", "母<ref>x</ref>乳", "-{母}-乳", "母乳餵養", "母 乳"):
        assert words.may_be_in("T", markup)
    assert TopicWords(("奶", "乳"), (), None).may_be_in("乳", "")
