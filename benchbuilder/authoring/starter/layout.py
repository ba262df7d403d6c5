"""Which columns of a file a source needs, by their content; names only choose among columns whose content fits.

Two columns or readings that fit and disagree are a question to the author, never a guess.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from benchbuilder.authoring.starter.cells import (
    GOLD,
    IDENTIFIER,
    QUESTION,
    RIGHT,
    WRONG,
    Cells,
    Layout,
    columns_before,
    columns_of,
    is_full,
    label_of,
    only_column,
    text_columns,
)
from benchbuilder.authoring.starter.choice_layout import choice_layout
from benchbuilder.authoring.starter.sample import (
    FileSample,
    Reading,
    UnclearLayoutError,
    label_words,
    read_sample,
    table_words,
)
from benchbuilder.sources import list_separator

_CLAIM = re.compile(
    r"(?i)^(claim|statement|assertion|hypothesis|sentence2|text|tweet|headline)$|claim(?!.*(label|id))|\.(text|claim)$"
)
_PREMISE = re.compile(r"(?i)^(premise|sentence1)$")
_NOT_GOLD = re.compile(r"(?i)pred|label\d+$|annotator|reasoning|_id$|^id$|votes|entropy|score")
_ENDS = (
    (
        r"head|subject|x_name|h|s",
        r"relation|predicate|attr(?:ibute)?|property|display_relation|metaedge|rel|r|p",
        r"tail|object|y_name|t|o",
    ),
    (
        r"\u5934\u5b9e\u4f53|\u5b9e\u4f531|\u4e3b\u4f53|sujeto|sujet",
        r"\u5173\u7cfb|\u8c13\u8bcd|\u5c5e\u6027|relaci\u00f3n|relation|pr\u00e9dicat",
        r"\u5c3e\u5b9e\u4f53|\u5b9e\u4f532|\u5ba2\u4f53|objeto|objet",
    ),
    (r"source", r"relation|metaedge|rel|edge", r"target"),
)
TEXT = re.compile(r"(?i)^(text|abstract|body|contents?|context|passage|paragraph)$")
"""Names of columns of texts."""
_MEANING = {"yes": "true", "no": "false", "maybe": "skip"}
"""What an answer to a yes/no question says of it."""
_MOST_OTHERS = 10
"""The most labels that mean neither true nor false."""


def propose_layout(path: Path, kind: str, reading: Reading | None = None) -> Layout:
    """The layout of a file for a source of this kind.

    Raises:
        UnclearLayoutError: With what cannot be told.
    """
    if kind not in ("claims", *_FINDERS):
        raise UnclearLayoutError(f"which columns a source of the kind {kind} reads")
    sample = read_sample(path, (reading or Reading()).of_kind(kind))
    return layout_of(path, sample, find_columns(kind, columns_of(sample.records)))


def find_columns(kind: str, cells: Cells, labels: Mapping[str, str] | None = None) -> Layout:
    """The columns that a source of this kind reads; UnclearLayoutError with what cannot be told.

    `labels` are those of claims of which somebody said what they mean: ``true``, ``false`` or ``skip``.
    """
    filled = {name: values for name, values in cells.items() if any(v not in (None, "") for v in values)}
    return _labelled_claims(filled, labels or {}) if kind == "claims" else _FINDERS[kind](filled)


def layout_of(path: Path, sample: FileSample, layout: Layout) -> Layout:
    """A layout with the settings that reading the file takes."""
    settings = {**sample.settings, **layout.settings}
    leaves = [name for value in layout.columns.values() for name in (value if isinstance(value, list) else [value])]
    if path.suffix.lower() not in (".json", ".jsonl", ".parquet") and all(isinstance(name, int) for name in leaves):
        settings.setdefault("header", True)  # numbers alone would mean that there is none
    return Layout(layout.columns, settings)


def _answers(cells: Cells) -> Layout:
    texts = text_columns(cells)
    wrong = [name for name, values in cells.items() if WRONG.search(str(name)) and is_full(values)]
    right = [
        name for name, values in cells.items()
        if RIGHT.search(str(name)) and name not in wrong and is_full(values, 0.5) and not IDENTIFIER.search(str(name))
        and all(map(_is_text_or_list, values)) and len({str(value) for value in values}) > len(values) / 2
        and (isinstance(name, int) or not re.search(r"(start|label|type)$", name))
    ]  # fmt: skip
    if {"A", "B"} <= {str(name).upper() for name in texts} and any(str(name) in "Aa" for name in right):
        raise UnclearLayoutError("the answer: A and B are called like options")
    left = [name for name in texts if name not in (*right, *wrong)]
    question = only_column(left, QUESTION, "the question", columns_before(cells, (*right, *wrong)))
    inner = [name for name in right if str(name).endswith((".text", ".span"))]
    best = [name for name in right if re.search(r"(?i)best", str(name))]
    answers: Any = [*best, *(name for name in right if name not in best)] if best and len(right) > 1 else None
    answers = _list_with_best(cells, answers) or answers or (inner[0] if len(inner) == 1 else None)
    answers = answers or only_column(right, RIGHT, "the answer")
    columns: dict[str, Any] = {"question": question, "answers": answers}
    if wrong:
        shown = [name for name in wrong if not re.search(r"(?i)best", str(name))] or wrong
        columns["wrong"] = shown[0] if len(shown) == 1 else shown
    separators = {role: separator for role, column in columns.items() if role != "question"
                  for separator in [_separator(cells, column)] if separator}  # fmt: skip
    return Layout(columns, {"separators": separators} if separators else {})


def _list_with_best(cells: Cells, answers: Any) -> str | int | None:
    """Of a column with the best answer and one with lists of all, the second, if it has the best one in each record."""
    if answers is None or len(answers) != 2 or not (separator := list_separator(cells[answers[1]])):
        return None
    lists = [{part.strip() for part in str(text).split(separator)} for text in cells[answers[1]]]
    return (
        answers[1]
        if all(str(best).strip() in row for best, row in zip(cells[answers[0]], lists, strict=True))
        else None
    )


def _separator(cells: Cells, column: Any) -> str:
    names = column if isinstance(column, list) else [column]
    return next(filter(None, (list_separator(cells[name]) for name in names)), "")


def _is_text_or_list(value: Any) -> bool:
    parts = cast("list[Any]", value) if isinstance(value, list) else []
    return (
        value is None or isinstance(value, str) or (isinstance(value, list) and all(isinstance(p, str) for p in parts))
    )


def _labelled_claims(cells: Cells, told: Mapping[str, str]) -> Layout:
    """Claims and labels, in any case, those that mean neither true nor false among the labels left out."""
    means = {label: _MEANING.get(word, word) for label, word in label_words().items()}
    means |= {label.casefold(): meaning for label, meaning in told.items()}
    counts = {name: Counter(filter(None, map(label_of, values))) for name, values in cells.items()}
    labels = [
        name
        for name, found in counts.items()
        if is_full(cells[name], 0.5) and not _NOT_GOLD.search(str(name)) and _is_label(found, means, told)
    ]
    if not labels:
        raise _unclear_labels(cells, counts, means, told)
    label = only_column(
        [name for name in labels if re.search(r"(?i)gold|final", str(name))] or labels, GOLD, "the label"
    )
    meanings: dict[str, list[str]] = {}
    for text in sorted(counts[label]):
        meanings.setdefault(means.get(text.casefold(), "skip"), []).append(text)
    if {"true", "false"} - meanings.keys():
        raise UnclearLayoutError(f"the labels: {', '.join(sorted(counts[label]))} are not both true and false")
    is_asked = all(label_words().get(text.casefold()) in _MEANING for text in counts[label])
    is_asked |= all(isinstance(value, bool) for value in cells[label])
    plain = [name for name, values in cells.items() if all(value is None or isinstance(value, str) for value in values)]
    texts = [
        name
        for name in plain
        if name != label and not IDENTIFIER.search(str(name)) and len(set(cells[name])) > min(3, len(cells[name]) / 2)
    ]
    premise = [name for name in texts if _PREMISE.search(str(name))]
    texts = [name for name in texts if name not in premise]
    pattern = QUESTION if is_asked else _CLAIM
    if (
        sum(bool(pattern.search(str(name))) for name in texts) != 1
    ):  # a short claim is none of these, if it is called so
        texts = [name for name in texts if not _holds_names(cells[name])] or texts
    try:
        text = only_column(texts, pattern, "the claim")
    except UnclearLayoutError as question:
        told_so = shlex.quote(f"claim={texts[0] if texts else 'COL'},label={label}")
        raise UnclearLayoutError(str(question), hint=f"if these are claims, for instance --columns {told_so}") from None
    label = f"{label}[0]" if any(isinstance(value, list) for value in cells[label]) else label
    columns = {
        "text": text,
        "label": label,
        **({"premise": premise[0]} if len(premise) == 1 else {}),
    }
    settings: dict[str, Any] = {"labels": meanings, **({"as": "yes_no"} if is_asked else {})}
    return Layout(columns, {**settings, **({"about": "text"} if premise else {})})


def _holds_names(values: Sequence[Any]) -> bool:
    """Whether most values are of one or two words, or as short where words have no blanks: names, dates, addresses."""
    texts = [str(value) for value in values if value]
    return sum(len(text.split()) < 3 and (text.isascii() or len(text) < 5) for text in texts) > len(texts) / 2


def _is_label(counts: Counter[str], means: Mapping[str, str], told: Mapping[str, str]) -> bool:
    """Whether a column says which claims are true: by known labels, by most of them, or as somebody said."""
    found = {label.casefold() for label in counts}
    if told:
        return {label.casefold() for label in told} <= found
    if not (others := found - means.keys()):
        return len(found) > 1
    known = sum(count for label, count in counts.items() if label.casefold() in means)
    is_both = {"true", "false"} <= {means.get(label) for label in found}
    return is_both and 2 * known > counts.total() and len(others) <= _MOST_OTHERS


def _unclear_labels(
    cells: Cells, counts: Mapping[str | int, Counter[str]], means: Mapping[str, str], told: Mapping[str, str]
) -> UnclearLayoutError:
    """What cannot be told of labels, with those that mean true and false, as far as that is known."""
    if told:
        return UnclearLayoutError(f"the label: no column holds {' and '.join(told)}", sure=True)
    named = [name for name in cells if GOLD.search(str(name))]
    marked = [name for name in cells if counts[name].keys() == {"0", "1"}]
    graded = [name for name in marked if name in named] or [
        name
        for name in named
        if not _NOT_GOLD.search(str(name))
        and 1 < len(counts[name]) <= len(cells[name]) / 2
        and any(_CLAIM.search(str(other)) for other in cells)
    ]
    sure, graded = bool(graded), graded or (marked if len(marked) == 1 else [])
    if not graded:
        return UnclearLayoutError("the label: no column fits")
    found = sorted(counts[graded[0]])
    likely = {"1": "true", "0": "false", **means}
    picked = {likely.get(label.casefold(), ""): label for label in reversed(found)}
    pair = f"true={picked.get('true', 'LABEL')},false={picked.get('false', 'LABEL')}"
    return UnclearLayoutError(
        f"{graded[0]} is {' or '.join(found)}: which means true"[:300],
        sure=sure,
        hint=f"{'say it' if sure else 'if these are claims'}, for instance --columns {shlex.quote(pair)}; claims with "
        "other labels are left out",
    )


def _triples(cells: Cells) -> Layout:
    for ends in _ENDS:
        found = [[name for name in cells if re.fullmatch(f"(?i){end}", str(name))] for end in ends]
        if all(found):
            head, relation, tail = (names[0] for names in found)
            if "display_relation" in cells:
                relation = "display_relation"
            break
    else:
        head, relation, tail = _triple_by_shape(cells)
    if any(isinstance(value, list | dict) for name in (head, relation, tail) for value in cells[name]):
        raise UnclearLayoutError("triples that hold lists")
    if all(re.fullmatch(r"[A-Z]*\d+|\w+::.+", str(value)) for value in cells[head]):
        question = f"{head} and {tail} are numbers of things: where are their names?"
        raise UnclearLayoutError(question, sure=True, hint="put the names of the things into these columns")
    columns: dict[str, Any] = {"head": head, "relation": relation, "tail": tail}
    for role, end in (("head_type", head), ("tail_type", tail)):
        types = [name for name in cells if str(name) in (f"{end}_type", f"{end} type", role)]
        columns |= {role: types[0]} if types else {}
    typed = all("@@" in str(value) for end in (head, tail) for value in cells[end])
    return Layout(columns, {"type_separator": "@@"} if typed else {})


def _triple_by_shape(cells: Cells) -> tuple[Any, Any, Any]:
    """Of three columns beside those of notes, that with few values is the relation; the others are head and tail."""
    names = list(cells) if len(cells) == 3 else [name for name in cells if not _is_note(name, cells)]
    sizes = {name: len(set(map(str, cells[name]))) for name in names}
    by_values = sorted(names, key=lambda name: sizes[name])
    if len(names) != 3 or 2 * sizes[by_values[0]] > sizes[by_values[1]]:
        seen = f"head, relation and tail among {', '.join(map(str, cells))}"[:200]
        raise UnclearLayoutError(seen, hint=_likely_triple({name: cells[name] for name in names}))
    if _is_verdict(cells[by_values[0]]):
        raise UnclearLayoutError(f"the relation: {by_values[0]} holds verdicts or marks")
    head, tail = (name for name in names if name != by_values[0])
    if sum(len(str(value)) for name in (head, by_values[0]) for value in cells[name]) > _LONGEST_NAME * len(
        cells[head]
    ):
        raise UnclearLayoutError(f"the head: {head} or {by_values[0]} holds whole texts, not names")
    return head, by_values[0], tail


def _is_note(name: str | int, cells: Cells) -> bool:
    """Whether a column stands beside triples: a note by its name, a number, or one with many empty cells."""
    is_named = re.search(table_words()["notes"], str(name).casefold()) or IDENTIFIER.search(str(name))
    return bool(is_named) or not is_full(cells[name], 0.5)


def _likely_triple(cells: Cells) -> str:
    """What to say if these are triples: the relation has few values, and stands between the names of head and tail."""
    names = list(cells)
    sizes = {name: len(set(map(str, values))) for name, values in cells.items()}
    at = min(range(1, len(names) - 1), key=lambda place: sizes[names[place]], default=0)
    if not at or 3 * sizes[names[at]] > len(cells[names[at]]):
        return ""
    head, relation, tail = names[at - 1 : at + 2]
    texts = [[str(value or "") for value in cells[name]] for name in (head, relation, tail)]
    if _is_verdict(texts[1]) or any(sum(map(len, values)) > _LONGEST_NAME * len(values) for values in texts):
        return ""
    columns = f"head={head},relation={relation},tail={tail}"
    return f"if these are triples, --columns {shlex.quote(columns)}"


def _is_verdict(values: Sequence[Any]) -> bool:
    """Whether most values are labels, numbers or single letters, as no relation is called."""
    words = [str(value or "").strip().casefold() for value in values]
    marks = sum(word in label_words() or len(word) < 1 + word.isascii() or word.isdecimal() for word in words)
    return marks > len(words) / 2


_LONGEST_NAME = 60


def _passages(cells: Cells) -> Layout:
    text = [name for name, values in cells.items() if TEXT.search(str(name)) and all(map(_is_text_or_list, values))]
    columns = {"text": only_column(text or list(text_columns(cells)), TEXT, "the text")}
    titles = [name for name in cells if re.fullmatch("(?i)title", str(name))]
    return Layout({**columns, **({"title": titles[0]} if titles else {})})


_FINDERS: Mapping[str, Callable[[Cells], Layout]] = {
    "multiple_choice": lambda cells: choice_layout(cells, several=False),
    "several_choice": lambda cells: choice_layout(cells, several=True),
    "question_answer": _answers,
    "triples": _triples,
    "corpus": _passages,
}
