"""Cuts texts into the index terms of word-based retrievers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core import DataError, Fold, compose_characters, create_from_spec, fold_text, load_words
from benchbuilder.retrieval.base import Tokenizer

_FOLDING = 2
"""Version of the folding of an index; since 2, tokens that become empty are left out."""


class IndexTerms:
    """Cuts texts into index terms: composed and folded tokens, without blanks and stop words.

    Picklable; the tokenizer is opened in each process when the first text is cut.
    """

    def __init__(self, kind: str, tokenizer: KindSpec | None, stop_words: FileRef | None, fold: Iterable[Fold]) -> None:
        if tokenizer is None:
            raise DataError(f"{kind} has no tokenizer", where="retriever.tokenizer", next="set tokenizer in the recipe")
        self._fold = tuple(fold)
        self._stop = frozenset(
            fold_text(word, self._fold) for word in (load_words(stop_words.file) if stop_words else ())
        )
        self._tokenizer: Tokenizer = create_from_spec("tokenizer", tokenizer)
        self._opened = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": False}

    def fingerprint(self) -> Mapping[str, str]:
        """Versions that shape the tokens."""
        return self._tokenizer.fingerprint()

    def checksum(self) -> str:
        """A checksum of the settings that shape the tokens."""
        tokenizer = self._tokenizer
        settings: list[Any] = [
            tokenizer.spec.model_dump(mode="json"),
            dict(tokenizer.fingerprint()),
            sorted(self._stop),
        ]
        settings += [sorted(self._fold), _FOLDING] if self._fold else []
        text = json.dumps(settings, ensure_ascii=False, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""
        if not self._opened:
            self._tokenizer.open()
            self._opened = True
        tokens = self._tokenizer.tokens(compose_characters(text))
        if self._fold:
            tokens = [fold_text(token, self._fold) for token in tokens]
        return [token for token in tokens if token.strip() and token not in self._stop]
