"""What a recipe says of words in general: their forms, and which keep their capital."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchbuilder.config.spec.base import FileRef, Spec
from benchbuilder.core import Casing, Regex, WordForms, load_words


class CasingSpec(Spec):
    """Texts that are put inside a sentence begin with a small letter, those that begin one with a capital."""

    names: FileRef | None = None
    """First words that keep their capital wherever they stand, one a line."""
    keep: tuple[Regex, ...] = ()
    """Patterns of texts that keep it, from their beginning."""


def open_casing(spec: CasingSpec | None) -> Casing | None:
    """The casing that `spec` asks for; ``None`` if it asks for none. DataError if the list cannot be read."""
    if spec is None:
        return None
    return Casing(load_words(spec.names.file) if spec.names is not None else (), spec.keep)


def open_word_forms(files: Sequence[FileRef], parts: Mapping[str, str] | None = None) -> WordForms:
    """The word forms in `files`, beside `parts` of patterns; DataError if one cannot be read."""
    return WordForms.read([ref.file for ref in files], parts)
