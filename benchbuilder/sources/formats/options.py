"""Options and answer keys of multiple-choice questions, in the forms of various files."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from benchbuilder.core import Dropped, Option, find_all, parse_json, unique_object
from benchbuilder.sources.formats.tables import cell_text

KeyAs = Literal["letter", "index", "index_from_1", "text", "flags"]
TextNormaliser = Callable[[str], str]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def parse_options(value: Any, mark: str, normalise: TextNormaliser, labels: Any = None) -> tuple[Option, ...] | Dropped:
    """Options from a mapping key -> text, a list (keyed A, B, ...), or one text in which `mark` matches the keys.

    `labels`, if given, is the list of the keys of a list. Lists side by side, ``{text: [...], label: [...]}``, and a
    list of pairs, ``[{text: ..., label: ...}]``, have both. A mapping or list may also be JSON or a list of Python in
    one cell. Options without text are there, with an empty text: an index counts the options as the file has them.
    """
    value, labels = parse_cell(value), parse_cell(labels)
    if isinstance(value, str):
        return _split_options(value, mark, normalise) if mark else Dropped("malformed", _NO_MARK)
    if labels is None:
        value, labels = _with_labels(value)
    if isinstance(value, Mapping):
        pairs = [(str(key), option) for key, option in cast("Mapping[Any, Any]", value).items()]
    elif not isinstance(value, Sequence) or isinstance(value, bytes):
        return Dropped("malformed", f"options are {type(value).__name__}")
    elif labels is None and len(value) > len(LETTERS):
        return Dropped("malformed", f"{len(value)} options")
    elif labels is not None and (not isinstance(labels, list) or len(cast("list[Any]", labels)) != len(value)):
        return Dropped("malformed", f"{len(value)} options, but their labels are {str(labels)[:40]!r}")
    else:
        pairs = list(zip(LETTERS if labels is None else cast("list[Any]", labels), value, strict=False))
    return make_options(pairs, mark, normalise)


_NO_MARK = "options are one text and have no mark"
LABEL_FIELDS = frozenset({"label", "labels", "key", "keys", "letter", "id"})
"""What the field with the labels of options is called, beside one other field, that of the texts."""


def option_lists(value: Any) -> dict[str, list[Any]]:
    """The fields of options as lists: those of lists side by side, or of a list of mappings; none of other values.

    >>> option_lists([{"text": "a", "label": "1"}, {"text": "b", "label": "2"}]), option_lists({"A": "a"})
    ({'text': ['a', 'b'], 'label': ['1', '2']}, {})
    """
    if isinstance(value, dict):
        return {name: part for name, part in cast("dict[str, Any]", value).items() if isinstance(part, list)}
    records: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    if not records or not all(isinstance(record, dict) for record in records):
        return {}
    return {name: [record.get(name) for record in records] for name in records[0]}


def _with_labels(value: Any) -> tuple[Any, Any]:
    """The texts and the labels of options that have labels of their own; else `value` itself, and ``None``."""
    lists = option_lists(value)
    [*labels], [*texts] = LABEL_FIELDS & lists.keys(), lists.keys() - LABEL_FIELDS
    return (lists[texts[0]], lists[labels[0]]) if len(labels) == len(texts) == 1 else (value, None)


def labelled_lists(value: Any, texts: str) -> list[str]:
    """The fields beside `texts` that hold the keys of options: short texts, all different, one for each option.

    >>> labelled_lists({"text": ["a", "b"], "label": ["1", "2"], "flag": [0, 1]}, "text")
    ['label']
    """
    lists = option_lists(value)
    count = len(lists.pop(texts, ()))
    return [
        name
        for name, part in lists.items()
        if len(part) == count > 1 and all(isinstance(label, str) and len(label) <= _LONGEST_LABEL for label in part)
        if len(set(part)) == count
    ]


_LONGEST_LABEL = 3


def parse_cell(value: Any) -> Any:
    r"""A cell that holds a list or mapping as JSON, or a list as Python prints it, as such; any other cell as it is.

    >>> parse_cell("['no', \"don't know\"]"), parse_cell("[a]")
    (['no', "don't know"], '[a]')
    """
    text = value.strip() if isinstance(value, str) else ""
    if text[:1] not in ("{", "[") or not text:
        return value
    try:
        return parse_json(text, object_pairs_hook=unique_object)
    except ValueError:
        pass
    try:
        parsed: Any = ast.literal_eval(text) if text.startswith("[") and len(text) <= _LONGEST_LIST else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # a text in brackets
        return value
    return cast("Any", parsed) if isinstance(parsed, list) else value


_LONGEST_LIST = 1 << 16
"""The parser of Python takes much memory for a long text."""


def make_options(
    pairs: Sequence[tuple[str, Any]], mark: str, normalise: TextNormaliser
) -> tuple[Option, ...] | Dropped:
    """Options from pairs of key and text, those without text too.

    A mark at the start of a text is removed and gives the key.
    """
    options: list[Option] = []
    for raw_key, value in pairs:
        key, text = cell_text(raw_key), "" if value is None else cell_text(value)
        if key is None or text is None:
            return Dropped("malformed", f"option {raw_key!r} is no text")
        if mark and (spans := find_all(mark, text)) and spans[0].start == 0:
            key, text = _key_letters(spans[0].slice_of(text)), text[spans[0].end :]
        options.append(Option(key=key.strip(), text=normalise(text)))
    keys = [option.key for option in options if option.text]
    if len(set(keys)) < len(keys):
        return Dropped("malformed", f"two options have one key: {' '.join(keys)}")
    return tuple(options)


def _split_options(text: str, mark: str, tidy: TextNormaliser) -> tuple[Option, ...] | Dropped:
    spans = find_all(mark, text)
    if not spans or text[: spans[0].start].strip():
        return Dropped("malformed", f"no options found in {text[:80]!r}")
    ends = [*(span.start for span in spans[1:]), len(text)]
    pairs = [(_key_letters(span.slice_of(text)), text[span.end : end]) for span, end in zip(spans, ends, strict=True)]
    keys = [key.upper() for key, _ in pairs]
    if keys[0].isascii() and keys != _run_from(keys[0], len(keys)):  # of other scripts the order is not known here
        return Dropped("malformed", f"the marks of the options are {' '.join(keys)}: a gap, or a letter of the text")
    return make_options(pairs, "", tidy)


def _run_from(first: str, count: int) -> list[str]:
    """The marks that run on from the first one: A B C, or 1 2 3."""
    if first in ("1", "0"):
        return [str(number) for number in range(int(first), int(first) + count)]
    return [chr(ord(first) + place) for place in range(count)] if len(first) == 1 else []


def _key_letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text) if c.isalnum())


def find_key(value: Any, key_as: KeyAs, options: tuple[Option, ...], normalise: TextNormaliser) -> str | Dropped:
    """The key of the only right option, from its letter, its index or its text, or from a list with one of these.

    `options` are those of the file, in its order, without text or not; the right one has a text.
    """
    texts = _flagged(value, options) if key_as == "flags" else _key_texts(value)
    if isinstance(texts, Dropped):
        return texts
    if not texts:
        return Dropped("no_answer_key", "")
    if len(texts) > 1:
        return Dropped("multiple_answers", " ".join(texts))
    if key_as == "text":
        return _by_text(normalise(texts[0]), options)
    if key_as in ("letter", "flags"):
        return _by_letter(texts[0], options)
    return _by_index(texts[0], 0 if key_as == "index" else 1, options)


def find_keys(
    value: Any, key_as: KeyAs, options: tuple[Option, ...], normalise: TextNormaliser
) -> tuple[str, ...] | Dropped:
    """The keys of the right options, one or more, in the order of the options.

    They are in a list, or in a text: every letter of ``ABD`` or ``A, B``, every number of ``0,2``.
    """
    texts = _flagged(value, options) if key_as == "flags" else _key_texts(value)
    if isinstance(texts, Dropped):
        return texts
    if not texts:
        return Dropped("no_answer_key", "")
    if key_as == "flags":
        key_as = "letter"
    elif key_as != "text":
        texts = [part for text in texts for part in split_keys(text, key_as, [option.key for option in options])]
    keys: set[str] = set()
    for text in texts:
        key = find_key(text, key_as, options, normalise)
        if isinstance(key, Dropped):
            return key
        keys.add(key)
    return tuple(option.key for option in options if option.text and option.key in keys)


def _key_texts(value: Any) -> list[str]:
    """The texts of a cell that holds one key, or a list of keys."""
    values: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    return [text for text in map(cell_text, values) if text]


def _flagged(value: Any, options: tuple[Option, ...]) -> list[str] | Dropped:
    """The keys of the options whose flag, 1 or true, says that they are right; 0 or false says that they are not."""
    value = parse_cell(value)
    flags: Any = list(cast("dict[Any, Any]", value).values()) if isinstance(value, dict) else value
    if not isinstance(flags, list) or any(flag not in (0, 1) for flag in cast("list[Any]", flags)):
        return Dropped("key_not_in_options", f"{str(value)[:40]} is no list of 0 and 1, one for each option")
    if (count := len(cast("list[Any]", flags))) != len(options):
        return Dropped("key_not_in_options", f"{count} marks for {len(options)} options that have a text")
    return [option.key for option, flag in zip(options, cast("list[Any]", flags), strict=True) if flag]


def split_keys(text: str, key_as: KeyAs, keys: Sequence[str]) -> list[str]:
    """The keys in `text`, or `text` itself if it does not contain several.

    >>> split_keys("A, C", "letter", "abcd"), split_keys("0,2", "index", "AB"), split_keys("Cat", "letter", "ABC")
    (['a', 'c'], ['0', '2'], ['Cat'])
    """
    if key_as != "letter":
        return text.replace(",", " ").split()
    plain = _key_letters(text)
    forms = (plain, plain.upper(), plain.lower())
    letters = next((form for form in forms if form and all(letter in keys for letter in form)), "")
    return [text] if text in keys or not letters else list(letters)


def text_matches(written: str, texts: Sequence[str]) -> list[int]:
    """The places of the texts that read as `written`; without any, of those that differ in case, width and stop alone.

    >>> text_matches("lima.", ["Lima", "Quito"]), text_matches("lima", ["Lima", "LIMA"]), text_matches("a", ["a", "A"])
    ([0], [0, 1], [0])
    """
    exact = [place for place, text in enumerate(texts) if text == written]
    plain = _plain(written)
    return exact or [place for place, text in enumerate(texts) if plain and _plain(text) == plain]


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().strip()
    return plain.removesuffix(".").removesuffix("。").rstrip()


def _by_text(answer: str, options: tuple[Option, ...]) -> str | Dropped:
    keys = [options[place].key for place in text_matches(answer, [option.text for option in options])]
    if len(keys) > 1:
        return Dropped("multiple_answers", f"{answer!r} is the text of the options {' '.join(keys)}")
    return keys[0] if keys else Dropped("key_not_in_options", f"no option reads {answer!r}")


def _by_letter(written: str, options: tuple[Option, ...]) -> str | Dropped:
    keys = [option.key for option in options if option.text]
    if written in keys:
        return written
    plain = _key_letters(written)
    for candidate in (plain, plain.upper(), plain.lower()):
        if candidate in keys:
            return candidate
        if len(candidate) > 1 and all(letter in keys for letter in candidate):
            return Dropped("multiple_answers", written)
        if any(option.key == candidate for option in options):
            return _without_text(candidate)
    return Dropped("key_not_in_options", f"the key {written[:40]} is none of {' '.join(keys)}")


def _without_text(which: str) -> Dropped:
    return Dropped("missing_field", f"the right option, {which}, is empty")


def _by_index(written: str, first: int, options: tuple[Option, ...]) -> str | Dropped:
    if not (written.isascii() and written.isdigit()):
        several = [part for part in written.replace(",", " ").split() if part.isdigit()]
        if len(several) > 1:
            return Dropped("multiple_answers", written)
        return Dropped("key_not_in_options", f"{written[:40]!r} is no index")
    place = int(written) - first
    if not 0 <= place < len(options):
        return Dropped("key_not_in_options", f"index {written} of {len(options)} options")
    return options[place].key if options[place].text else _without_text(options[place].key)
