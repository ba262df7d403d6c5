"""The texts of files, line by line, without markup and settings; and terms, words and scripts in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import regex
import yaml

from benchbuilder.config import YamlEditor
from benchbuilder.core import WordFinder, read_given_text, script_of

_MARKUP = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_HOLDER = re.compile(r"\{\w+\}")
"""A placeholder in a frame or a label."""
_KEEP = re.compile(r"(?:#|<!--)\s*keep\b")
"""The mark of a line that is right as it is: ``# keep``, ``{# keep #}`` or ``<!-- keep -->``."""
_STEM = 5
"""The number of letters that words of one root share at least."""
_WORDLESS = regex.compile(r"[\p{Line_Break=ID}\p{Line_Break=SA}\p{Line_Break=CJ}]")
"""Letters of scripts without spaces between words."""

TextLines = list[tuple[int, str]]


def read_text_lines(path: Path) -> TextLines:
    """The texts of a file with their lines; comments, lines marked ``keep`` and, in YAML, keys are left out.

    Nothing if it is not text, or broken YAML: the check of recipes and prompts reports that.
    """
    try:
        text = read_given_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return []
    lines = list(enumerate(text.splitlines(), start=1))
    kept = {number for number, line in lines if _KEEP.search(line)}
    if path.suffix == ".yaml":
        try:
            return [(number, _HOLDER.sub(" ", value)) for number, value in _values(text) if number not in kept]
        except (yaml.YAMLError, RecursionError):
            return []
    if path.suffix in (".tsv", ".csv", ".txt"):
        return [(number, line) for number, line in lines if not line.startswith("#")]
    return [(number, _MARKUP.sub(" ", line)) for number, line in lines if number not in kept]


def _values(text: str) -> Iterator[tuple[int, str]]:
    for scalar in YamlEditor(text).scalars():
        written = text[scalar.start : scalar.end].splitlines()
        if len(written) > 1:
            yield from ((scalar.line + number, line) for number, line in enumerate(written))
        else:
            yield scalar.line, scalar.text


class TermFinder:
    """Finds terms in texts, in upper or lower case.

    In scripts with spaces between words, terms match whole words only.

    >>> sorted(TermFinder(["egg", "plant"]).find_terms("An EGG is no eggplant"))
    ['egg']
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = {word.casefold(): word for word in words if len(word) > 1}
        self._finder = WordFinder(self.words)

    def find_terms(self, text: str) -> set[str]:
        """The terms in `text`."""
        plain = text.casefold()
        return {self.words[word] for word in self._finder.find(plain) if _is_separate_word(word, plain)}


class StemFinder:
    """Finds words that begin like a long word of a recipe's name: ``medicine_en`` finds *medical*.

    Words of `known` name no field: kinds of sources, such as *claims*.

    >>> sorted(StemFinder("medicine_en").find_words("A careful Medical editor"))
    ['medical']
    """

    def __init__(self, name: str, known: Collection[str] = ()) -> None:
        parts = [part for part in name.split("_") if len(part) > _STEM and part not in known]
        stems = [regex.escape(part[:_STEM]) for part in parts]
        self._pattern = regex.compile(rf"(?<![\p{{L}}\p{{N}}_])(?:{'|'.join(stems) or '(?!)'})[\p{{L}}\p{{M}}]*")

    def find_words(self, text: str) -> set[str]:
        """The words in `text`, in lower case."""
        return set(self._pattern.findall(text.casefold()))


def _is_separate_word(word: str, text: str) -> bool:
    before = "" if _WORDLESS.match(word[0]) else r"(?<![\p{L}\p{M}\p{N}_])"
    after = "" if _WORDLESS.match(word[-1]) else r"(?![\p{L}\p{M}\p{N}_])"
    return bool(regex.search(f"{before}{regex.escape(word)}{after}", text)) if before or after else True


def first_line_in(script: str, lines: TextLines) -> int:
    """The first line with a letter of `script`."""
    return next((number for number, text in lines if any(script_of(c) == script for c in text)), 1)
