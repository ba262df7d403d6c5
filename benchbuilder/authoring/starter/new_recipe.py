"""``new NAME --language xx`` or ``--data FILE``: the files of a recipe in a language that no recipe need be in."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from benchbuilder.authoring.clone.clone import TEXT_SOURCES, Clone, CloneRequest, WrittenSource, check_request
from benchbuilder.authoring.clone.source_form import source_template
from benchbuilder.authoring.starter.cells import Layout
from benchbuilder.authoring.starter.data_file import DataFile, check_file
from benchbuilder.authoring.starter.graph import GraphParts, graph_parts, language_of, other_spellings
from benchbuilder.authoring.starter.language_table import LanguageFacts, facts_of_language
from benchbuilder.authoring.starter.layout import propose_layout
from benchbuilder.authoring.starter.read_back import first_rows
from benchbuilder.authoring.starter.sample import Reading, UnclearLayoutError
from benchbuilder.config import OPEN_PLACE, RecipeIndex, find_roots
from benchbuilder.core import (
    BenchbuilderError,
    Fact,
    Problem,
    RecipeError,
    Row,
    Triple,
    read_given_file,
    read_given_text,
)
from benchbuilder.pipeline import guess_language, option_in_language
from benchbuilder.steps import ACCEPTED_COLUMNS, PAIR_COLUMNS, render_rows

_DEFAULT_SOURCE = "questions:multiple_choice"
_LISTS = {
    "context_dependent": "the passage, this study, a pronoun as the subject: such a text is about something not shown",
    "ranks": "most, best, first: such a question is asked with all of its options",
    "options_named": "which of the following: such a question is not asked without its options; empty: no question is",
    "cloze_ends": "is, by, the: a sentence that breaks off elsewhere, with a long answer, is not asked as a gap",
    "exceptions": "all except, which is false: such a question is not asked, for yes and no confuse",
    "needs_case": "the next step, this patient: such a question is dropped unless a case stands before it",
    "asks": "what, who, when: a text with such a word is a question, even without a question mark",
    "needs_picture": "picture, figure, table: such a question is dropped, for nobody sees the picture",
    "not_alone": "experts say, last week, use the: such a claim leaves open who, where or when is meant",
    "catch_all": "all of these, none of these: such an option is never proposed as an answer",
}
"""Lists of words in the group `forms`, with what they are for."""


@dataclass(frozen=True, slots=True)
class _Flow:
    """A flow that needs no rules: its sentences and word lists in the group `forms`, and what its items are."""

    name: str
    sentences: tuple[str, ...]
    lists: tuple[str, ...]
    summary: str
    limitations: tuple[str, ...]


_CHOICES = _Flow(
    "forms", ("verify", "verify_among", "true_or_false", "cloze", "says", "says_yes", "says_no", "option"),
    ("ranks", "options_named", "cloze_ends", "exceptions", "asks", "needs_picture", "needs_case", "catch_all",
     "context_dependent"),
    "made of multiple-choice questions by forms that change no word",
    ("Questions keep the form of an examination. People ask otherwise.",
     "Wrong answers are the other options of the same question."),
)  # fmt: skip
_FLOWS = {
    "claims": _Flow(
        "labelled", ("true_or_false", "says_yes", "says_no"), ("context_dependent", "not_alone"),
        "made of labelled claims or yes/no questions, which stay as they are",
        ("Right and wrong answers are verdicts alone. Scorers that compare texts do not apply to them.",
         "The claims keep the words of their source. What its authors wrote into false claims may give them away."),
    ),
    "question_answer": _Flow(
        "reading", ("verify", "cloze", "says", "says_yes", "says_no"),
        ("ranks", "exceptions", "asks", "cloze_ends", "needs_picture", "needs_case", "catch_all", "context_dependent"),
        "made of questions with answers by forms that change no word",
        ("Wrong answers are those that the source lists, or answers to other questions.",),
    ),
    "procedures": _Flow(
        "procedures", ("says", "says_yes", "says_no", "comes_before", "comes_next"), (),
        "about the order of steps, by sentences that change no step",
        ("Another order may be possible. Experts are asked whether the right answer is right.",
         "A step may show its place by its words, such as “finally”."),
    ),
    "triples": _Flow(
        "triples", ("says_yes", "says_no"), (),
        "made of the triples of a knowledge graph, by a sentence for each relation",
        ("False statements exchange the answers of two triples. What the graph does not list may be true nevertheless.",
         "The sentences of relations were made by rule."),
    ),
}  # fmt: skip
_FLOWS["rdf"] = _FLOWS["triples"]
"""The flow of each kind of source; that of `_CHOICES` for every other kind."""
_MOST_TRIPLES = 100_000
"""So many triples of a file tell what its relations are."""
_PATH = re.compile(rf"path: {re.escape(OPEN_PLACE)}.*")
_READING = ("format", "encoding", "delimiter", "quoting", "header", "width", "sheet", "records")
"""Settings of a source that say how to read its file, whatever its columns hold."""
_NEUTRAL = {"says": "{answer}", "option": "- {answer}"}
"""Sentences that are the same in any language."""
_SENTENCES = "en"
"""The option of the group `forms` whose sentences stand above the open ones."""


def start_recipe(request: CloneRequest, recipes: Sequence[str] | None = None) -> Clone:
    """The files of a new recipe in `request.language`, or that of its triples; nothing is written.

    The kinds of its sources decide which flow it has, and so which sentences are open. Sentences that are bundled for
    the language are filled in, and marked to be checked.

    Raises:
        RecipeError: The request is wrong, or a recipe of this name exists.
        InstallationError: There is no such kind of source.
    """
    library = RecipeIndex(find_roots(recipes or ()))
    check_request(request, library)
    if request.extra_options:
        hint = f"copy a recipe with --from, or choose it later: {request.extra_options[0].replace('/', '=')}"
        raise RecipeError(
            [Problem("a new recipe has no parts to copy", where=f"--also {request.extra_options[0]}", hint=hint)]
        )
    name, arguments = request.name, request.sources or (_DEFAULT_SOURCE,)
    flow, kinds = _flow(arguments), set(map(_kind_of, arguments))
    sources = [_source(argument, request) for argument in arguments]
    language, graph = _graph(request, sources, library) if flow.name == "triples" else (request.language or "", None)
    facts, bundled = facts_of_language(language), _bundled(library, language.partition("-")[0])
    if request.written:
        bundled = {**_NEUTRAL, **bundled}
    english = _bundled(library, _SENTENCES)
    has_graph = graph is not None and any(source.given for source in sources)
    card = request.card or (plain_card(name) if has_graph else {})
    rules = f"{language.partition('-')[0]}_reading" if flow.name == "reading" else ""
    values = {
        "name": name, "language": language, "facts": facts, "graph": graph, "flow": flow, "card": card,
        "rules": graph.rules if graph is not None else rules if library.paths_of(f"rules/{rules}") else "",
        "several": ["single"] * ("several_choice" in kinds) + ["sources.choice"] * ("multiple_choice" in kinds),
        "sources": "\n\n".join(s.text for s in sources), "sentences": {key: english[key] for key in flow.sentences},
        "lists": {key: _LISTS[key] for key in flow.lists},
        "written": {key: value for key, value in bundled.items() if isinstance(value, str)},
        "found": {key: value for key, value in bundled.items() if isinstance(value, list)},
        "quoted": _quoted, "list": _listed,
        **{
            way: option_in_language(library.roots, way, language, false_claims=flow.name == "labelled")
            for way in ("app", "sheets")
        },
        "has_texts": any(source.partition(":")[2] in TEXT_SOURCES for source in request.sources),
        "own_evidence": _own_evidence(request),
    }  # fmt: skip
    if flow.name == "reading" and not values["rules"]:
        _check_wrong_answers(request, facts)
    files = {
        f"recipe/{name}.yaml": _rendered("recipe", values),
        f"forms/{name}.yaml": _rendered("forms", values),
        f"writing/{name}.yaml": _rendered("writing", values),
        f"verdicts/{name}.yaml": _verdict_words(library, language) or _rendered("verdicts", values),
    }
    if flow is _CHOICES:
        files |= {
            f"pairs/{name}.tsv": render_rows(PAIR_COLUMNS, ()),
            f"pairs/{name}_accepted.tsv": render_rows(ACCEPTED_COLUMNS, ()),
        }
    if graph is not None:
        files[f"recipe/{name}/relations.tsv"] = graph.table
    data = {f"recipe/{source.place}": source.content for source in sources if source.place}
    warnings = [
        *(_unknown_language(facts) if request.language else _guessed_language(facts)),
        *(source.warning for source in sources if source.warning is not None),
    ]
    written = {**{place: text.encode() for place, text in files.items()}, **data}
    placed = {PurePosixPath("recipes", place): content for place, content in written.items()}
    return Clone(name, placed, None, (*warnings,), () if graph is None else (*graph.notes,))


def _flow(arguments: Sequence[str]) -> _Flow:
    """The flow of sources ``NAME:KIND``; texts fit every flow."""
    kinds = {kind: argument for argument in arguments if (kind := _kind_of(argument)) not in TEXT_SOURCES}
    flows = {_FLOWS.get(kind, _CHOICES).name: argument for kind, argument in kinds.items()}
    if len(flows) > 1:
        where = " and ".join(flows.values())
        hint = "make a recipe for each of them"
        raise RecipeError([Problem("these kinds of sources need different flows", where=where, hint=hint)])
    return next((_FLOWS[kind] for kind in kinds if kind in _FLOWS), _CHOICES)


def _kind_of(argument: str) -> str:
    return argument.partition("=")[0].partition(":")[2]


def _source(argument: str, request: CloneRequest) -> WrittenSource:
    """The source ``NAME:KIND``, or ``NAME:KIND=FILE``: then the file is copied, and its columns are guessed."""
    if argument in request.written:
        return request.written[argument]
    plain, _, given = argument.partition("=")
    name, text = source_template(plain, request.name)
    if not given:
        return WrittenSource(text)
    path, kind, where = Path(given), _kind_of(argument), f"--source {argument}"
    check_file(path, where)
    file = DataFile(path, name, kind, path.suffix.lower(), read_given_file(path), Layout({}))
    try:
        layout = propose_layout(path, kind, Reading(language=request.language or ""))
    except UnclearLayoutError as question:
        hint = "write them into the recipe; a column without a name is a number from 0"
        what = "the columns of this file could not be told"
        return _written(plain, file, request, Layout({}), Problem(what, where=where, actual=str(question), hint=hint))
    # what a build needs; the author may know more
    return _written(plain, file, request, _stated(layout, path) if kind == "triples" else layout)


def _check_wrong_answers(request: CloneRequest, facts: LanguageFacts) -> None:
    """RecipeError if nothing tells wrong answers: neither a file, nor rules of the language."""
    for argument, source in request.written.items():
        name, _, kind = argument.partition(":")
        if kind == "question_answer" and not yaml.safe_load(source.text)[name]["columns"].get("wrong"):
            hint = "name a column of wrong answers: --columns wrong=COL"
            raise RecipeError([Problem(f"no wrong answers are listed, and no rules find any in {facts.name}",
                                       where=f"--data {source.given}", hint=hint)])  # fmt: skip


def plain_card(name: str) -> Mapping[str, str]:
    """What a card says of a benchmark before its author describes it, as YAML: enough to build, not to release."""
    return {
        "title": f"Questions of {name} # check",
        "licence": "not stated # check: that of the benchmark",
        "correct_as_of": '"" # check: the day until which somebody checked the answers, for instance "2025-06-30"',
        "personal_data": "Nobody has looked for any. # check",
        "summary": f"Questions made of the sources of {name}. # check",
        "intended_use": "[To measure how well language models tell right from wrong answers.] # check",
        "not_for": "[Advice to people.] # check",
        "limitations": "[Sentences were made by rule.] # check",
    }


def data_request(
    request: CloneRequest, files: Sequence[DataFile], recipes: Sequence[str] | None = None
) -> CloneRequest:
    """The request with the sources of `files`, and the language that they seem to be in if it names none.

    Texts alone are put into a copy of the recipe `guideline_xx` of their language, whose rules find claims in them.

    Raises:
        RecipeError: The language cannot be told, or nothing can be asked about the files without a recipe to copy.
    """
    language = request.language
    if language is None and not request.origin and not any(file.kind in ("triples", "rdf") for file in files):
        language, seen = guess_language([text for file in files for text in file.texts])
        if not language:
            raise _unclear_language(files[0].given, seen)
    if not request.origin and all(file.kind in TEXT_SOURCES for file in files) and not request.sources:
        request = replace(request, origin=_origin_of_texts(language or "", files[0].given, recipes))
    written: dict[str, WrittenSource] = {}
    for file in files:
        columns, settings = dict(file.layout.columns), dict(file.layout.settings)
        if file.evidence is not None:
            texts = {key: value for key, value in settings.items() if key in _READING}
            layout = _stated(Layout({"text": file.evidence}, texts), file.given)
            written[f"{file.name}_texts:corpus"] = _written(f"{file.name}_texts:corpus", file, request, layout)
            if file.kind in ("claims", "question_answer"):
                columns, settings = {**columns, "gold": file.evidence}, {**settings, "gold_in": f"{file.name}_texts"}
        layout = _stated(Layout(columns, settings), file.given)
        written[file.argument] = _written(file.argument, file, request, layout)
    sources, card = (*request.sources, *written), plain_card(request.name)
    return replace(request, sources=sources, language=language, written=written, card=card)


def _origin_of_texts(language: str, path: Path, recipes: Sequence[str] | None) -> str:
    """The recipe whose rules find claims in texts of a language."""
    library, short = RecipeIndex(find_roots(recipes or ())), language.partition("-")[0]
    if library.paths_of(f"recipe/guideline_{short}") and library.paths_of(f"rules/{short}_guideline"):
        return f"guideline_{short}"
    known = [name.partition("_")[0] for name in library.option_names("rules") if name.endswith("_guideline")]
    hint = f"give a file of questions, claims or triples beside it; rules find claims in texts in {', '.join(known)}"
    hint += " only, and a model in Chinese ones with --from guideline_zh"
    raise RecipeError(
        [
            Problem(
                f"texts alone hold no questions, and no rules find claims in {language}",
                where=f"--data {path}",
                hint=hint,
            )
        ]
    )


def _unclear_language(path: Path, seen: str) -> RecipeError:
    hint = "give it, for instance --language en"
    return RecipeError(
        [Problem("the language of this file could not be told", where=f"--data {path}", actual=seen, hint=hint)]
    )


def _own_evidence(request: CloneRequest) -> str:
    """How evidence is found where the data has texts beside its facts; empty if it has none."""
    texts = [source for source in request.sources if source.partition(":")[2] in TEXT_SOURCES]
    beside = [source for source in request.written if source.endswith("_texts:corpus")]
    if beside and set(texts) <= set(beside):
        return "gold: own} # none: search the texts of all rows, and of other sources"
    return "gold: only} # first: the texts of other rows, too" if beside else ""


def _stated(layout: Layout, path: Path) -> Layout:
    """The layout of a file, with what a card says of it until its author does."""
    return Layout(layout.columns, {**layout.settings, "title": path.name, "licence": "not stated"})


def _written(
    argument: str, file: DataFile, request: CloneRequest, layout: Layout, warning: Problem | None = None
) -> WrittenSource:
    """The source that reads a copy of a file as `layout` says."""
    place = f"{request.name}/{file.name}{file.suffix}"
    text = _PATH.sub(f"path: {place}", source_template(argument, request.name)[1], count=1)
    return WrittenSource(_filled(text, layout), place, file.data, file.given, warning)


def _first_rows(name: str, settings: Mapping[str, Any], source: WrittenSource) -> list[Row]:
    """The first rows of a source, from its file as it will be copied: it may have been converted."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(source.place).name
        copy.write_bytes(source.content)
        return first_rows(name, settings, copy, "", _MOST_TRIPLES)


def _graph(request: CloneRequest, sources: list[WrittenSource], library: RecipeIndex) -> tuple[str, GraphParts]:
    """The language of triples, asked for or told, and what a recipe needs for those of the files that can be read.

    A source whose relations are spelled in several ways gets rules that make them one.
    """
    triples, files, tags, notes = list[Triple](), list[Path](), Counter[str](), list[str]()
    for place, (argument, source) in enumerate(zip(request.sources, sources, strict=True)):
        if _kind_of(argument) not in ("triples", "rdf") or source.given is None or source.warning is not None:
            continue
        files.append(source.given.resolve())
        with suppress(BenchbuilderError, ValueError):  # `new` shows why, when it reads them as a build does
            name = argument.partition(":")[0]
            settings: Mapping[str, Any] = yaml.safe_load(source.text)[name]
            tags.update(filter(None, settings.get("languages", ())[:1]))  # RDF says in which language its names are
            rows = _first_rows(name, settings, source)
            read = [row.payload for row in rows if isinstance(row, Fact)]
            spelled = other_spellings(triple.relation for triple in read)
            if spelled and _kind_of(argument) == "triples":
                sources[place] = _respelled(source, spelled)
                own = {other: first for first, others in spelled.items() for other in others}
                read = [one.model_copy(update={"relation": own.get(one.relation, one.relation)}) for one in read]
                told = "; ".join(f"{first} ({', '.join(others)})" for first, others in spelled.items())
                notes.append(f"{name}: each relation is read in its most frequent spelling: {told}")
            triples += read
    texts = [text for triple in triples for text in (triple.head, triple.relation, triple.tail)]
    guess, seen = guess_language(texts) if request.written and not (request.language or tags) else ("en", "")
    language = request.language or next(iter(tags), "") or language_of(triples, library, guess)
    if not language:
        raise _unclear_language(files[0], seen)
    graph = graph_parts(request.name, language, triples, library)
    return language, replace(graph, notes=[*notes, *graph.notes])


def _respelled(source: WrittenSource, spelled: Mapping[str, Sequence[str]]) -> WrittenSource:
    """The source with rules that replace the other spellings of relations."""
    rules = [
        {"find": rf"\A\s*(?:{'|'.join(map(re.escape, others))})\s*\Z", "put": first.replace("\\", r"\\")}
        for first, others in spelled.items()
    ]
    return replace(source, text=_filled(source.text, Layout({}, {"clean": {"relation": rules}})))


def _guessed_language(facts: LanguageFacts) -> Sequence[Problem]:
    hint = "if it is another one, remove these files and give --language xx"
    return [Problem("no language was named, and the triples seem to be in this one", where="new", actual=facts.name,
                    hint=hint)]  # fmt: skip


def _filled(text: str, layout: Layout) -> str:
    """The YAML of a source with what was told of its file, each line marked to be checked."""
    if "\n    # columns:" in text:  # these may be left out
        text = re.sub(
            r"(?m)^    # columns:.*$", lambda _: f"    columns: {_yaml(layout.columns)} # check", text, count=1
        )
    for role, value in layout.columns.items():
        text = re.sub(
            rf"(?m)^      (?:# )?{role}: .*$", lambda _, r=role, v=value: f"      {r}: {_yaml(v)} # check", text
        )
    if "answer" in layout.columns and "answer_key" not in layout.columns:
        text = re.sub(r"(?m)^      answer_key: .*\n", "", text)
    for key, value in layout.settings.items():
        mark = "" if str(value).startswith(OPEN_PLACE) else " # check"
        text = re.sub(rf"(?m)^    (?:# )?{key}: .*$", lambda _, k=key, v=value, m=mark: f"    {k}: {_yaml(v)}{m}", text)
    return text


def _yaml(value: Any) -> str:
    """A value as YAML on one line; an open place stays open."""
    return str(value) if str(value).startswith(OPEN_PLACE) else json.dumps(value, ensure_ascii=False)


def _unknown_language(facts: LanguageFacts) -> Sequence[Problem]:
    if facts.known:
        return ()
    hint = "write the marks of the language into its file of the group writing"
    return [Problem("the bundled table does not say how this language is written", where=f"--language {facts.tag}",
                    hint=hint)]  # fmt: skip


def _bundled(library: RecipeIndex, option: str) -> Mapping[str, Any]:
    """The content of an option of the group `forms`; nothing if there is no such option."""
    places = library.paths_of(f"forms/{option}")
    content: Any = yaml.safe_load(read_given_text(places[0][0])) if places else {}
    return content


def _verdict_words(library: RecipeIndex, language: str) -> str:
    """The bundled file of the group `verdicts` for a language, to be checked; empty if there is none."""
    places = library.paths_of(f"verdicts/{language.partition('-')[0]}")
    return f"# check\n{read_given_text(places[0][0])}" if places else ""


def _quoted(text: str) -> str:
    """`text` as a YAML string on one line."""
    return json.dumps(text, ensure_ascii=False)


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(_quoted(text) for text in texts)}]"


def _rendered(name: str, values: Mapping[str, Any]) -> str:
    loader = PackageLoader(__package__ or "", ".")
    environment = Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    return environment.get_template(f"{name}.yaml.j2").render(values).rstrip() + "\n"
