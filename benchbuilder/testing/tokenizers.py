"""The contract of tokenizers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

from benchbuilder.retrieval import Tokenizer
from benchbuilder.testing.contract import require
from benchbuilder.testing.processes import in_worker_process


def check_tokenizer(make: Callable[[], Tokenizer], texts: Sequence[str]) -> None:
    """Check a tokenizer: its tokens are the text in order, without its white space, and the same in every process.

    The tokens of a tokenizer that `overlaps` are parts of the text.

    Args:
        make: Makes a new tokenizer.
        texts: Example texts.

    Raises:
        ContractError: The tokenizer breaks a promise.
    """
    tokenizer = make()
    who = f"the tokenizer {tokenizer.kind!r}"
    unopened = pickle.loads(pickle.dumps(tokenizer))
    tokenizer.open()
    tokens_of_texts = [tokenizer.tokens(text) for text in texts]
    for text, tokens in zip(texts, tokens_of_texts, strict=True):
        if tokenizer.overlaps:
            require(all(token in text for token in tokens), f"{who} makes {tokens} of {text!r}")
            require(bool(tokens) or not any(map(str.isalnum, text)), f"{who} makes no token of {text!r}")
        else:
            require("".join("".join(tokens).split()) == "".join(text.split()), f"{who} makes {tokens} of {text!r}")
        require(all(tokens), f"{who} makes an empty token of {text!r}")
    require(not tokenizer.tokens(""), f"{who} makes tokens of an empty text")
    require(
        [tokenizer.tokens(text) for text in reversed(texts)] == tokens_of_texts[::-1], f"{who} depends on earlier texts"
    )
    require(
        in_worker_process(_tokenise_all, unopened, list(texts)) == tokens_of_texts,
        f"{who} makes other tokens in another process",
    )
    require(dict(tokenizer.fingerprint()) == dict(unopened.fingerprint()), f"{who} changes its fingerprint when opened")


def _tokenise_all(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[str]]:
    tokenizer.open()
    return [tokenizer.tokens(text) for text in texts]
