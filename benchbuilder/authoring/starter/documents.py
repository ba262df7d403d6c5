"""Documents (Word, HTML, Markdown, PDF, EPUB, plain text) as sections: headings above, and one paragraph a line."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError
from zipfile import BadZipFile

from benchbuilder.authoring.starter.read_back import first_rows
from benchbuilder.authoring.starter.sample import Reading, UnclearLayoutError, encoding_settings
from benchbuilder.core import Passage, imports_of, normalise_space, read_given_file
from benchbuilder.sources import paragraphs

_MOST_PAGES = 10_000
_HEADING_WORDS, _HEADER_WORDS = 9, 6
_STYLES = "p[style-name='Title'] => h1:fresh"
_HIDDEN = frozenset(
    {
        "aside",
        "button",
        "footer",
        "form",
        "math",
        "nav",
        "noscript",
        "object",
        "script",
        "select",
        "style",
        "svg",
        "template",
    }
)
_BLOCKS = frozenset(
    {
        "address",
        "article",
        "blockquote",
        "body",
        "caption",
        "dd",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hr",
        "html",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    }
)
_BULLET = re.compile(r"\s*(?:[\u2022\u25aa\u25cf\u25a0\u2023\u2013*-]|\(?\d+[.)])\s+")
_NUMBERED = re.compile(r"(\d+(?:\.\d+)*)\.?\s+(?=\D)")
_MARKDOWN = re.compile(r"\A\s*(?:[-+*]\s+|#+\s+)|\*\*|__")
_LABELLED = re.compile(r"[(\uff08]?(?:[A-Ja-j]|\d{1,4})[.\uff0e)\uff09\u3001:\uff1a]")
_MOST_OPTIONS = 8
_UNDERLINE = re.compile(r"[=~*_-]{4,}\Z")
_LIST_OF_DEFINITIONS = re.compile(r"(?m)^(\S[^\n]*)\n(?:\s*\n)?:[ \t]+")


class Sections:
    """Collects the sections of a document.

    An item of a list is joined to the line that leads to it, for what stands there may turn its sense: *Do not:*. A row
    of a table with a header says the name of each column.
    """

    def __init__(self, name: str) -> None:
        self.name, self._named = name, False
        self._trail: dict[int, str] = {}
        self._leads: dict[int, str] = {}
        self._found: list[tuple[tuple[str, ...], list[str]]] = [((), [])]

    @property
    def is_empty(self) -> bool:
        """Whether it has neither a heading nor a line yet."""
        return self._found == [((), [])]

    @property
    def records(self) -> list[dict[str | int, Any]]:
        """Each section with its document and its title, which ends in the headings above it."""
        return [
            {"document": self.name, "title": " > ".join(dict.fromkeys((self.name, *above))), "text": "\n".join(lines)}
            for above, lines in self._found
            if lines
        ]

    def heading(self, level: int, text: str) -> None:
        """A heading of a level from 1; the first of level 1 is the name of the document."""
        if not (text := normalise_space(text)):
            return
        if level == 1 and not self._named:
            self.name, self._named = text, True
        self._trail = {**{above: name for above, name in self._trail.items() if above < level}, level: text}
        self._leads = {}
        self._found.append((tuple(self._trail.values()), []))

    def line(self, text: str, depth: int = 0) -> None:
        """A paragraph, or an item of a list at a depth from 1."""
        if not (text := normalise_space(text)):
            return
        whole = f"{self._leads.get(depth - 1, '')} {text}".strip()
        self._leads = {above: lead for above, lead in self._leads.items() if above < depth}
        if whole.endswith((":", "\uff1a")):
            self._leads[depth] = whole
        self._found[-1][1].append(whole)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """The rows of a table, of which the first may be its header."""
        plain = [[normalise_space(cell).replace("|", "/") for cell in row] for row in rows if any(row)]
        names = plain[0] if len({len(row) for row in plain}) == 1 and len(plain) > 1 and len(plain[0]) > 1 else []
        is_header = (
            all(names)
            and len(set(names)) == len(names)
            and all(len(name.split()) <= _HEADER_WORDS and not re.search(r"\d|[.!?]\Z", name) for name in names)
        )
        for row in plain[1:] if names and is_header else plain:
            cells = zip(names, row, strict=True) if is_header and names else (("", cell) for cell in row)
            self.line(" | ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell))


class _Lines(Sections):
    """Collects the lines of a document, each with its depth in lists; of a table, each row is one."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.found: list[tuple[int, str]] = []

    def heading(self, level: int, text: str) -> None:  # noqa: ARG002
        self.line(text)
        self.found.append((0, ""))

    def line(self, text: str, depth: int = 0) -> None:
        self.found += [(depth, plain) for part in text.split("\n") if (plain := normalise_space(part))]

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        for row in rows:
            self.line(" ".join(row))

    @property
    def lettered(self) -> list[str]:
        """The lines. Word keeps the letters of a list outside its text: a few items below a line have them again."""
        lines = list[str]()
        for depth, run in groupby(self.found, key=lambda found: found[0]):
            texts = [text for _, text in run]
            few = depth and lines and 1 < len(texts) <= _MOST_OPTIONS and not any(map(_LABELLED.match, texts))
            lines += [f"{'ABCDEFGH'[at]}. {text}" for at, text in enumerate(texts)] if few else texts
        return lines


class _Html(HTMLParser):
    """Hands the blocks of a page to `Sections`."""

    def __init__(self, sections: Sections) -> None:
        super().__init__()
        self._sections, self._pieces, self._term = sections, list[str](), ""
        self._hidden = self._depth = self._tables = 0
        self._block = ""
        self._rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._hidden += tag in _HIDDEN
        if tag == "br" or (tag == "sup" and not self._hidden):
            self._pieces.append("\n" if tag == "br" else " ")
        if self._hidden or tag not in _BLOCKS or (self._tables and tag not in ("table", "tr", "td", "th")):
            return
        self._end_block()
        self._block = tag
        if tag in ("ul", "ol"):
            self._depth += 1
        elif tag == "table":
            self._tables += 1
        elif tag == "tr" and self._tables == 1:
            self._rows.append([])

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif not self._hidden and tag in _BLOCKS and (not self._tables or tag in ("table", "tr", "td", "th")):
            self._end_block()
            self._block = ""
            self._depth -= tag in ("ul", "ol") and self._depth > 0
            if tag == "table" and self._tables:
                self._tables -= 1
                if not self._tables:
                    self._sections.table(self._rows)
                    self._rows = []
        elif self._tables and tag in _BLOCKS:
            self._pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._pieces.append(data)

    def close(self) -> None:
        super().close()
        self._end_block()
        if self._rows:
            self._sections.table(self._rows)

    def _end_block(self) -> None:
        whole, self._pieces = "".join(self._pieces), []
        text = normalise_space(whole)
        if self._tables and self._block in ("td", "th"):
            (self._rows or [[]])[-1].append(text)
        elif not text:
            return
        elif re.fullmatch("h[1-6]", self._block):
            self._sections.heading(int(self._block[1]), text)
        elif self._block == "title":
            self._sections.name = text
        elif self._block == "dt":
            self._term = text
        elif self._block == "dd":
            self._sections.line(f"{self._term}: {text}")
        else:
            self._sections.line(whole, self._depth)


def _read_html(text: str, sections: Sections) -> None:
    page = _Html(sections)
    page.feed(text)
    page.close()


def _read_markdown(text: str, sections: Sections) -> None:
    from markdown_it import MarkdownIt

    text = _LIST_OF_DEFINITIONS.sub(r"\1: ", re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL))
    _read_html(MarkdownIt("commonmark").enable("table").render(text), sections)


def _read_text(text: str, sections: Sections) -> None:
    """Running text: blank lines, or lines that are much shorter than the others, end a paragraph."""
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        lines = [line.strip() for line in block.split("\n") if line.strip()]
        heads = [line for line in lines if not _UNDERLINE.match(line)]
        if len(heads) < len(lines) and len(heads) == 1:
            sections.heading(1 if "=" in lines[-1] else 2, heads[0])
            continue
        for line in paragraphs(heads, join_hyphens=True).splitlines():
            _read_line(line, sections)


def _read_line(line: str, sections: Sections) -> None:
    """A line of a format without marks for headings: a short one without a mark at its end is one."""
    numbered = _NUMBERED.match(line)
    name = line[numbered.end() :] if numbered is not None else line
    is_name = name[:1].isupper() and name[-1:].isalpha() and not re.search(r"\d", name)
    if is_name and len(name.split()) <= _HEADING_WORDS:
        level = numbered[1].count(".") + 2 if numbered is not None else 2
        sections.heading(1 if sections.is_empty and numbered is None else level, line)
    elif (bullet := _BULLET.match(line)) is not None:
        sections.line(line[bullet.end() :], depth=1)
    else:
        sections.line(line)


def _read_book(path: Path, sections: Sections) -> int:
    """The pages of a PDF or the chapters of an EPUB; returns how many could not be read or hold no text."""
    settings = {"kind": "books", "path": str(path), "running_lines": "drop", "join_hyphens": True}
    rows = [row for row in first_rows("pages", settings, path, "", _MOST_PAGES) if isinstance(row, Passage)]
    lines = [line for row in rows for line in row.text.splitlines()]
    for line in _joined(lines):
        _read_line(line, sections)
    numbers = [row.origin.line for row in rows]
    return max(numbers, default=0) - len(numbers)


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """The lines, each with the next one if a sentence goes on in it, as it does from page to page."""
    whole = ""
    for line in lines:
        if whole and not whole.endswith((".", "!", "?", ":")) and line[:1].islower():
            whole = f"{whole} {line}"
            continue
        if whole:
            yield whole
        whole = line
    if whole:
        yield whole


def _read_word(data: bytes, sections: Sections) -> None:
    with imports_of("docx", "a document in Word", instead="save it as HTML"):
        import mammoth
    try:
        page: Any = mammoth.convert_to_html(io.BytesIO(data), style_map=_STYLES, convert_image=_no_image)
    except (KeyError, ValueError, OSError, AttributeError, BadZipFile, ExpatError) as error:
        raise UnclearLayoutError(f"whether this is DOCX: {str(error)[:80]}", sure=True, hint="save it anew") from error
    _read_html(re.sub(r"<sup><a [^>]*>\[\d+\]</a></sup>", "", page.value), sections)


def _no_image(_: object) -> list[Any]:
    """What stands in the place of an image."""
    return []


_TEXTS: Mapping[str, Callable[[str, Sections], None]] = {
    ".html": _read_html,
    ".htm": _read_html,
    ".md": _read_markdown,
    ".txt": _read_text,
}


def decoded_text(path: Path, reading: Reading) -> str:
    """The text of a file in the encoding in which it reads best; UnclearLayoutError if it is damaged in that, too."""
    encoding = str(encoding_settings(path, reading).get("encoding", "utf-8"))
    try:
        return read_given_file(path).decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UnclearLayoutError(
            f"the encoding: {encoding} reads it best, and fails at byte {error.start}",
            sure=True,
            hint="save it as UTF-8",
        ) from None


DOCUMENTS = (*_TEXTS, ".docx", ".pdf", ".epub")
"""The suffixes of documents."""


def document_lines(path: Path, reading: Reading) -> list[str]:
    """The lines of a document as they are printed, without headings and sections; those of a text as they are."""
    suffix, lines = path.suffix.lower(), _Lines(path.stem)
    if suffix == ".docx":
        _read_word(read_given_file(path), lines)
    elif suffix in (".html", ".htm"):
        _read_html(decoded_text(path, reading), lines)
    elif suffix in (".txt", ".md"):
        found = decoded_text(path, reading).splitlines()
        return [_MARKDOWN.sub("", line) if suffix == ".md" else line for line in found]
    else:
        settings = {"kind": "books", "path": str(path), "running_lines": "drop", "join_hyphens": False}
        rows = first_rows("pages", settings, path, "", _MOST_PAGES)
        return [line for row in rows if isinstance(row, Passage) for line in row.text.splitlines()]
    return lines.lettered


def read_document(path: Path, reading: Reading | None = None) -> tuple[list[dict[str | int, Any]], str]:
    """The sections of a document, and what was left out.

    Raises:
        UnclearLayoutError: It holds no text, or its encoding cannot be told.
        InstallationError: A library is missing.
    """
    suffix, sections, without = path.suffix.lower(), Sections(path.stem), 0
    if suffix == ".docx":
        _read_word(read_given_file(path), sections)
    elif suffix in _TEXTS:
        _TEXTS[suffix](decoded_text(path, reading or Reading()), sections)
    else:
        without = _read_book(path, sections)
    if not (records := sections.records):
        raise UnclearLayoutError("a document without text", sure=True, hint="make the text of its pictures first (OCR)")
    return records, f"; left out: {without} pages without text" if without else ""
