"""Which columns of a file hold questions, options and keys, by their content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
    is_full,
    only_column,
    text_columns,
)
from benchbuilder.authoring.starter.sample import UnclearLayoutError
from benchbuilder.config import OPEN_PLACE
from benchbuilder.sources import LABEL_FIELDS, labelled_lists, option_lists, parse_cell, split_keys, text_matches

_KEY = re.compile(
    r"(?i)answer|key|correct|^cop$|^ra$|label|gold|target|truth|^ans|^right|^solu|l(?:\u00f6|oe)sung|richtig|respuesta|clave|"
    r"resposta|gabarito|r\u00e9ponse|\u7b54\u6848|\u6b63\u89e3|\u6b63\u786e"
)
_LETTER = re.compile(r"\(?([A-Ja-j])[).]?\Z")
_MARKS = (r"\([A-Ja-j]\)", r"(?<![\w(])[A-Ja-j][.)\u3001\uff0e:]\s?", r"(?m:^[A-J](?=\s))")
_Readings = Mapping[str, Sequence[Sequence[str]]]
"""What each reading of a column of keys says is right: the texts of the options by record."""
_WAYS = ("letter", "flags", "index", "index_from_1", "text")


@dataclass(frozen=True, slots=True)
class _Options:
    """A group of columns that holds options: how a source names it, and the options and labels of each record."""

    columns: Any
    texts: Sequence[Sequence[str]]
    labels: Sequence[Sequence[str]] | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def choice_layout(cells: Cells, *, several: bool) -> Layout:
    """The layout of questions with options. UnclearLayoutError with what cannot be told."""
    if (columns := _right_beside_wrong(cells)) is not None:
        return Layout({**columns, "question": _question(cells, columns["options"], columns["answer"])})
    groups = _option_groups(cells)
    fits = [(options, keys) for options in groups if (keys := _key_columns(cells, options))]
    if len(fits) > 1:  # any list has a first and a second element; few hold the answer where a letter says that it is
        fits = [(options, keys) for options, keys in fits if _is_named_twice(keys)] or fits
    if len(fits) != 1:
        found = " or ".join(str(options.columns) for options, _ in fits)
        raise UnclearLayoutError(f"the options: {found or _no_key(cells, groups)}")
    [(options, keys)] = fits
    key, readings = _agreed(keys)
    if not several and any(len(right) > 1 for found in readings.values() for right in found):
        raise UnclearLayoutError(f"the key {key} names several options: take the kind several_choice")
    settings: dict[str, Any] = dict(options.settings)
    if len(readings) > 1:
        settings["key_as"] = f"{OPEN_PLACE} # {' or '.join(readings)}? see the rows that `new` shows"
    elif "letter" not in readings:
        settings["key_as"] = next(iter(readings))
    question = _question(cells, [*_listed(options.columns), *options.more.values()], key)
    return Layout({"question": question, "options": options.columns, "answer_key": key, **options.more}, settings)


def _listed(columns: Any) -> list[Any]:
    return list(cast("list[Any]", columns)) if isinstance(columns, list) else [columns]


def _no_key(cells: Cells, groups: Sequence[_Options]) -> str:
    """Why no column fits: there are no options, or what the column of the key has that names none of them."""
    letters = [
        name
        for name, values in cells.items()
        if sum(bool(_LETTER.match(str(value or "").strip())) for value in values) > len(values) / 2
    ]
    if not letters and (numbers := {name for group in groups for name in _key_columns(cells, group, by_name=False)}):
        return f"no column fits; {' or '.join(map(str, numbers))} holds numbers of options, but the name of no key"
    if not groups or len(letters) != 1:
        return "no column fits"
    values, columns = cells[letters[0]], _listed(groups[0].columns)
    keys = "ABCDEFGHIJ"[: len(groups[0].texts[0])]
    faulty = Counter(
        str(value or "").strip() for value in values
        if not (found := _LETTER.match(str(value or "").strip())) or found[1].upper() not in keys
    )  # fmt: skip
    named = " and ".join(f"{n} × {text or 'nothing'!r}" for text, n in faulty.most_common(2))
    return (
        f"no column fits: {letters[0]} has {named}, and {' | '.join(map(str, columns))} are the options {keys}"
        if faulty
        else "no column fits"
    )


def _right_beside_wrong(cells: Cells) -> dict[str, Any] | None:
    """One column of right answers beside several of wrong ones, as `answer` and `options`."""
    wrong = [
        name for name, values in cells.items() if WRONG.search(str(name)) and all(isinstance(v, str) for v in values)
    ]
    right = [name for name in text_columns(cells) if RIGHT.search(str(name)) and name not in wrong]
    return {"options": [*wrong, *right], "answer": right[0]} if len(wrong) > 1 and len(right) == 1 else None


def _agreed(keys: Mapping[str | int, _Readings]) -> tuple[str | int, _Readings]:
    """The column of the key and its readings; several columns must have one reading that all agree on."""
    named = {name: found for name, found in keys.items() if _KEY.search(str(name)) or isinstance(name, int)} or keys
    if len(named) == 1:
        return next(iter(named.items()))
    told = [{repr(right) for right in found.values()} for found in named.values()]
    common = set.intersection(*told)
    if len(common) != 1:
        raise UnclearLayoutError(f"the key: {' or '.join(map(str, named))}")
    pairs = [
        (way, name, right) for name, found in named.items() for way, right in found.items() if repr(right) in common
    ]
    way, name, right = min(pairs, key=lambda pair: _WAYS.index(pair[0]))
    return name, {way: right}


def _is_named_twice(keys: Mapping[str | int, _Readings]) -> bool:
    """Whether one column has the texts of the right options, and another one names the same."""
    named = {name: {way: repr(right) for way, right in found.items()} for name, found in keys.items()}
    texts = {name: found["text"] for name, found in named.items() if "text" in found}
    return any(
        text in found.values() for by_text, text in texts.items() for name, found in named.items() if name != by_text
    )


def _question(cells: Cells, used: Sequence[Any], key: str | int) -> str | int:
    """The column of the question: neither options nor key, and not inside them but by its name."""
    roots = {_root(name) for name in used}
    left = [
        name
        for name in text_columns(cells)
        if name not in used and name != key and (_root(name) not in roots or QUESTION.search(str(name)))
    ]
    places = [name for name in used if isinstance(name, int)]
    if places and all(isinstance(name, int) for name in left):  # without names: before the options
        left = [name for name in left if isinstance(name, int) and name < min(places)] or left
    return only_column(left, QUESTION, "the question", columns_before(cells, used))


def _root(name: Any) -> str:
    return re.split(r"[.\[]", str(name))[0]


def _option_groups(cells: Cells) -> list[_Options]:
    """The groups of columns that may hold options, each once: that with labels, and the outermost path."""
    full = {name: values for name, values in cells.items() if is_full(values, 1 - _FAULTY)}
    single = [group for name, values in full.items() if (group := _in_one_column(name, values)) is not None]
    roots = {_root(group.columns) for group in single}
    several = [group for group in _in_several_columns(cells) if not any(_root(name) in roots for name in group.columns)]
    found: dict[str, _Options] = {}
    for group in sorted((*single, *several), key=lambda group: group.labels is None):
        if len(set(map(tuple, group.texts))) > len(group.texts) / 2:
            found.setdefault(str(group.columns), group)
    return [group for name, group in found.items() if not any(name.startswith((f"{o}.", f"{o}[]")) for o in found)]


def _in_one_column(name: str | int, values: Sequence[Any]) -> _Options | None:
    """Options in one column: a list, a mapping, lists side by side, a list of Python, or one text with marks."""
    parsed = [parse_cell(value) for value in values]
    if _few(not _is_list_of_texts(_without_gaps(value)) for value in parsed):
        rows = [[str(option or "") for option in value] if isinstance(value, list) else [] for value in parsed]
        return _with_marks(name, list(map(_without_gaps, rows))) or _Options(name, rows)
    lists = [option_lists(value) for value in parsed]
    types = {type(value) for value, found in zip(parsed, lists, strict=True) if found}
    if len(types) == 1 and _few(not found for found in lists):
        return _labelled(f"{name}[]" if types == {list} else str(name), parsed, lists)
    if all(isinstance(value, dict) and all(map(_LETTER.match, value)) for value in parsed):
        texts = [list(value.values()) for value in parsed]
        return _Options(name, texts, [list(value) for value in parsed]) if all(map(_is_list_of_texts, texts)) else None
    if not all(isinstance(value, str) for value in parsed):
        return None
    for mark in _MARKS:
        texts = [[part.strip() for part in re.split(f"(?={mark})", value) if part.strip()] for value in parsed]
        if _few(len(row) < 2 for row in texts) and (found := _with_marks(name, texts)) is not None:
            return found
    return None


def _with_marks(columns: Any, values: Sequence[Sequence[str]]) -> _Options | None:
    """Options of which each begins with its own mark, A. or (A); ``None`` if those of several records do not."""
    for mark in _MARKS:
        found = [[re.match(mark, text) for text in texts] for texts in values]
        keys = [["".join(re.findall("[A-J]", match[0].upper())) if match else "" for match in row] for row in found]
        if _few(key != list("ABCDEFGHIJ"[: len(key)]) for key in keys):
            texts = [[re.sub(mark, "", text, count=1).strip() for text in row] for row in values]
            labels = [list("ABCDEFGHIJ"[: len(row)]) for row in texts]
            return _Options(columns, texts, labels, settings={"option_mark": mark})
    return None


def _few(faulty: Iterable[bool]) -> bool:
    """Whether so few records are faulty that a build may drop them."""
    found = list(faulty)
    return sum(found) <= _FAULTY * len(found)


def _is_list_of_texts(value: Any) -> bool:
    parts = cast("list[Any]", value) if isinstance(value, list) else []
    return len(parts) > 1 and all(isinstance(part, str) and part.strip() for part in parts)


def _without_gaps(value: Any) -> list[Any]:
    """The options of a list that are there; none of another value."""
    return [part for part in cast("list[Any]", value) if part] if isinstance(value, list) else []


def _labelled(inside: str, values: Sequence[Any], lists: Sequence[Mapping[str, Any]]) -> _Options | None:
    """Options whose texts stand beside labels; `lists` are the fields of the options by record."""
    fields = next(filter(None, lists))
    texts = [
        name
        for name in fields
        if _few(not _is_list_of_texts(_without_gaps(row.get(name))) for row in lists)
        and max(len(str(option or "")) for row in lists for option in row.get(name) or ()) > 3
    ]
    if len(texts) != 1:
        return None
    rows = [[str(option or "") for option in row.get(texts[0]) or ()] for row in lists]
    labels = [name for name in fields if all(name in labelled_lists(value, texts[0]) for value in values if value)]
    if len(labels) > 1:
        return None
    columns = f"{inside}.{texts[0]}"
    if labels:
        own = [row.get(labels[0]) or [] for row in lists]
        if len(fields) == 2 and labels[0] in LABEL_FIELDS:  # the reader finds both by itself
            return _Options(inside.removesuffix("[]"), rows, own)
        return _Options(columns, rows, own, {"labels": f"{inside}.{labels[0]}"})
    return _Options(columns, rows)


def _in_several_columns(cells: Cells) -> list[_Options]:
    """Options in columns whose names differ in a letter or a number; without names, between question and key."""
    named: dict[str, list[str]] = {}
    for name, values in cells.items():
        is_text = all(isinstance(value, str) or value is None for value in values)
        stem = _LAST_MARK.sub("#", name) if isinstance(name, str) and is_text else name
        if stem != name and not (GOLD.search(str(name)) or IDENTIFIER.search(str(name))):
            named.setdefault(str(stem), []).append(str(name))
    groups: list[list[Any]] = [sorted(names) for names in named.values() if len(names) > 1]
    if not groups and all(isinstance(name, int) for name in cells):
        keys = [name for name, values in cells.items() if all(_LETTER.match(str(value).strip()) for value in values)]
        between = list(range(1, cast("int", keys[0]))) if len(keys) == 1 else []
        varied = all(len(set(map(str, cells.get(name, ())))) > len(cells[keys[0]]) / 2 for name in between)
        groups = [between] if len(between) > 1 and varied else []
    found: list[_Options] = []
    for names in groups:
        rows = [[str(value or "") for value in row] for row in zip(*(cells[name] for name in names), strict=True)]
        found.append(_with_marks(names, [list(filter(None, row)) for row in rows]) or _Options(names, rows))
    return found


_LAST_MARK = re.compile(r"(?<![0-9])[ _]?[1-9](?= - |$)|((?<=[ _.])|(?<=^op)|^)\(?[A-Ja-j][).:]?$")


def _key_columns(cells: Cells, options: _Options, *, by_name: bool = True) -> dict[str | int, _Readings]:
    """The columns that name options, each with its readings.

    Points, levels and years of school are small numbers, too: numbers are a key where their column is called so, or
    where no other column is, and theirs is none of these.
    """
    used = {str(name) for name in (*_listed(options.columns), *options.more.values())}
    inside = tuple(f"{column}{mark}" for column in used for mark in (".", "[]"))
    left = {name: values for name, values in cells.items() if str(name) not in {*used, *map(_root, used)}}
    has_named = any(_KEY.search(str(name)) for name in left)
    found: dict[str | int, _Readings] = {}
    for name, values in left.items():
        is_named = bool(_KEY.search(str(name)))
        may_be = isinstance(name, int) or is_named or not (has_named or _NO_KEY.search(name))
        if str(name).startswith(inside) or IDENTIFIER.search(str(name)) or not is_full(values, _MOSTLY):
            continue
        is_key = is_named and all(_LETTER.match(str(value).strip()) for value in values)
        readings = _readings(values, options, fewest=1 if is_key else 2)
        if readings and (may_be or not by_name or not _NUMBERS.issuperset(readings)):
            found[name] = readings
    return found


_NO_KEY = re.compile(
    r"(?i)punkt|pkt|point|punto|ponto|score|mark|weight|level|stufe|klasse|grade|nivel|n\u00edvel|niveau|difficult|"
    r"schwierig|dificul|year|jahr|chapter|kapitel|unit|count|number|num$|anzahl|\u5206|\u96be|\u7ea7"
)
_NUMBERS = frozenset({"index", "index_from_1"})
_MOSTLY = 0.9
_NO_ANSWER = frozenset({"", "None", "0", "-1", "?", "[]"})
"""What stands for a key where there is none."""
_FAULTY = 0.05
"""The share of keys that may be none: a build drops these rows with their reason."""


def _readings(values: Sequence[Any], options: _Options, fewest: int) -> _Readings:
    """The readings of a column in which records name options, at as many places as the `fewest` at least.

    Those by which every record names one; if there are none, those by which the others have no answer.
    """
    flagged = [_flagged(texts, value) for texts, value in zip(options.texts, values, strict=True)]
    unread, unanswered = flagged.count(None), flagged.count([])
    if unread <= _FAULTY * len(values) and 2 * (unread + unanswered) < len(values):
        return {"flags": [right or [] for right in flagged]}
    whole: dict[str, list[list[str]]] = {}
    partly: dict[str, list[list[str]]] = {}
    for way, read in _READERS.items():
        right = [
            _read(read, *row) for row in zip(values, options.texts, options.labels or [None] * len(values), strict=True)
        ]
        failed = [str(value) for value, named in zip(values, right, strict=True) if not named]
        places = {texts.index(named[0]) for named, texts in zip(right, options.texts, strict=True) if named}
        may_fail = len(failed) <= _FAULTY * len(values) or (set(failed) <= _NO_ANSWER and 2 * len(failed) < len(values))
        if len(places) >= fewest and may_fail:
            (partly if failed else whole)[way] = right
    found = whole or partly
    return {"letter": found["letter"]} if "letter" in found else found


def _flagged(texts: Sequence[str], value: Any) -> list[str] | None:
    """The options that a list marks with 0 or 1, or true or false, for each of them; ``None`` for another value."""
    flags = cast("list[Any]", value) if isinstance(value, list) else []
    is_whole = len(flags) == len(texts) and all(flag in (0, 1) for flag in flags)
    return [text for text, flag in zip(texts, flags, strict=True) if flag] if is_whole else None


def _read(read: Callable[[str, Sequence[str], Any], str], value: Any, texts: Sequence[str], labels: Any) -> list[str]:
    """The texts of the options that a key names; none if it is no key."""
    several = cast("list[Any]", value) if isinstance(value, list) else [value]
    if read is _by_letter:
        keys = _letters(texts, labels)
        several = [part for one in several for part in split_keys(str(one).strip(), "letter", keys)]
    try:
        named = [read(str(one).strip(), texts, labels) for one in several if not isinstance(one, bool)]
    except (ValueError, IndexError, StopIteration):
        return []
    return named if all(named) else []


def _by_letter(written: str, texts: Sequence[str], labels: Sequence[str] | None) -> str:
    names, match = _letters(texts, labels), _LETTER.match(written)
    forms = (written, *((match[1].upper(), match[1].lower()) if match else ()))
    return texts[names.index(next(form for form in forms if form in names))]


def _letters(texts: Sequence[str], labels: Sequence[str] | None) -> list[str]:
    """The keys of options: their labels, or A, B and so on."""
    return [str(label) for label in labels] if labels is not None else list("ABCDEFGHIJ"[: len(texts)])


def _by_number(written: str, texts: Sequence[str], first: int) -> str:
    if not written.isdecimal() or int(written) < first:
        raise ValueError(written)
    return texts[int(written) - first]


def _by_text(written: str, texts: Sequence[str]) -> str:
    [place] = text_matches(written, [text.strip() for text in texts])
    return texts[place]


_READERS: Mapping[str, Callable[[str, Sequence[str], Any], str]] = {
    "letter": _by_letter,
    "index": lambda written, texts, _: _by_number(written, texts, 0),
    "index_from_1": lambda written, texts, _: _by_number(written, texts, 1),
    "text": lambda written, texts, _: _by_text(written, texts),
}
