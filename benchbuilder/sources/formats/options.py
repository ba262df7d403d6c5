"""Options and answer keys of multiple-choice questions, in the forms of various files."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from benchbuilder.core import Dropped, Option, find_all, parse_json, unique_object
from benchbuilder.sources.formats.tables import cell_text

KeyAs = Literal["letter", "index", "index_from_1", "text"]
TextNormaliser = Callable[[str], str]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def parse_options(value: Any, mark: str, normalise: TextNormaliser) -> tuple[Option, ...] | Dropped:
    """Options from a mapping key -> text, a list (keyed A, B, ...), or one text in which `mark` matches the keys.

    A mapping or list may also be JSON in one cell. Options without text are there, with an empty text: an index counts
    the options as the file has them.
    """
    if isinstance(value, str):
        value = _parse_json(value.strip())
    if isinstance(value, str) and not mark:
        return Dropped("malformed", "options are one text and have no mark")
    if isinstance(value, str):
        return _split_options(value, mark, normalise)
    if isinstance(value, Mapping):
        pairs = [(str(key), option) for key, option in value.items()]
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        if len(value) > len(LETTERS):
            return Dropped("malformed", f"{len(value)} options")
        pairs = list(zip(LETTERS, value, strict=False))
    else:
        return Dropped("malformed", f"options are {type(value).__name__}")
    return make_options(pairs, mark, normalise)


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


def _parse_json(text: str) -> Any:
    if text[:1] in ("{", "["):
        try:
            return parse_json(text, object_pairs_hook=unique_object)
        except ValueError:
            return text
    return text


def _split_options(text: str, mark: str, tidy: TextNormaliser) -> tuple[Option, ...] | Dropped:
    spans = find_all(mark, text)
    if not spans or text[: spans[0].start].strip():
        return Dropped("malformed", f"no options found in {text[:80]!r}")
    ends = [*(span.start for span in spans[1:]), len(text)]
    pairs = [(_key_letters(span.slice_of(text)), text[span.end : end]) for span, end in zip(spans, ends, strict=True)]
    return make_options(pairs, "", tidy)


def _key_letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text) if c.isalnum())


def find_key(value: Any, key_as: KeyAs, options: tuple[Option, ...], normalise: TextNormaliser) -> str | Dropped:
    """The key of the only right option, from its letter, its index or its text, or from a list with one of these.

    `options` are those of the file, in its order, without text or not; the right one has a text.
    """
    texts = _key_texts(value)
    if not texts:
        return Dropped("no_answer_key", "")
    if len(texts) > 1:
        return Dropped("multiple_answers", " ".join(texts))
    if key_as == "text":
        return _by_text(normalise(texts[0]), options)
    if key_as == "letter":
        return _by_letter(texts[0], options)
    return _by_index(texts[0], 0 if key_as == "index" else 1, options)


def find_keys(
    value: Any, key_as: KeyAs, options: tuple[Option, ...], normalise: TextNormaliser
) -> tuple[str, ...] | Dropped:
    """The keys of the right options, one or more, in the order of the options.

    They are in a list, or in a text: every letter of ``ABD`` or ``A, B``, every number of ``0,2``.
    """
    texts = _key_texts(value)
    if not texts:
        return Dropped("no_answer_key", "")
    if key_as != "text":
        texts = [part for text in texts for part in _split_keys(text, key_as, [option.key for option in options])]
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


def _split_keys(text: str, key_as: KeyAs, keys: list[str]) -> list[str]:
    """The keys in `text`, or `text` itself if it does not contain several."""
    if key_as != "letter":
        return text.replace(",", " ").split()
    plain = _key_letters(text)
    letters = next((form for form in (plain, plain.upper()) if form and all(letter in keys for letter in form)), "")
    return [text] if text in keys or not letters else list(letters)


def _by_text(answer: str, options: tuple[Option, ...]) -> str | Dropped:
    keys = [option.key for option in options if option.text == answer]
    if len(keys) > 1:
        return Dropped("multiple_answers", f"{answer!r} is the text of the options {' '.join(keys)}")
    return keys[0] if keys else Dropped("key_not_in_options", f"no option reads {answer!r}")


def _by_letter(written: str, options: tuple[Option, ...]) -> str | Dropped:
    keys = [option.key for option in options if option.text]
    if written in keys:
        return written
    plain = _key_letters(written)
    for candidate in (plain, plain.upper()):
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
