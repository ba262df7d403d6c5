"""Reads which options of a question an answer chooses, by key or by text; none if that is not reliable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import regex

from benchbuilder.core import comparison_key, find_all
from benchbuilder.evaluation.parsing.formatting import strip_formatting

_PLAIN = r"(?<![\p{LC}\p{M}0-9])(?:%s)(?![\p{LC}\p{M}0-9'])"
_OTHER = r"(?<![\p{L}\p{M}\p{N}])(?:%s)(?![\p{L}\p{M}\p{N}])"
"""ASCII keys may be adjacent to letters without case (as in scripts without spaces between words); keys of other
scripts are found only if no letter is adjacent."""
_AROUND = regex.compile(r"^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$")
_START = regex.compile(r"^[^\p{L}\p{M}\p{N}]+")
_GOES_ON = regex.compile(r"[ ]+(?=\p{Ll})")
_JOINS = regex.compile(r"[ ]+\p{Ll}{1,3}[ ]+(?=\p{Lu}(?![\p{LC}0-9]))")
"""What follows a key that may be a word (``A baby``), and one of two keys (``A or B``)."""


def final_parts(answer: str, markers: Sequence[str]) -> list[str]:
    """The text after the last match of the patterns `markers`, up to the end of its line.

    Matches before it in that line give further, longer texts; the shortest comes first. Without a match, none.

    >>> final_parts("Answer: A\\nAnswer: the answer is B\\nBye", ["(?i)answer(:| is)"])
    ['B', 'the answer is B']
    """
    ends = sorted({span.end for pattern in markers for span in find_all(pattern, answer)}, reverse=True)
    near = [end for end in ends if "\n" not in answer[end : ends[0]]]
    return [answer[end:].strip().partition("\n")[0].strip() for end in near]


def read_chosen_options(
    text: str, options: Mapping[str, str], announced: Sequence[str], ignore: str, also_words: Sequence[str] = ()
) -> frozenset[str]:
    """The keys of the `options` (texts by key) that an answer chooses; empty if that is unclear.

    The text after the last match of `announced` counts. Without a match, the starts of lines and the end of the last
    line count, if all agree: a list of the options chooses none. An option's text counts like its key. The characters
    of `ignore` are ignored in comparisons. A key in `also_words` is also a word of the language: before a lower-case
    letter it counts only if the option's text follows.

    >>> planets = {"A": "Mars", "B": "Venus"}
    >>> texts = ("B. Venus", "A or B", "venus.", "A planet")
    >>> [sorted(read_chosen_options(text, planets, [], ".", "A")) for text in texts]
    [['B'], ['A', 'B'], ['B'], []]
    """
    bare = strip_formatting(text) or ""
    if finals := final_parts(bare, announced):
        return _keys(finals[0], options, ignore, "anywhere", also_words) or _contained_option(
            finals[0], options, ignore
        )
    lines = bare.split("\n")
    places = [*((line, "start") for line in lines), (lines[-1], "end")]
    choices = {keys for line, at in places if (keys := _keys(line, options, ignore, at, also_words))}
    return choices.pop() if len(choices) == 1 else frozenset()


def _keys(
    line: str, options: Mapping[str, str], ignore: str, position: str, also_words: Sequence[str]
) -> frozenset[str]:
    """The keys that `line` names at its start, at its end, or anywhere."""
    bare = _AROUND.sub("", line)
    for key, text in options.items():
        if comparison_key(line, ignore) == comparison_key(text, ignore) or bare.casefold() == key.casefold():
            return frozenset({key})
    if len(bare) > 1 and set(bare) <= set(options):
        return frozenset(bare)
    matches = [match for match in _any_key(tuple(options)).finditer(line) if _is_key(match, options, also_words)]
    if not matches:
        return frozenset()
    starts, ends = not re.search(r"\w", line[: matches[0].start()]), not re.search(r"\w", line[matches[-1].end() :])
    if not (position == "anywhere" or (position == "start" and starts) or (position == "end" and ends)):
        return frozenset()
    keys = frozenset(match.group() for match in matches)
    behind = comparison_key(_START.sub("", line[matches[0].end() :]), ignore)
    others = {comparison_key(text, ignore) for key, text in options.items() if key not in keys}
    return frozenset() if behind and behind in others else keys


@lru_cache(maxsize=256)
def _any_key(keys: tuple[str, ...]) -> regex.Pattern[str]:
    """Any of `keys`, the longest first."""
    forms: list[str] = []
    for form, plain in ((_PLAIN, True), (_OTHER, False)):
        sort = sorted((regex.escape(key) for key in keys if key.isascii() is plain), key=len, reverse=True)
        forms += [form % "|".join(sort)] if sort else []
    return regex.compile("|".join(forms) or r"(?!)")


def _is_key(match: regex.Match[str], options: Mapping[str, str], also_words: Sequence[str]) -> bool:
    """Whether a match is a key, and not a word of the language."""
    rest = match.string[match.end() :]
    if match.group() not in also_words or not _GOES_ON.match(rest) or _JOINS.match(rest):
        return True
    return rest.strip().casefold().startswith(options[match.group()].casefold() or "\n")


def _contained_option(line: str, options: Mapping[str, str], ignore: str) -> frozenset[str]:
    """The only option whose text `line` contains; a text within a longer matching text does not count."""
    answer = comparison_key(line, ignore)
    contained = {
        key: text for key, option in options.items() if (text := comparison_key(option, ignore)) and text in answer
    }
    longest = {
        key
        for key, text in contained.items()
        if not any(text != other and text in other for other in contained.values())
    }
    return frozenset(longest) if len(longest) == 1 else frozenset()
