"""The texts of reports and cards by language, from the YAML files next to this module."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator

_OWN_STRINGS = "benchbuilder.exporters.render"
DEFAULT_LANGUAGE = "en"
"""The language of reports for which there is no better one."""


@cache
def text_languages() -> tuple[str, ...]:
    """The languages with texts: those of the files next to this module."""
    folder = files(_OWN_STRINGS).joinpath("strings")
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir()))


def nearest_language(language: str) -> str:
    """The language with texts for a language tag; `DEFAULT_LANGUAGE` if there is none.

    >>> nearest_language("en-GB"), nearest_language("xx")
    ('en', 'en')
    """
    base = language.partition("-")[0]
    return base if base in text_languages() else DEFAULT_LANGUAGE


def _check_language(language: str) -> str:
    if language not in text_languages():
        raise ValueError(f"there are no texts in {language!r}: {', '.join(text_languages())}")
    return language


Language = Annotated[str, AfterValidator(_check_language)]
"""A language with texts."""


class ReportTexts:
    """The texts of one language, with those of further `packages`.

    >>> ReportTexts("en")("report.contents")
    'Contents'
    """

    def __init__(self, language: Language, packages: tuple[str, ...] = ()) -> None:
        self.language = language
        self._texts = texts_of(language, packages)

    def __call__(self, key: str, **values: object) -> str:
        """The text of a dotted `key`, with `values` filled in; KeyError if there is none."""
        text = self._texts[key]
        return text.format(**values) if values else text

    def get(self, key: str, default: str) -> str:
        """The text of `key`, or `default` where there is none (names that recipes and plugins bring)."""
        return self._texts.get(key, default)


@cache
def texts_of(language: str, packages: tuple[str, ...] = ()) -> Mapping[str, str]:
    """Every text of a language by dotted key: ``strings/en.yaml`` of this package and of further `packages`."""
    found: dict[str, str] = {}
    for package in (_OWN_STRINGS, *packages):
        file = files(package).joinpath("strings", f"{language}.yaml")
        pairs = _flatten("", yaml.safe_load(file.read_text(encoding="utf-8")))
        if twice := sorted(key for key, _ in pairs if key in found):
            raise ValueError(f"{package}, strings of {language!r}: defined twice: {', '.join(twice)}")
        found.update(pairs)
    return found


def _flatten(prefix: str, node: Any) -> list[tuple[str, str]]:
    if not isinstance(node, Mapping):
        return [(prefix, str(node))]
    return [pair for key, value in node.items() for pair in _flatten(f"{prefix}.{key}" if prefix else str(key), value)]


def format_number(value: float) -> str:
    """A count with thousands apart, or a measure with one decimal.

    >>> format_number(12345), format_number(3.14159)
    ('12,345', '3.1')
    """
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def format_percent(proportion: float) -> str:
    """A proportion in per cent.

    >>> format_percent(0.1234)
    '12.3 %'
    """
    return f"{proportion * 100:.1f} %"


def format_dollars(amount: float) -> str:
    """An amount of US dollars with cents, or with two figures where it is less than one.

    >>> format_dollars(1234.5), format_dollars(0.012345), format_dollars(0.5), format_dollars(0)
    ('1,234.50', '0.012', '0.50', '0.00')
    """
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{Decimal(f'{amount:.1e}'):f}"
