"""How facts name the passages that show them: by a key or a text, with or without the knowledge base to look in."""

from __future__ import annotations

import re

_BASE = re.compile(r"(?P<base>[a-z_][a-z0-9_]*)::(?P<name>.*)", re.DOTALL)


def name_gold(name: str, base: str) -> str:
    """The name of a passage in a knowledge base; in any of them if `base` is empty.

    >>> name_gold("page-1", "pages"), name_gold("page-1", "")
    ('pages::page-1', 'page-1')
    """
    return f"{base}::{name}" if base else name


def split_gold(name: str) -> tuple[str, str]:
    """The knowledge base that a name says (or an empty text), and the key or the text of the passage.

    >>> split_gold("pages::page-1"), split_gold("A text: two parts.")
    (('pages', 'page-1'), ('', 'A text: two parts.'))
    """
    match = _BASE.fullmatch(name)
    return (match["base"], match["name"]) if match else ("", name)
