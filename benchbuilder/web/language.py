"""The language of a web app that a browser prefers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchbuilder.core import DEFAULT_LANGUAGE, PageTexts


def preferred_language(header: str, available: Mapping[str, PageTexts]) -> str:
    """The language in `available` that an Accept-Language `header` prefers, English if there is none.

    >>> from benchbuilder.core import load_languages
    >>> preferred_language("de, zh-CN;q=0.8, en;q=0.5", load_languages({}))
    'zh'
    """
    ranked: list[tuple[float, int, str]] = []
    for place, part in enumerate(header[:500].split(",")):
        tag, _, weight = part.strip().lower().partition(";q=")
        quality = float(weight) if re.fullmatch(r"[01](\.\d{1,3})?", weight) else 1.0 if not weight else 0.0
        code = next((code for code in available if tag == code.lower() or tag.startswith(f"{code.lower()}-")), "")
        if code and quality > 0:
            ranked.append((-quality, place, code))
    return min(ranked)[2] if ranked else DEFAULT_LANGUAGE
