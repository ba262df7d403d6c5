"""Language codes, as recipes and files write them."""

from __future__ import annotations

import re

_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")


def is_language(code: str) -> bool:
    """Whether `code` has the form of a language code (BCP 47).

    >>> is_language("zh-Hant"), is_language("csv/terms")
    (True, False)
    """
    return _CODE.fullmatch(code) is not None


def same_language(first: str, second: str) -> bool:
    """Whether two codes name one language, in whatever script or country.

    >>> same_language("en-GB", "en"), same_language("en", "zh")
    (True, False)
    """
    return first.partition("-")[0] == second.partition("-")[0]
