"""Writes a page once in each language; the files link to each other, so that no script is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from benchbuilder.core import PageTexts, write_atomically


@dataclass(frozen=True)
class LanguageLink:
    """A page in another language: the texts of that language, and the file beside this one."""

    t: PageTexts
    file: str


LanguagePage = Callable[[PageTexts, Sequence[LanguageLink]], str]
"""A page in the language of some texts, with links to the others."""


def name_in_language(file: str, language: str) -> str:
    """The name of a page in a language that it does not open in.

    >>> name_in_language("report.html", "zh")
    'report.zh.html'
    """
    name = PurePath(file)
    return f"{name.stem}.{language}{name.suffix}"


def pages_in_languages(file: str, texts: Sequence[PageTexts]) -> Iterator[tuple[str, PageTexts, list[LanguageLink]]]:
    """The name, the texts and the links of a page in each language; the first has the name `file`."""
    links = [LanguageLink(t, name_in_language(file, t.language) if place else file) for place, t in enumerate(texts)]
    for link in links:
        yield link.file, link.t, [other for other in links if other is not link]


def write_pages(
    folder: Path, file: str, texts: Sequence[PageTexts], page: LanguagePage, *, sync: bool = True
) -> list[Path]:
    """Write `page` in each language. One that an earlier run wrote, when the page opened in another language, goes."""
    pages = pages_in_languages(file, texts)
    written = [write_atomically(folder / name, page(t, links), sync=sync) for name, t, links in pages]
    (folder / name_in_language(file, texts[0].language)).unlink(missing_ok=True)
    return written
