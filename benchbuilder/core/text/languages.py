"""Tags of languages (BCP 47): which are known, and what a language is called in English.

The subtags are those of IANA's registry, in a data file. A library with the whole registry takes longer to import than
a recipe takes to load.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

_TAG = re.compile(
    r"(?P<language>[a-z]{2,3})(?:-(?P<extended>[a-z]{3}))?(?:-(?P<script>[A-Za-z]{4}))?"
    r"(?:-(?P<region>[A-Za-z]{2}|[0-9]{3}))?(?P<variants>(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*)"
    r"(?P<private>-x(?:-[A-Za-z0-9]{1,8})+)?"
)
_PRIVATE_LANGUAGES = ("qaa", "qtz")
_FORM = "for instance zh, en-GB or zh-Hant"


@lru_cache(maxsize=1)
def _registry() -> dict[str, dict[str, str]]:
    """Names and replacements by subtag, and the other subtags of each kind in small letters."""
    found: dict[str, dict[str, str]] = {}
    text = (files("benchbuilder.core.text") / "language_subtags.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            kind, subtags, *value = line.split("\t")
            known = found.setdefault(kind, {})
            known |= {subtag.lower(): value[0] if value else "" for subtag in subtags.split()}
    return found


def language_name(code: str) -> str:
    """The English name of the language of a tag; empty if its subtag has three letters.

    >>> language_name("no"), language_name("zh-Hant"), language_name("ban")
    ('Norwegian', 'Chinese', '')
    """
    return _registry()["name"].get(code.partition("-")[0], "")


def language_fault(code: str) -> str:
    """Why `code` is not the tag of a known language; empty if it is.

    >>> language_fault("no"), language_fault("zz"), language_fault("iw")
    ('', 'zz is not the code of a language', 'iw is written he now')
    """
    match = _TAG.fullmatch(code)
    if match is None:
        return f"expected the tag of a language, {_FORM}"
    registry, language = _registry(), match["language"]
    if language in registry["replaced"]:
        return f"{language} is written {registry['replaced'][language]} now"
    private = len(language) == 3 and _PRIVATE_LANGUAGES[0] <= language <= _PRIVATE_LANGUAGES[1]
    if not private and language not in registry["name"] and language not in registry["language"]:
        return f"{language} is not the code of a language"
    parts = [("extended", match["extended"]), ("script", match["script"]), ("region", match["region"])]
    parts += [("variant", variant) for variant in match["variants"].split("-")[1:]]
    unknown = [(kind, part) for kind, part in parts if part and part.lower() not in registry[kind]]
    return "; ".join(f"{part} is not the code of a {_KINDS[kind]}" for kind, part in unknown)


_KINDS = {"extended": "language", "script": "script", "region": "region", "variant": "variant of a language"}


def same_language(first: str, second: str) -> bool:
    """Whether two tags name the same language, in any script or country.

    >>> same_language("en-GB", "en"), same_language("en", "zh")
    (True, False)
    """
    return first.partition("-")[0] == second.partition("-")[0]
