"""Descriptors of MeSH as the National Library of Medicine publishes them: one XML file of descriptor records."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple
from xml.etree.ElementTree import ParseError

from benchbuilder.sources import wrong_shape
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

_RECORD = "DescriptorRecord"


class Descriptor(NamedTuple):
    """A record: its number in the file, from 1, its id, its names (the descriptor's first) and its tree numbers."""

    number: int
    code: str
    names: tuple[str, ...]
    tree_numbers: tuple[str, ...]


def read_descriptors(path: Path, name: str, key: str) -> Iterator[Descriptor]:
    """The records of the file (``.xml``, ``.xml.gz``), one in memory at a time; fields that are missing are empty.

    DataError, by the recipe's name for the file (`key`), if it is no such XML, or has entities of its own.
    """
    number = 0
    try:
        with _open_xml(path) as handle:
            for event, element in iterparse(handle, events=("start", "end"), forbid_entities=True):
                if event == "start" and number == 0 and element.tag not in ("DescriptorRecordSet", _RECORD):
                    raise _malformed_error(name, key, f"the element {element.tag!r}")
                number = number or 1
                if event == "end" and element.tag == _RECORD:
                    yield _record(number, element)
                    number += 1
                    element.clear()
    except (ParseError, DefusedXmlException, OSError, EOFError) as error:
        raise _malformed_error(name, key, f"{type(error).__name__}: {error}") from error


def _open_xml(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _record(number: int, element: Any) -> Descriptor:
    terms = element.findall("ConceptList/Concept/TermList/Term/String")
    names = [_text(element.find("DescriptorName/String")), *map(_text, terms)]
    numbers = map(_text, element.findall("TreeNumberList/TreeNumber"))
    code = _text(element.find("DescriptorUI"))
    return Descriptor(number, code, tuple(filter(None, dict.fromkeys(names))), tuple(filter(None, numbers)))


def _text(element: Any) -> str:
    return "" if element is None else " ".join((element.text or "").split())


def _malformed_error(name: str, key: str, value: str) -> Exception:
    return wrong_shape(
        key, name, expected="XML of MeSH descriptors (DescriptorRecordSet)", found=value,
        next="download the descriptors again (desc*.xml or desc*.gz of the National Library of Medicine)",
    )  # fmt: skip
