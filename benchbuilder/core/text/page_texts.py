"""What pages say, by language: the review app, reports, cards, audits and results share one file of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.core.errors import DataError
from benchbuilder.core.special_files import read_given_text
from benchbuilder.core.text.plain_yaml import parse_plain_yaml
from benchbuilder.core.text.plurals import PLURAL_CATEGORIES, plural_category

DEFAULT_LANGUAGE = "en"
"""The language of texts that no file has in another one."""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)(?::(,|[a-z_]+))?\}")
_OWN = "benchbuilder.core.text"


class PageTexts:
    """The texts of one language.

    >>> t = page_texts("en")
    >>> t("report.tile_sources", n=1), t("report.tile_sources", n=12), t.direction
    ('in 1 source', 'in 12 sources', 'ltr')
    """

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self._texts = texts

    def __call__(self, key: str, **values: object) -> str:
        """The text of dotted `key`, with `values` for the names in braces; KeyError if there is none.

        Of a text with plural forms, the number `n` chooses one. ``{n:,}`` is a number with grouped digits, and
        ``{n:row}`` the text ``count.row`` with that number: 1 row, 2 rows.
        """
        text = self._texts.get(key)
        if text is None:
            n = values.get("n")
            form = plural_category(self.language, n) if isinstance(n, int) else "other"
            text = self._texts.get(f"{key}.{form}") or self._texts[f"{key}.other"]
        return _PLACEHOLDER.sub(lambda match: self._filled(match, values), text) if values else text

    def _filled(self, match: re.Match[str], values: Mapping[str, object]) -> str:
        value = values.get(match[1], match[0])
        if not match[2] or not isinstance(value, int | float):
            return str(value)
        return self.number(value) if match[2] == "," else self(f"count.{match[2]}", n=value)

    def get(self, key: str, default: str) -> str:
        """The text of `key`, or `default` where there is none (names that recipes and plugins bring)."""
        return self._texts.get(key, default)

    def starting(self, prefix: str) -> dict[str, str]:
        """The texts whose keys begin with `prefix`, by the rest of their keys: for scripts."""
        return {key.removeprefix(prefix): text for key, text in self._texts.items() if key.startswith(prefix)}

    def has_text(self, key: str) -> bool:
        """Whether there is a text of dotted `key`."""
        return key in self._texts

    @property
    def name(self) -> str:
        """The name of the language in itself."""
        return self._texts["meta.name"]

    @property
    def direction(self) -> str:
        """``ltr`` or ``rtl``."""
        return "rtl" if self._texts["meta.direction"] == "rtl" else "ltr"

    def duration(self, seconds: float) -> str:
        """A rounded duration: seconds below 90 s, then minutes, then hours with one decimal."""
        if seconds < 90:
            return self("time.seconds", n=round(seconds))
        if seconds < 5400:
            return self("time.minutes", n=round(seconds / 60))
        return self("time.hours", n=self._marked(f"{seconds / 3600:.1f}"))

    def number(self, value: float) -> str:
        """A count with its digits grouped, or a measure with one decimal.

        >>> page_texts("en").number(12345), page_texts("en").number(3.14159)
        ('12,345', '3.1')
        """
        return self._marked(f"{value:,}" if isinstance(value, int) else f"{value:,.1f}")

    def percent(self, proportion: float) -> str:
        """A proportion in per cent.

        >>> page_texts("en").percent(0.1234)
        '12.3 %'
        """
        return self("meta.percent", n=self._marked(f"{proportion * 100:.1f}"))

    def dollars(self, amount: float) -> str:
        """An amount of US dollars, as `format_dollars` gives it."""
        return self._marked(format_dollars(amount))

    def date(self, iso: str) -> str:
        """A date (2025-01-31) as the language writes it; another text as it is.

        >>> page_texts("en").date("2025-01-31"), page_texts("en").date("unknown")
        ('2025-01-31', 'unknown')
        """
        match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", iso)
        if match is None:
            return iso
        year, month, day = match.groups()
        return self("meta.date", y=year, m=month, d=day, month=str(int(month)), day=str(int(day)))

    def _marked(self, number: str) -> str:
        """A number in English form with the marks of the language."""
        marks = {",": self._texts["meta.group"], ".": self._texts["meta.decimal"]}
        return "".join(marks.get(sign, sign) for sign in number)


def format_dollars(amount: float) -> str:
    """An amount of US dollars with cents, or with two figures where it is less than one.

    >>> format_dollars(1234.5), format_dollars(0.012345), format_dollars(0.5), format_dollars(0)
    ('1,234.50', '0.012', '0.50', '0.00')
    """
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{Decimal(f'{amount:.1e}'):f}"


@cache
def text_languages() -> tuple[str, ...]:
    """The languages with texts of the program."""
    folder = files(_OWN).joinpath("strings")
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def nearest_language(language: str, text_files: Mapping[str, Path] | None = None) -> str:
    """The language with texts, of the program or in `text_files`, for a language tag; else `DEFAULT_LANGUAGE`.

    >>> nearest_language("en-GB"), nearest_language("xx")
    ('en', 'en')
    """
    known = {*text_languages(), *(text_files or {})}
    base = language.partition("-")[0]
    return language if language in known else base if base in known else DEFAULT_LANGUAGE


def locale_language(environ: Mapping[str, str]) -> str:
    """The tag of the language in which a locale has its messages; `DEFAULT_LANGUAGE` without one.

    >>> locale_language({"LANG": "zh_CN.UTF-8"}), locale_language({"LC_ALL": "C", "LANG": "zh_CN"})
    ('zh-CN', 'en')
    """
    found = next(filter(None, map(environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    tag = re.split(r"[.@]", found)[0].replace("_", "-")
    return tag if tag not in ("", "C", "POSIX") else DEFAULT_LANGUAGE


def page_texts(language: str, text_files: Mapping[str, Path] | None = None) -> PageTexts:
    """The texts of `language`, or the nearest one; texts missing in a file are English.

    Args:
        language: A language tag.
        text_files: Files of texts by language; they replace the program's.

    Raises:
        DataError: A file cannot be read, or is not a mapping of texts.
    """
    given = text_files or {}
    code = nearest_language(language, given)
    if code not in given:
        return _texts_of_program(code)
    named = {} if code in text_languages() else {"meta.name": code}
    own = {**named, **read_texts(given[code], code)}
    return PageTexts(code, _laid_over(_laid_over(_bundled(DEFAULT_LANGUAGE), _bundled(code)), own))


@cache
def _texts_of_program(code: str) -> PageTexts:
    return PageTexts(code, _laid_over(_bundled(DEFAULT_LANGUAGE), _bundled(code)))


def _laid_over(texts: Mapping[str, str], layer: Mapping[str, str]) -> dict[str, str]:
    """`texts` with those of `layer` in their place; with a text go all its plural forms."""
    names, replaced = text_names(texts), {*text_names(layer).values()}
    return {key: text for key, text in texts.items() if names[key] not in replaced} | dict(layer)


def load_languages(text_files: Mapping[str, Path]) -> dict[str, PageTexts]:
    """All languages of the program and of `text_files`, by code."""
    return {code: page_texts(code, text_files) for code in (*text_languages(), *text_files)}


def missing_texts(path: Path, language: str) -> tuple[int, int]:
    """How many texts of the English file a file of texts lacks, and how many there are; plural forms count once.

    DataError if the file cannot be read.
    """
    wanted = {*text_names(_bundled(DEFAULT_LANGUAGE)).values()}
    return len(wanted - {*text_names(read_texts(path, language)).values()}), len(wanted)


def text_names(texts: Iterable[str]) -> dict[str, str]:
    """The name of the text of each dotted key: without the plural form, if it is one.

    >>> text_names(["a.one", "a.other", "kind.other", "kind.edge"])
    {'a.one': 'a', 'a.other': 'a', 'kind.other': 'kind.other', 'kind.edge': 'kind.edge'}
    """
    keys = list(texts)
    children: dict[str, set[str]] = {}
    for key in keys:
        above, _, last = key.rpartition(".")
        children.setdefault(above, set()).add(last)
    forms = {above for above, below in children.items() if "other" in below and below <= {*PLURAL_CATEGORIES}}
    return {key: above if (above := key.rpartition(".")[0]) in forms else key for key in keys}


def read_texts(path: Path, language: str) -> dict[str, str]:
    """The texts in a file, by dotted key; DataError if it cannot be read, or is not a mapping of texts."""
    try:
        text = read_given_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"The page texts in {language} cannot be read", where=str(path), why=str(error),
            next="Correct `strings` of the recipe, or the file.",
        ) from error  # fmt: skip
    return _parsed(text, str(path))


@cache
def _bundled(language: str) -> Mapping[str, str]:
    """The texts of the program; none in a language that only a recipe has."""
    file = files(_OWN).joinpath("strings", f"{language}.yaml")
    return _parsed(file.read_text(encoding="utf-8"), file.name) if file.is_file() else {}


def _parsed(text: str, where: str) -> dict[str, str]:
    try:
        return dict(_flatten("", parse_plain_yaml(text)))
    except (yaml.YAMLError, TypeError) as error:
        raise DataError(
            "A file with page texts is not a YAML mapping of texts", where=where, why=str(error),
            next="Use the structure of the English file: keys with texts, or with mappings of texts.",
        ) from error  # fmt: skip


def _flatten(prefix: str, node: Any) -> list[tuple[str, str]]:
    if isinstance(node, Mapping):
        below = ((f"{prefix}.{key}" if prefix else str(key), value) for key, value in node.items())
        return [pair for key, value in below for pair in _flatten(key, value)]
    if not isinstance(node, str) or not prefix:
        raise TypeError(f"{prefix or 'the file'}: expected a text, found {type(node).__name__}")
    return [(prefix, node)]
