"""Queries that only read: one SELECT with an order."""

from __future__ import annotations

import re

_SKIPPED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]\[]*\]|\$(\w*)\$.*?\$\1\$""", re.DOTALL
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|[();]")
_WRITING = frozenset({
    "alter", "attach", "create", "delete", "drop", "grant", "insert", "into", "merge", "pragma", "truncate", "update",
})  # fmt: skip
_BIND = re.compile(r"(?<![:\w\\]):(?=\w)")


def check_select(query: str) -> str:
    """`query` without the semicolon at its end; ValueError if it is more than one statement, writes, or has no order.

    Texts in quotes and comments do not count. The database is asked to refuse writing as well: this check tells early,
    and is no fence.
    """
    bare = _SKIPPED.sub(lambda found: " " if found[0][:2] in ("--", "/*") else " x ", query)
    if "/*!" in query:
        raise ValueError("a comment that begins with /*! is run by some databases")
    if any(mark in bare for mark in ("'", '"', "/*")):
        raise ValueError("a quotation mark or a comment is not closed")
    tokens = [token.lower() for token in _TOKEN.findall(bare)]
    while tokens and tokens[-1] == ";":
        tokens.pop()
    if tokens[:1] not in (["select"], ["with"]):
        raise ValueError("one SELECT (or WITH ... SELECT) is wanted")
    if ";" in tokens:
        raise ValueError("one SELECT is wanted, not several statements")
    if found := sorted(_WRITING.intersection(tokens)):
        raise ValueError(f"a query only reads: without {', '.join(found).upper()}")
    if ("order", "by") not in _outermost_pairs(tokens):
        raise ValueError("the outermost SELECT needs an ORDER BY: without one, rows have no numbers to go by")
    return re.sub(r"(\s*;)+\s*$", "", query.rstrip())


def _outermost_pairs(tokens: list[str]) -> set[tuple[str, str]]:
    """Neighbours outside of all brackets."""
    depth, last, pairs = 0, "", set[tuple[str, str]]()
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0:
            pairs.add((last, token))
            last = token
    return pairs


def escape_parameters(query: str) -> str:
    """`query` for SQLAlchemy's ``text``, where a colon in it names no parameter.

    >>> escape_parameters("SELECT a::int, ' :c' FROM t")
    "SELECT a::int, ' \\\\:c' FROM t"
    """
    return _BIND.sub(r"\\:", query)
