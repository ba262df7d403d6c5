"""Reading the hierarchy of ICD-10 from the files that there are of it: ClaML, nested items in XML, a table."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from benchbuilder.core import DataError
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from benchbuilder_cmhe.dd.hierarchy import Hierarchy, HierarchyNode

_KINDS = {"chapter": "chapter", "block": "block", "category": "category", "subcategory": "subcategory"}
_COLUMNS = ("level", "code", "title", "parent")


@lru_cache(maxsize=8)
def _read(path: Path, stamp: tuple[int, int]) -> Hierarchy:  # noqa: ARG001
    nodes = _xml(path) if path.suffix.lower() == ".xml" else _table(path)
    try:
        hierarchy = Hierarchy.from_nodes(nodes)
    except (ParseError, DefusedXmlException) as error:
        raise _malformed_error(path, f"it is no XML that can be read safely: {error}") from error
    except ValueError as error:
        raise _malformed_error(path, str(error)) from error
    if not hierarchy.chapters() or not any(node.level == "category" for node in hierarchy.nodes.values()):
        raise _malformed_error(path, "it holds no chapters, or no categories")
    return hierarchy


def read_hierarchy(path: Path) -> Hierarchy:
    """The hierarchy in `path`: XML (ClaML, or nested ``item`` elements) read as a stream, or a table.

    A table is tab-separated with the columns level, code, title and parent. DataError if it has another shape.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise DataError("the hierarchy is missing", where=str(path), next="check paths.icd10 of the recipe") from error
    return _read(path, (stat.st_mtime_ns, stat.st_size))


def _malformed_error(path: Path, why: str) -> DataError:
    return DataError(
        "the hierarchy of codes has the wrong shape", where=str(path), why=why,
        next="set paths.icd10 to ClaML, to the XML with nested items, or to a table with level, code, title, parent",
    )  # fmt: skip


def _table(path: Path) -> Iterator[HierarchyNode]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader((line for line in file if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE)
        header = next(rows, [])
        if missing := [name for name in _COLUMNS if name not in header]:
            raise _malformed_error(path, f"the table has no column {missing[0]!r}")
        places = [header.index(name) for name in _COLUMNS]
        for number, row in enumerate(rows, start=2):
            if not row:
                continue
            if len(row) != len(header) or row[places[0]] not in _KINDS:
                raise _malformed_error(
                    path, f"row {number} has {len(row)} columns, or a level that is none of {', '.join(_KINDS)}"
                )
            level, code, title, parent = (row[place].strip() for place in places)
            yield HierarchyNode(code, level, title, parent)


def _xml(path: Path) -> Iterator[HierarchyNode]:
    """The nodes of either XML; elements are forgotten as soon as they are read."""
    events: Iterator[tuple[str, Any]] = iter(iterparse(path, events=("start", "end"), forbid_dtd=False))
    first = next(events, None)
    if first is None:
        return
    yield from (_claml(events) if _local(first[1].tag) == "ClaML" else _nested(events))


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _nested(events: Iterator[tuple[str, Any]]) -> Iterator[HierarchyNode]:
    """``item`` elements inside each other, each with a type, a name (the code) and a description."""
    held: list[dict[str, str]] = []
    told: list[bool] = []

    def tell() -> Iterator[HierarchyNode]:
        """The innermost item, once: as soon as an item inside it begins, or it ends."""
        if held and not told[-1] and held[-1].get("name"):
            told[-1] = True
            top = held[-1]
            level = _KINDS.get(top["type"])
            if level is not None:
                parent = held[-2]["name"] if len(held) > 1 else ""
                yield HierarchyNode(top["name"], level, top.get("description", ""), parent)

    for event, element in events:
        tag = _local(element.tag)
        if tag == "item" and event == "start":
            yield from tell()
            held.append({"type": element.get("type", "")})
            told.append(False)
        elif tag == "item":
            yield from tell()
            held.pop()
            told.pop()
            element.clear()
        elif event == "end" and tag in ("name", "description") and held:
            held[-1].setdefault(tag, (element.text or "").strip())


def _claml(events: Iterator[tuple[str, Any]]) -> Iterator[HierarchyNode]:
    """``Class`` elements with code and kind, which name what they stand in as ``SuperClass``."""
    for event, element in events:
        if event == "end" and _local(element.tag) == "Class":
            node = _class(element)
            element.clear()
            if node is not None:
                yield node


def _class(element: Element) -> HierarchyNode | None:
    code, kind = element.get("code", "").strip(), element.get("kind", "")
    if kind not in _KINDS or not code:
        return None
    above = next((child.get("code", "") for child in element if _local(child.tag) == "SuperClass"), "")
    level = "subcategory" if kind == "category" and "." in code else _KINDS[kind]
    return HierarchyNode(code, level, _label(element), above)


def _label(element: Element) -> str:
    """The preferred label of a class."""
    for rubric in element:
        if _local(rubric.tag) == "Rubric" and rubric.get("kind") == "preferred":
            for label in rubric:
                if _local(label.tag) == "Label":
                    return " ".join("".join(label.itertext()).split())
    return ""
