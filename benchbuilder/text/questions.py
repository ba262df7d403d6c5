"""What every generated question is checked for."""

from __future__ import annotations

import random

from benchbuilder.text.answers import same_key


def is_one_sentence(question: str, mark: str, ends: str) -> bool:
    """Whether `question` ends in `mark` and holds no other character of `ends`.

    >>> is_one_sentence("Is it so?", "?", ".?!")
    True
    >>> is_one_sentence("It is. Is it?", "?", ".?!")
    False
    """
    body = question.removesuffix(mark)
    return body != question and bool(body.strip()) and not any(end in body for end in ends)


def leaks(answer: str, question: str, ignore: str) -> bool:
    """Whether `question` holds `answer`, normalised, without the characters of `ignore`.

    >>> leaks("Iron", "what holds IRON?", "")
    True
    """
    key = same_key(answer, ignore)
    return bool(key) and key in same_key(question, ignore)


def asks_true(seed: int, fact: str) -> bool:
    """Whether the tf question of `fact` is about its true statement: an even coin that falls the same every time.

    >>> asks_true(1, "fact-a") == asks_true(1, "fact-a")
    True
    """
    return random.Random(f"{seed}:polarity:{fact}").random() < 0.5
