"""The text of a document in XHTML, a paragraph a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_LINES = frozenset({
    "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dt", "dd", "blockquote", "section", "article", "aside", "tr",
    "table", "caption", "figure", "figcaption", "ul", "ol", "dl", "pre", "br", "hr", "body", "header", "footer",
    "address",
})  # fmt: skip
_HIDDEN = frozenset({"script", "style", "svg", "math", "img", "head", "nav", "rt", "rp", "object", "audio", "video"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TYPE = "{http://www.idpf.org/2007/ops}type"


def chapter_text(root: Any) -> str:
    """What a reader sees below `root`, without headings of the document's head, images, formulas and marks of notes.

    Cells of a table stand on the line of their row.
    """
    lines = (" ".join(line.split()) for line in "".join(_pieces(root)).split("\n"))
    return "\n".join(line for line in lines if line)


def first_heading(root: Any) -> str:
    """The first heading below `root`, "" without one."""
    for element in root.iter():
        if _tag(element) in _HEADINGS and (text := " ".join("".join(element.itertext()).split())):
            return text
    return ""


def _tag(element: Any) -> str:
    """The name of an element without its namespace; "" for what is none."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _pieces(root: Any) -> Iterator[str]:
    """Texts and ends of lines in order, without recursion: documents may be nested deeply."""
    todo: list[Any] = [root]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
            continue
        tag = _tag(one)
        if not tag or tag in _HIDDEN or "noteref" in (one.get(_TYPE) or ""):
            continue
        around = "\n" if tag in _LINES else " " if tag in ("td", "th") else ""
        todo.append(around)
        for child in reversed(one):
            todo += [_flat(child.tail), child]
        todo += [_flat(one.text), around]


def _flat(text: str | None) -> str:
    return (text or "").replace("\n", " ").replace("\r", " ")
