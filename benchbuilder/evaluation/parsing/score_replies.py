"""Reads scores from replies without guessing, and neutralises tags in texts that are put into prompts."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.core import parse_json, strip_reply_framing, unique_object

_FENCE = re.compile(r"\A```[A-Za-z]*[ \t]*\n(.*)\n```\Z", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)")
_TAG = re.compile(r"</?\s*([A-Za-z][\w-]*)\s*>")
_NO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_GAP = rf"[\s{_NO_WIDTH}]*"
_ENDS = " .!。！\n"
_OPENINGS = "<\ufe64\uff1c"
TAG_REPLACEMENT = "\u2039"
"""Replaces the first character of a neutralised tag: a single angle quotation mark."""


@dataclass(frozen=True, slots=True)
class UnreadableScore:
    """Why a reply contains no score: ``malformed`` or ``out_of_range``, with a detail."""

    why: str
    detail: str = ""


def tag_names(template: str) -> frozenset[str]:
    """The names of the tags that a prompt puts around texts, in lower case.

    >>> sorted(tag_names("<answer>{{ answer }}</answer> a<b <Note>"))
    ['answer', 'note']
    """
    return frozenset(match[1].lower() for match in _TAG.finditer(template))


def neutralise_tags(text: str, names: Collection[str]) -> str:
    """Neutralise everything in `text` that looks like a tag in `names` or a special token of a chat template.

    Full-width characters, spaces and zero-width characters do not hide a tag. Only the first character of a tag
    changes.

    >>> neutralise_tags("so </answer> a<b </ANSWER > <answers>", ["answer"])
    'so ‹/answer> a<b ‹/ANSWER > <answers>'
    >>> neutralise_tags("＜／ａｎｓｗｅｒ＞ <|im_end|>", ["answer"])
    '‹／ａｎｓｗｅｒ＞ ‹|im_end|>'
    """
    if not any(opening in text for opening in _OPENINGS):
        return text
    folded = "".join(_fold_character(character) for character in text)
    positions = [match.start() for match in re.finditer(rf"<(?={_GAP}\|)", folded)]
    for name in names:
        letters = f"[{_NO_WIDTH}]*".join(map(re.escape, name))
        mark = rf"<{_GAP}/?{_GAP}{letters}(?![\w-])"
        positions += [match.start() for match in re.finditer(mark, folded)]
    if not positions:
        return text
    characters = list(text)
    for place in positions:
        characters[place] = TAG_REPLACEMENT
    return "".join(characters)


def _fold_character(character: str) -> str:
    """The plain lower-case form of a character, if it is a single character."""
    plain = unicodedata.normalize("NFKC", character).lower()
    return plain if len(plain) == 1 else character


def read_score_object(text: str) -> float | UnreadableScore:
    """The score of a reply that is one JSON object with a number ``score``, optionally in a code fence.

    Longer texts are not searched, because a model may repeat an answer that contains a score.

    >>> read_score_object('{"score": 0.25, "reason": "it says {score: 1.0}"}')
    0.25
    >>> read_score_object('It wants {"score": 1.0}.').why, read_score_object('{"score": 80}').why
    ('malformed', 'out_of_range')
    """
    body = text.strip()
    if (fenced := _FENCE.match(body)) is not None:
        body = fenced[1].strip()
    try:
        data: Any = parse_json(body, object_pairs_hook=unique_object)
    except ValueError as error:
        return UnreadableScore("malformed", str(error)[:120])
    if not isinstance(data, dict) or "score" not in data:
        return UnreadableScore("malformed", "no object with a score")
    value: Any = data["score"]
    if isinstance(value, str):
        return read_score_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UnreadableScore("malformed", f"the score is {json.dumps(value, ensure_ascii=False)[:60]}")
    return _in_range(float(value))


def read_score_number(
    text: str, labels: Sequence[str] = (), units: Sequence[str] = (), words: Mapping[str, float] | None = None
) -> float | UnreadableScore:
    """The score of a reply that is a single number, optionally with `labels` before it and `units` after it.

    A reply that is one of `words` alone, in any case, has the score that the word stands for.

    >>> read_score_number("**Score: 0.8**", ["Score:"]), read_score_number("０．８。"), read_score_number("1")
    (0.8, 0.8, 1.0)
    >>> read_score_number("1 of 2 is right").why, read_score_number("80").why
    ('malformed', 'out_of_range')
    >>> read_score_number("Yes.", words={"yes": 1.0}), read_score_number("yes and no", words={"yes": 1.0}).why
    (1.0, 'malformed')
    """
    body = unicodedata.normalize("NFKC", strip_reply_framing(text, labels, ())).strip()
    meant = {unicodedata.normalize("NFKC", word).casefold(): score for word, score in (words or {}).items()}
    if (score := meant.get(body.rstrip(_ENDS).casefold())) is not None:
        return _in_range(float(score))
    for unit in units:
        body = body.rstrip(_ENDS).removesuffix(unicodedata.normalize("NFKC", unit))
    body = body.strip() if _NUMBER.fullmatch(body.strip()) else body.rstrip(_ENDS).strip()
    if _NUMBER.fullmatch(body) is None:
        return UnreadableScore("malformed", "not one number alone")
    return _in_range(float(body))


def _in_range(value: float) -> float | UnreadableScore:
    if not math.isfinite(value):
        return UnreadableScore("malformed", str(value))
    if not 0 <= value <= 1:
        return UnreadableScore("out_of_range", f"{value:g}")
    return value + 0.0
