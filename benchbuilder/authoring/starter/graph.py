"""What ``new`` makes of files of triples: what each relation is, sentences for it, and the language of its names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchbuilder.authoring.starter.cells import Layout
from benchbuilder.authoring.starter.sample import UnclearLayoutError
from benchbuilder.config import OPEN_PLACE, RecipeIndex
from benchbuilder.core import ScriptCounts, Triple, has_match, imports_of, read_given_file, read_given_text
from benchbuilder.pipeline import first_language, relation_words
from benchbuilder.sources import RDF_SUFFIXES, local_name
from benchbuilder.steps import (
    RELATION_COLUMNS,
    SET_QUESTION,
    RelationKind,
    RelationNature,
    RelationSentence,
    proposed_lists,
    relation_natures,
)

_KANA = ("HIRAGANA", "KATAKANA")
_LATIN = "en"
_READ = 20_000
_NAMED = 8
"""So many relations are named in a note."""


@dataclass(frozen=True, slots=True)
class GraphParts:
    """What a recipe for triples needs beside its sources.

    `table` is its relation table, `lists` are the relations that each setting lists, `rules` is the option of the group
    `rules`, and `sets` that of `evaluation` that scores answers to set questions, empty without one. `notes` say what
    else was seen.
    """

    table: str
    rules: str
    sets: str
    lists: Mapping[RelationKind, Sequence[str]]
    notes: Sequence[str] = ()


def graph_parts(name: str, language: str, triples: Iterable[Triple], library: RecipeIndex) -> GraphParts:
    """The parts for triples, which may be none yet."""
    words = relation_words(library, language)
    natures = relation_natures(triples, words)
    head = [
        f"# Sentences for the relations of {name} over {{head}}, {{tail}} and {{relation}}, made by rule: read each.",
        "# Above each is what its relation was taken for; the recipe lists it under steps.swap_triple.relations.",
        "# An open-ended question (oe) needs a relation with one right end, one for all ends (oe_set) several.",
        "# No speaker has checked these lines.",
        "\t".join((*RELATION_COLUMNS, SET_QUESTION)),
    ]
    sentences = {nature.relation: words.sentence_for(nature) for nature in natures}
    rows = [line for nature in natures for line in _lines(nature, sentences[nature.relation])]
    unclear = [relation for relation, sentence in sentences.items() if sentence is not None and sentence.unclear]
    table = f"recipes/recipe/{name}/relations.tsv"
    notes = [f"read the sentences of each relation, made by rule, before people judge them: {table}"]
    if unclear:
        notes = [
            f"no rule makes good sentences of these names, so that theirs only quote them: {', '.join(unclear)}; write "
            f"better ones, before people judge them: {table}"
        ]
    notes += [*_set_aside(name, natures), *_exchanged(name, natures)]
    if not natures or not words.sentences:
        rows += _row("*", words.sentence_for(RelationNature("*", "checkable", "", 0, 0, 1.0, 0, ())))
    short = language.partition("-")[0]
    own = [path for path, _ in library.paths_of(f"rules/{short}_claims")]
    has_own = any("\nswap_triple:" in read_given_text(path) for path in own)
    rules = f"{short}_claims" if has_own else "triples"
    sets = f"{short}_sets" if library.paths_of(f"evaluation/{short}_sets") else ""
    return GraphParts("\n".join([*head, *rows]) + "\n", rules, sets, proposed_lists(natures), notes)


def _set_aside(name: str, natures: Sequence[RelationNature]) -> Iterator[str]:
    """Which relations are not exchanged, and where that is said."""
    aside = [nature for nature in natures if nature.kind not in ("checkable", "functional")]
    if aside:
        count, every = sum(nature.triples for nature in aside), sum(nature.triples for nature in natures)
        names = ", ".join(f"{nature.relation} ({nature.kind})" for nature in aside[:_NAMED])
        more = f" and {len(aside) - _NAMED} more" if len(aside) > _NAMED else ""
        yield (
            f"no false statements about {count:,} of {every:,} triples, since what their relations do not list may be "
            f"true as well: {names}{more}; write those of which a concept has one right end under functional instead: "
            f"recipes/recipe/{name}.yaml"
        )


def _exchanged(name: str, natures: Sequence[RelationNature]) -> Iterator[str]:
    """Which relations are exchanged although a concept may have other right ends than the file names."""
    # those with one end each in this file come last: they are the safer ones, but no file proves that there are no more
    told = [nature.relation for kind in ("checkable", "functional") for nature in natures if nature.kind == kind]
    if told:
        more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
        yield (
            f"false statements exchange the ends of: {', '.join(told[:_NAMED])}{more}; where an end that the file does "
            f"not name may be right, write the relation under open: recipes/recipe/{name}.yaml"
        )


def _lines(nature: RelationNature, sentence: RelationSentence | None) -> list[str]:
    about = " ".join(f"# {nature.kind}: {nature}".split())
    if "\t" in nature.relation or nature.relation.startswith("#"):
        return [f"{about} (no row can have this name)"]
    return [about, *(_row(nature.relation, sentence) if sentence is not None else ())]


def _row(relation: str, sentence: RelationSentence | None) -> list[str]:
    cells = [getattr(sentence, column, OPEN_PLACE if column != "oe" else "") for column in RELATION_COLUMNS[1:-1]]
    return ["\t".join((relation, *cells, "tail", getattr(sentence, SET_QUESTION, ""))).rstrip("\t")]


def other_spellings(relations: Iterable[str]) -> dict[str, list[str]]:
    """The names that differ from a more frequent one in case, blanks and underscores alone, by that one.

    >>> other_spellings(["part of", "part of", "PART_OF", "made of"])
    {'part of': ['PART_OF']}
    """
    groups: dict[str, list[str]] = {}
    for name, _ in Counter(relations).most_common():
        groups.setdefault(re.sub(r"[\s_]+", "", name).casefold(), []).append(name)
    return {first: others for first, *others in groups.values() if others}


def language_of(triples: Sequence[Triple], library: RecipeIndex, otherwise: str = _LATIN) -> str:
    """The language that the relations and tails seem to be in; `otherwise` if no name of a relation is known."""
    counts = ScriptCounts(text for triple in triples[:_READ] for text in (triple.relation, triple.tail))
    kana = next((script for script in _KANA if counts.letters[script]), "")
    script = kana or counts.main_script
    if script != "LATIN":  # Latin letters are told by the names of relations
        return first_language(script) or _LATIN
    names = {triple.relation for triple in triples[:_READ]}

    def known(option: str) -> int:
        words = relation_words(library, option)
        patterns = (*words.open, *words.preferences, *words.several)
        return sum(any(has_match(pattern, name) for pattern in patterns) for name in names)

    counts = {option: known(option) for option in (_LATIN, *library.option_names("relations"))}
    best = [option for option, count in counts.items() if count == max(counts.values())]
    return otherwise if otherwise in best or not counts[best[0]] else best[0]


def rdf_layout(path: Path) -> tuple[Layout, Sequence[str]]:
    """How a source reads an RDF file: each predicate that joins two nodes is a relation; and the names of nodes.

    Raises:
        InstallationError: The extra ``rdf`` is not installed.
        UnclearLayoutError: It is no RDF, or joins no nodes.
    """
    with imports_of("rdf", "RDF"):
        from pyoxigraph import Literal, NamedNode, RdfFormat, parse
    forms = {"n_triples": RdfFormat.N_TRIPLES, "turtle": RdfFormat.TURTLE, "rdf_xml": RdfFormat.RDF_XML}
    form = forms[RDF_SUFFIXES[path.suffix.lower()]]
    relations, names, tags = Counter[str](), dict[str, list[str]](), Counter[str]()
    try:
        for statement in islice(
            parse(read_given_file(path), form, base_iri="file:///", lenient=True), _MOST_STATEMENTS
        ):
            predicate, node = statement.predicate.value, statement.object
            if isinstance(node, Literal) and _NAME.search(predicate):
                names.setdefault(predicate, []).append(node.value)
                tags[node.language or ""] += 1
            elif isinstance(node, NamedNode) and not _ABOUT_SCHEMA.search(predicate):
                relations[predicate] += 1
    except (SyntaxError, ValueError) as error:
        raise UnclearLayoutError(f"no RDF: {str(error)[:120]}", sure=True) from None
    if not relations:
        raise UnclearLayoutError("no predicate joins two nodes", sure=True, hint="give statements about nodes")
    named = {re.sub(r"\W+", "_", local_name(predicate)) or "relation": predicate for predicate in relations}
    settings = {
        "as": "triple",
        "labels": list(names) or ["rdfs:label"],
        "names_from_iri": True,
        "languages": [tag for tag, _ in tags.most_common()] or [""],
        "relations": {name: {"predicate": iri, "name": local_name(iri)} for name, iri in named.items()},
    }
    return Layout({}, settings), [text for texts in names.values() for text in texts]


_NAME = re.compile(r"(?i)(#|/)(label|preflabel|name|title)$")
_ABOUT_SCHEMA = re.compile(r"(?i)rdf-(syntax|schema)|/owl#|inScheme|topConcept|sameAs|exactMatch")
_MOST_STATEMENTS = 200_000
