"""The contract of tokenizers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

from benchbuilder.retrieval.tokenizers.base import Tokenizer
from benchbuilder.testing.contract import require
from benchbuilder.testing.processes import in_worker_process


def check_tokenizer(make: Callable[[], Tokenizer], texts: Sequence[str]) -> None:
    """Tokens are the text, cut: in order, nothing added, nothing but white space left out, the same everywhere.

    Those of a tokenizer that overlaps are parts of the text, in the order in which they begin.
    """
    tokenizer = make()
    who = f"the tokenizer {tokenizer.kind!r}"
    unopened = pickle.loads(pickle.dumps(tokenizer))
    tokenizer.open()
    found = [tokenizer.tokens(text) for text in texts]
    for text, tokens in zip(texts, found, strict=True):
        if tokenizer.overlaps:
            require(all(token in text for token in tokens), f"{who} makes {tokens} of {text!r}")
            require(bool(tokens) or not any(map(str.isalnum, text)), f"{who} makes nothing of {text!r}")
        else:
            require("".join("".join(tokens).split()) == "".join(text.split()), f"{who} makes {tokens} of {text!r}")
        require(all(tokens), f"{who} makes an empty token of {text!r}")
    require(not tokenizer.tokens(""), f"{who} makes tokens of nothing")
    require([tokenizer.tokens(text) for text in reversed(texts)] == found[::-1], f"{who} depends on what came before")
    require(
        in_worker_process(_tokenise_all, unopened, list(texts)) == found, f"{who} makes other tokens in another process"
    )
    require(dict(tokenizer.fingerprint()) == dict(unopened.fingerprint()), f"{who} changes its fingerprint when opened")


def _tokenise_all(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[str]]:
    tokenizer.open()
    return [tokenizer.tokens(text) for text in texts]
