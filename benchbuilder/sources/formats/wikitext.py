"""The visible text of wiki pages, without templates, tables, references, images and markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import regex

from benchbuilder.core import normalise_space

HIDDEN_TAGS = frozenset({
    "ref", "references", "gallery", "table", "math", "chem", "ce", "hiero", "score", "timeline", "graph", "imagemap",
    "mapframe", "maplink", "categorytree", "inputbox", "templatedata", "templatestyles", "syntaxhighlight", "source",
    "style", "script", "indicator", "includeonly", "section", "audio", "video", "img",
})  # fmt: skip
"""Elements that are removed with their content."""
_LINE_TAGS = frozenset({"br", "hr", "p", "div", "li", "dd", "dt", "ul", "ol", "dl", "blockquote", "poem", "center"})
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ALONE = "br|hr|wbr|img|meta|link|li|dd|dt|td|th|tr|tbody|thead|tfoot|colgroup|col|p"
_BRACKETS = re.compile(
    rf"(?P<open>\{{\{{|^(?:(?!\n)[\s:*#])*+\{{\||\[\[|<(?!(?:{_ALONE})\b)(?=[A-Za-z][^<>]*(?<!/)>))|"
    r"(?P<close>\}\}|^(?:(?!\n)\s)*+\|\}(?!\})|\]\]|</)",
    re.MULTILINE | re.IGNORECASE,
)
_TORN = re.compile(r"<(?=[A-Za-z][^<>]*+(?:<|\Z))")
"""An element that the next one, or the end of the page, interrupts."""
_MOST_OPEN = 400
_MOST_ADDRESSES = 4000
_QUOTES = re.compile(r"'{2,}")
_MAGIC = re.compile(r"__[^\W_]+__")
_LEFT = re.compile(r"\[\[|\]\]|\{\{|\}\}|</?[A-Za-z][^<>]*>")
_LEFT_LINE = re.compile(r"\s*(?:\{\||\|\}|\||\{\{|\}\}|!(?=.*!!))")
"""The start of a line of an unclosed template or table."""
_SET_ASIDE = {ord(mark): 0x10F000 + ord(mark) for mark in "<>[]{}|_'"}
_SET_BACK = {code: mark for mark, code in _SET_ASIDE.items()}
"""Characters that an author escaped, so that they are no markup."""
_HOLLOW = regex.compile(r"\p{Ps}[\s\p{Po}\p{Pd}]*\p{Pe}")


class UnreadableMarkupError(Exception):
    """The markup of a page is too broken to read."""


@dataclass(frozen=True)
class WikiMarkup:
    """The markup of a wiki, as a recipe describes it.

    Attributes:
        variants: The variants of its language, best first.
        files: The names of namespaces whose links show no text.
        sections: The titles of sections to omit.
        headings: Whether the titles of the other sections are kept.
        shown: The names of templates and the parameters that they show in the text.
        disambiguation: The names of templates of disambiguation pages.
    """

    variants: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    headings: bool = False
    shown: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    disambiguation: tuple[str, ...] = ()

    @cached_property
    def hidden_spaces(self) -> frozenset[str]:
        """The namespaces of `files`, normalised."""
        return frozenset(map(_name, self.files))

    @cached_property
    def omitted_sections(self) -> frozenset[str]:
        """The titles of `sections`, normalised."""
        return frozenset(normalise_space(title).casefold() for title in self.sections)

    @cached_property
    def parameters(self) -> dict[str, tuple[str, ...]]:
        """The parameters that a template shows, by its normalised name."""
        return {_name(name): parameters for names, parameters in self.shown for name in names}

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        names = "|".join(sorted(re.escape(_name(name)).replace(r"\ ", r"[\s_]+") for name in self.disambiguation))
        template = rf"|\{{\{{\s*+(?:[^{{}}|:\n]++:)?\s*+(?:{names})\s*(?:[|}}\n])" if names else ""
        return re.compile(rf"__DISAMBIG__{template}", re.IGNORECASE)

    def is_disambiguation(self, wikitext: str) -> bool:
        """Whether a page is a disambiguation page."""
        return self._marks.search(wikitext) is not None

    def clean(self, wikitext: str) -> tuple[str, str]:
        """The paragraphs of a page, one per line, and the title that it sets, or "".

        `UnreadableMarkupError` if hundreds of brackets or elements are never closed, or the parser fails.
        """
        text, title = resolve(_COMMENT.sub("", wikitext), self.variants)
        if has_too_many_unclosed(text):
            raise UnreadableMarkupError(f"more than {_MOST_OPEN} brackets or elements that are never closed")
        pieces = list(_Walk(self).page(_parsed(text).nodes))
        raw = _QUOTES.sub("", "".join(pieces))
        lines = (_line(line) for line in raw.splitlines())
        return "\n".join(line for line in lines if line), title


def has_too_many_unclosed(text: str) -> bool:
    """Whether so many elements are never closed that no parser finishes in reasonable time."""
    if text.count("[") - text.count("]") > _MOST_ADDRESSES:
        return True
    if max(text.count("{{"), text.count("{|"), text.count("[["), text.count("<")) <= _MOST_OPEN:
        return False
    if sum(1 for _ in _TORN.finditer(text)) > _MOST_OPEN:
        return True
    depths = dict.fromkeys("{|[<", 0)
    for mark in _BRACKETS.finditer(text):
        bracket = mark[0].strip(" \t\n\r\v\f:*#")
        sort = {"{{": "{", "}}": "{", "{|": "|", "|}": "|", "[[": "[", "]]": "["}.get(bracket, "<")
        depths[sort] = depths[sort] + 1 if mark["open"] else max(0, depths[sort] - 1)
    return max(depths.values()) > _MOST_OPEN


def _parsed(text: str) -> Any:
    import mwparserfromhell
    from mwparserfromhell.parser import ParserError

    try:
        return mwparserfromhell.parse(text, skip_style_tags=True)
    except (ParserError, RecursionError) as error:
        raise UnreadableMarkupError(str(error) or type(error).__name__) from error


def _name(written: str) -> str:
    """The normalised name of a template or namespace."""
    return normalise_space(written.replace("_", " ")).casefold()


def _line(line: str) -> str:
    if _LEFT_LINE.match(line):
        return ""
    line = _MAGIC.sub("", _LEFT.sub("", line))
    return normalise_space(_HOLLOW.sub("", line)).lstrip("*#:; ").translate(_SET_BACK)


class _Walk:
    """Walks through the nodes of a page and yields their visible text."""

    def __init__(self, markup: WikiMarkup) -> None:
        self._markup = markup

    def page(self, nodes: Sequence[Any]) -> Iterator[str]:
        """The text of a page, without omitted sections."""
        hidden = 0
        for node in nodes:
            if type(node).__name__ != "Heading":
                if not hidden:
                    yield from self.node(node)
                continue
            if hidden and node.level > hidden:
                continue
            title = normalise_space(_QUOTES.sub("", "".join(self.all(node.title))))
            hidden = node.level if title.casefold() in self._markup.omitted_sections else 0
            yield f"\n{title}\n" if self._markup.headings and not hidden else "\n"

    def all(self, code: Any) -> Iterator[str]:
        """The text of all nodes of some markup."""
        for node in code.nodes if code is not None else ():
            yield from self.node(node)

    def node(self, node: Any) -> Iterator[str]:
        """The text of one node."""
        sort = type(node).__name__
        if sort == "Text":
            yield str(node.value)
        elif sort == "HTMLEntity":
            yield _character(node)
        elif sort == "Wikilink":
            yield from self._link(node)
        elif sort == "ExternalLink":
            yield from self._address(node)
        elif sort == "Tag":
            yield from self._tag(node)
        elif sort == "Template":
            yield from self._template(node)
        elif sort == "Argument":
            yield from self.all(node.default)
        elif sort == "Heading":
            yield "\n"

    def _link(self, node: Any) -> Iterator[str]:
        target = str(node.title)
        space = _name(target.lstrip().removeprefix(":").partition(":")[0]) if ":" in target else ""
        if space in self._markup.hidden_spaces and not target.lstrip().startswith(":"):
            return
        if node.text is not None:
            yield from self.all(node.text)
        else:
            yield "".join(self.all(node.title)).strip().removeprefix(":")

    def _address(self, node: Any) -> Iterator[str]:
        if node.title is not None:
            yield from self.all(node.title)

    def _tag(self, node: Any) -> Iterator[str]:
        name = _name(str(node.tag))
        if name in HIDDEN_TAGS:
            return
        if node.wiki_markup and node.self_closing:  # the mark of a list item, or a line
            return
        around = "\n" if name in _LINE_TAGS else ""
        yield around
        yield from self.all(node.contents)
        yield around

    def _template(self, node: Any) -> Iterator[str]:
        name = _name(str(node.name).rpartition(":")[2])
        for parameter in self._markup.parameters.get(name, ()):
            if node.has(parameter, ignore_empty=True):
                yield "".join(self.all(node.get(parameter).value)).strip()
                return


def _character(node: Any) -> str:
    try:
        return str(node.normalize()).translate(_SET_ASIDE)
    except (ValueError, OverflowError):
        return ""


_OPEN, _CLOSE = "-{", "}-"
_MARKS = re.compile(r"-\{(?!\{)|\}-")
_FLAGS = re.compile(r"[A-Za-z;\s-]*")
_SILENT = frozenset("TH-D")
_VERBATIM = frozenset("RN")
_DEEPEST = 20


@cache
def _rules(variants: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The separator of the rules in ``-{...}-``, and the pattern of a rule for a variant of these languages."""
    languages = "|".join(sorted({re.escape(variant.partition("-")[0]) for variant in variants}))
    code = rf"(?:{languages})(?:-[A-Za-z]+)*"
    part = re.compile(rf";(?=\s*{code}\s*:|[^;]*?=>\s*{code}\s*:|\s*$)", re.IGNORECASE)
    return part, re.compile(rf"\s*+(?:(.*?)=>)?\s*+({code})\s*:(.*)", re.IGNORECASE | re.DOTALL)


def resolve(text: str, variants: Sequence[str]) -> tuple[str, str]:
    """`text` with each ``-{...}-`` resolved to the first of `variants` that it has, and the title that it sets, or "".

    Rules for the complete page are shown at their place, and not applied elsewhere. Unclosed markup loses its marks.

    >>> resolve("a -{zh-hans:b;zh-hant:c}- -{T|zh-hant:d;zh-hans:e}--{H|zh-cn:x}-.", ["zh-hans", "zh-cn"])
    ('a b .', 'e')
    """
    if _OPEN not in text or not variants:
        return text, ""
    stack: list[list[str]] = [[]]
    title, end, too_deep = "", 0, 0
    for mark in _MARKS.finditer(text):
        stack[-1].append(text[end : mark.start()])
        end = mark.end()
        if mark[0] == _OPEN and len(stack) > _DEEPEST:
            too_deep += 1
        elif mark[0] == _OPEN:
            stack.append([])
        elif too_deep:
            too_deep -= 1
        elif len(stack) > 1:
            shown, named = _choose_variant("".join(stack.pop()), tuple(variants))
            stack[-1].append(shown)
            title = named or title
        else:
            stack[-1].append(_CLOSE)
    stack[-1].append(text[end:])
    return "".join(piece for pieces in stack for piece in pieces), title


def _choose_variant(inside: str, variants: tuple[str, ...]) -> tuple[str, str]:
    """The visible text of the inside of ``-{...}-``, and the title that it sets."""
    before, bar, after = inside.partition("|")
    flags: set[str] = set()
    if bar and _FLAGS.fullmatch(before):
        flags = {flag.strip().upper() for flag in before.split(";")}
        inside = after
    shown = inside if flags & _VERBATIM else _variant_text(inside, variants)
    if "T" in flags:
        return "", shown.strip()
    return ("", "") if flags & _SILENT else (shown, "")


def _variant_text(inside: str, variants: tuple[str, ...]) -> str:
    part, rule = _rules(variants)
    texts: dict[str, str] = {}
    for piece in part.split(inside):
        if (match := rule.fullmatch(piece)) is not None:
            texts.setdefault(match[2].lower(), match[3].strip())
    if not texts:
        return inside
    return next((texts[name] for name in map(str.lower, variants) if name in texts), next(iter(texts.values())))
