"""Interface texts by language, from YAML files of the app and of recipes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.core import DataError, parse_plain_yaml

DEFAULT_LANGUAGE = "en"
"""The fallback language."""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class InterfaceTexts:
    """The texts of one language.

    >>> load_languages({})["en"]("progress.done", done=3, total=20)
    '3 of 20 done'
    """

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self._texts = texts

    def __call__(self, key: str, **values: object) -> str:
        """The text of dotted `key`, with `values` for the names in braces; KeyError if there is none."""
        text = self._texts[key]
        return _PLACEHOLDER.sub(lambda m: str(values.get(m[1], m[0])), text) if values else text

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
        return self("time.hours", n=f"{seconds / 3600:.1f}")


def load_languages(text_files: Mapping[str, Path]) -> dict[str, InterfaceTexts]:
    """The languages of the app and of `text_files`, by code; texts missing in a file are English.

    A file for a language of the app replaces its texts.

    Raises:
        DataError: a file cannot be read, or is not a mapping of texts.
    """
    own = dict(_bundled_texts())
    english = own[DEFAULT_LANGUAGE]
    for code, path in text_files.items():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"The interface texts in {code} cannot be read", where=str(path), why=str(error),
                next="Correct `strings` of the project in the recipe, or the file.",
            ) from error  # fmt: skip
        name = {} if code in own else {"meta.name": code}
        own[code] = {**english, **own.get(code, {}), **name, **_read(text, str(path))}
    return {code: InterfaceTexts(code, texts) for code, texts in own.items()}


@cache
def _bundled_texts() -> dict[str, dict[str, str]]:
    folder = files("benchbuilder.annotation.app").joinpath("strings")
    codes = sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return {code: _read(folder.joinpath(f"{code}.yaml").read_text(encoding="utf-8"), code) for code in codes}


def _read(text: str, where: str) -> dict[str, str]:
    try:
        return dict(_flatten("", parse_plain_yaml(text)))
    except (yaml.YAMLError, TypeError) as error:
        raise DataError(
            "A file with interface texts is not a YAML mapping of texts", where=where, why=str(error),
            next="Use the structure of the English file: keys with texts, or with mappings of texts.",
        ) from error  # fmt: skip


def _flatten(prefix: str, node: Any) -> list[tuple[str, str]]:
    if isinstance(node, Mapping):
        return [pair for key, value in node.items() for pair in _flatten(f"{prefix}.{key}" if prefix else key, value)]
    if not isinstance(node, str) or not prefix:
        raise TypeError(f"{prefix or 'the file'}: expected a text, found {type(node).__name__}")
    return [(prefix, node)]


def preferred_language(header: str, available: Mapping[str, InterfaceTexts]) -> str:
    """The language in `available` that an Accept-Language `header` prefers, English if there is none.

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
