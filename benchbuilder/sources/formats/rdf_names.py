"""Names and types of the nodes of RDF files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from benchbuilder.core import normalise_space
from benchbuilder.sources.formats.rdf_statements import RdfFile, RdfLiteral
from benchbuilder.sources.formats.tables import cell_text


def language_rank(tag: str, languages: Sequence[str]) -> int | None:
    """The rank of a language tag in `languages`, or ``None``; ``zh`` includes ``zh-hans``.

    >>> language_rank("zh-hans", ["en", "zh"]), language_rank("", ["zh", ""]), language_rank("fr", ["zh"])
    (1, 1, None)
    """
    for place, wanted in enumerate(languages):
        low = wanted.lower()
        if tag == low or (low and tag.startswith(f"{low}-")):
            return place
    return None


def local_name(iri: str) -> str:
    """The last part of an IRI as words, "" for a blank node.

    >>> local_name("http://example.org/drug#Folic_acid"), local_name("http://example.org/x/")
    ('Folic acid', 'x')
    """
    if iri.startswith("_:"):
        return ""
    return normalise_space(iri.rstrip("#/").rpartition("#")[2].rpartition("/")[2].replace("_", " "))


@dataclass
class NodeNames:
    """Names and types of nodes from several files; `counts` counts the statements of each file."""

    labels: Sequence[str]
    types: Sequence[str]
    languages: Sequence[str]
    counts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    _terms: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict[str, list[tuple[int, int, str]]])
    _types: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def collect(self, files: Sequence[RdfFile], relations: Mapping[str, object], named: Sequence[str]) -> None:
        """Collect the names of the nodes of all `relations` statements, of `named`, and of their types.

        The files are read once per purpose, so that nothing about other nodes is kept.
        """
        nodes = set(named)
        for file in files:
            for one in file.statements(set(relations)):
                if one.predicate:
                    nodes.add(one.subject)
                    if isinstance(one.object, str):
                        nodes.add(one.object)
        for file in files if self.types else ():
            for one in file.statements(set(self.types)):
                if one.predicate and one.subject in nodes and isinstance(one.object, str):
                    self._types.setdefault(one.subject, []).append(one.object)
        nodes.update(kind for kinds in self._types.values() for kind in kinds)
        for file in files:
            self.counts[file.file.name] = self._count_statements(file, relations, nodes)

    def _count_statements(self, file: RdfFile, relations: Mapping[str, object], nodes: Collection[str]) -> Counter[str]:
        """Take the names of `nodes` in a file, and count its statements except relations."""
        counts = Counter[str]()
        for one in file.statements({*relations, *self.labels, *self.types}):
            if one.predicate in relations or one.reason:
                continue
            if one.predicate in self.types:
                counts["types" if one.subject in nodes else "not_referenced"] += 1
            elif one.predicate in self.labels:
                counts[self._add_name(one.subject, one.predicate, one.object, one.subject in nodes)] += 1
            else:
                counts["other_predicate"] += 1
        return counts

    def _add_name(self, node: str, predicate: str, value: str | RdfLiteral, referenced: bool) -> str:
        if not isinstance(value, RdfLiteral) or not (text := normalise_space(cell_text(value.text) or "")):
            return "no_text"
        place = language_rank(value.language, self.languages)
        if place is None:
            return "other_language"
        if not referenced:
            return "not_referenced"
        self._terms.setdefault(node, []).append((self.labels.index(predicate), place, text))
        return "names"

    def terms(self, node: str) -> tuple[str, ...]:
        """All names of a node, in the order of labels, languages and files."""
        held = sorted(self._terms.get(node, ()), key=lambda term: term[:2])
        return tuple(dict.fromkeys(text for _, _, text in held))

    def type_of(self, node: str) -> str:
        """The name of the first named type of a node, or ""."""
        return next((names[0] for kind in self._types.get(node, ()) if (names := self.terms(kind))), "")
