"""The source kind `wikipedia`: the articles of a MediaWiki dump, as clean text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from benchbuilder.config import FileRef, KindSpec, RuntimeOption, Slot, Spec
from benchbuilder.core import (
    Conversion,
    DataError,
    Dropped,
    Fold,
    Passage,
    Row,
    create_from_spec,
    is_installed,
    load_words,
    require_extra,
    script_version,
)
from benchbuilder.retrieval import Tokenizer
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.files import SourceFile, find_files, wrong_shape
from benchbuilder.sources.formats.large_files import DamagedFileError, available_cores, map_in_order, read_decompressed
from benchbuilder.sources.formats.mediawiki_dump import DumpHead, DumpPage, NotADumpError, parse_pages, split_dump
from benchbuilder.sources.formats.tables import Column, RawRow
from benchbuilder.sources.formats.topic_words import TopicWords
from benchbuilder.sources.formats.wikitext import UnreadableMarkupError, WikiMarkup
from benchbuilder.sources.unit_source import HEAD_ROWS, READING_REASONS, UnitSource

DUMP_SUFFIXES = (".bz2", ".xml", ".gz")
_SMALL_BYTES = 4_000_000
_FILES, _CATEGORIES = 6, 14
_CANONICAL = ("File", "Image", "Media", "Category")


class ShownTemplate(Spec):
    """Templates that show a parameter in the text: the first non-empty one of `parameters`."""

    names: Annotated[tuple[str, ...], Field(min_length=1)]
    parameters: Annotated[tuple[str, ...], Field(min_length=1)]


class WikipediaSpec(SourceSpec):
    """A dump ``pages-articles``, plain, .gz or .bz2 (of several streams too), in one file or in parts.

    With a word list `words`, only pages with a word in title or text are kept: anywhere (`match` ``contains``) or as
    tokens of the `tokenizer` (``words``). `fold` names what is ignored: capitals unless it is set. `convert` names the
    OpenCC configuration for the comparison only (the step `paragraphs` converts the text later).
    """

    path: FileRef
    """A file, a folder or a glob."""
    files: str = ""
    """Which files of a folder: a name with ``*``."""
    disambiguation: tuple[str, ...]
    """Names of the templates of disambiguation pages."""
    sections: tuple[str, ...]
    """Titles of sections to leave out with their subsections: references, external links."""
    headings: bool
    """Whether titles of the other sections are kept, as separate lines."""
    file_namespaces: tuple[str, ...] = ()
    """Names of the namespaces of files and categories, whose links show no text, besides those in the dump."""
    shown_templates: dict[str, ShownTemplate] = {}
    """Templates that show a parameter, under names of your choice."""
    variants: tuple[Annotated[str, Field(pattern=r"^[A-Za-z]+(-[A-Za-z]+)*$")], ...] = ()
    """The variants of the language that ``-{...}-`` is resolved to, the best first (``zh-hans``)."""
    words: FileRef | None = None
    match: Literal["contains", "words"] = "contains"
    fold: tuple[Fold, ...] = ("case",)
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None
    convert: Conversion | None = None
    workers: Annotated[int | None, Field(ge=1), RuntimeOption()] = None
    """Processes that clean pages; ``null``: one per processor, none for small dumps."""

    @model_validator(mode="after")
    def _words_are_there(self) -> WikipediaSpec:
        if self.words is None and ("fold" in self.model_fields_set or self.match == "words"):
            raise ValueError("`match` and `fold` need the word list `words`")
        return self

    def tokens(self) -> Tokenizer | None:
        """The tokenizer, if whole words are needed."""
        needed = self.words is not None and self.match == "words" and self.tokenizer is not None
        return create_from_spec("tokenizer", self.tokenizer) if needed else None


class PageCleaner:
    """Makes units of a part of a dump; it can be pickled, and opens itself on first use."""

    def __init__(self, spec: WikipediaSpec, head: DumpHead) -> None:
        self._spec, self._markup = spec, make_markup(spec, head)

    def __call__(self, data: bytes) -> tuple[list[RawRow], str, str]:
        """The units of `data`, numbered from 1, the title of the last one, and the problem after them."""
        part = parse_pages(data)
        rows = [self._unit(number, page) for number, page in enumerate(part.pages, 1)]
        return rows, part.pages[-1].title if part.pages else "", part.problem

    @cached_property
    def _words(self) -> TopicWords | None:
        spec, tokenizer = self._spec, self._spec.tokens()
        if spec.words is None:
            return None
        if tokenizer is not None:
            tokenizer.open()
        tokens = None if tokenizer is None else tokenizer.tokens
        return TopicWords(load_words(spec.words.file), spec.fold, spec.convert, tokens)

    def _unit(self, number: int, page: DumpPage) -> RawRow:
        title = page.title
        if reason := self._drop_reason(page):
            return RawRow(number, (), reason, title)
        try:
            text, named = self._markup.clean(page.text)
        except UnreadableMarkupError as error:
            return RawRow(number, (), "unreadable_markup", f"{title}: {error}")
        if not text:
            return RawRow(number, (), "empty", title)
        shown = named or title
        if self._words is not None and not self._words.in_text(shown, text):
            return RawRow(number, (), "off_topic", title)
        return RawRow(number, (title, shown, text))

    def _drop_reason(self, page: DumpPage) -> str:
        """Why a page is dropped before it is parsed, "" if it is not."""
        if page.namespace != "0":
            return "other_namespace" if page.namespace else "malformed"
        if page.redirect:
            return "redirect"
        if page.model not in ("", "wikitext"):
            return "no_wikitext"
        if not page.title:
            return "malformed"
        if self._markup.is_disambiguation(page.text):
            return "disambiguation"
        perhaps = self._words is None or self._words.may_be_in(page.title, page.text)
        return "" if perhaps else "off_topic"


def make_markup(spec: WikipediaSpec, head: DumpHead) -> WikiMarkup:
    """The markup of a dump, by recipe and head."""
    namespaces = (head.namespaces.get(key, "") for key in (_FILES, _CATEGORIES))
    files = tuple(filter(None, (*_CANONICAL, *namespaces, *spec.file_namespaces)))
    shown = tuple((template.names, template.parameters) for template in spec.shown_templates.values())
    return WikiMarkup(spec.variants, files, spec.sections, spec.headings, shown, spec.disambiguation)


class Wikipedia(UnitSource[WikipediaSpec]):
    """The articles of one wiki, with one passage per page and one paragraph per line.

    A unit is a page of the dump, numbered from 1 in each file. Left out of a page: templates (but for parameters that
    the recipe shows), tables, references, images, categories, formulas, comments, and the sections that the recipe
    names. A page's document is its title in the dump, its title that which it shows.
    """

    kind: ClassVar[str] = "wikipedia"
    spec_class: ClassVar[type[SourceSpec]] = WikipediaSpec
    output: ClassVar[type[Row]] = Passage
    reasons: ClassVar[Mapping[str, str]] = {
        "malformed": READING_REASONS["malformed"],
        "duplicate": READING_REASONS["duplicate"],
        "other_namespace": "The page is no article: a talk page, a template, a category, a file.",
        "redirect": "The page redirects to another one.",
        "no_wikitext": "The page is not written in wikitext.",
        "disambiguation": "The page is a disambiguation page.",
        "off_topic": "The page has no word of the word list.",
        "unreadable_markup": "The markup of the page is too broken to be read.",
        "empty": "The page has no text without its markup.",
    }
    shape_reasons: ClassVar[frozenset[str]] = frozenset({"malformed"})
    shape_hint: ClassVar[str] = "take the dump `pages-articles` of a wiki"
    units_at_once: ClassVar[int] = 500

    def columns(self) -> Sequence[Column]:
        """What a page has."""
        return ("title", "shown title", "text")

    def fingerprint(self) -> Mapping[str, str]:
        """The word list, and the versions of what shapes text and comparison."""
        spec = self.spec
        versions = {"mwparserfromhell": version("mwparserfromhell")} if is_installed("mwparserfromhell") else {}
        if spec.words is not None:
            words = "\n".join(load_words(spec.words.file))
            versions["word list"] = hashlib.sha256(words.encode()).hexdigest()
            if spec.convert is not None:
                versions["opencc"] = script_version()
        tokenizer = spec.tokens()
        return versions if tokenizer is None else versions | dict(tokenizer.fingerprint())

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The parts of the dump; of a folder, not the index of a dump of several streams."""
        files = find_files(self.spec.path, self.key("path"), DUMP_SUFFIXES, self.spec.files)
        return [file for file in files if len(files) == 1 or ".xml" in file.path.name], []

    def check(self) -> None:
        """Look at the first pages of each file, and at the word list."""
        for file in self.select_files()[0]:
            self._check_head(list(islice(self._rows(file, 1), HEAD_ROWS)), file)

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The pages of one file."""
        small = source_file.path.stat().st_size < _SMALL_BYTES
        return self._rows(source_file, 1 if small else self.spec.workers or available_cores())

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The passage of one page."""
        document, title, text = values
        header = self.row_header(source_file, line)
        return Passage.build(base=self.name, document=document, title=title, text=text, **header)

    def _rows(self, source_file: SourceFile, workers: int) -> Iterator[RawRow]:
        require_extra("wikipedia", "the source kind 'wikipedia'", where=self.key("kind"))
        key, number, last, problem = self.key("path"), 0, "", ""
        pieces = read_decompressed(source_file.path, source_file.name, key, workers)

        def parts() -> Iterator[bytes]:
            nonlocal problem
            try:
                yield from (part for part in whole if isinstance(part, bytes))
            except DamagedFileError as error:
                problem = str(error)

        try:
            whole = split_dump(pieces)
            cleaning = PageCleaner(self.spec, next(part for part in whole if isinstance(part, DumpHead)))
            for rows, title, wrong in map_in_order(cleaning, parts(), workers, self.key("workers")):
                for row in rows:
                    number += 1
                    yield row._replace(line=number)
                last = title or last
                if wrong:
                    raise DamagedFileError(wrong)
            if problem:
                raise DamagedFileError(problem)
        except NotADumpError as error:
            raise wrong_shape(
                key, source_file.name, expected="a dump of a MediaWiki (XML)", found=str(error), next=self.shape_hint
            ) from error
        except DamagedFileError as error:
            seen = f"the last page that could be read is number {number}, {last!r}" if number else "no page can be read"
            raise DataError(
                f"{key}: {source_file.name} is damaged", where=f"{source_file.name}:{number}", why=f"{error}; {seen}",
                next="download the file again, and compare its checksum with the one that is published",
            ) from error  # fmt: skip
