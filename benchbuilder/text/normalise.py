"""One form for what looks the same: white space, widths, composed characters."""

from __future__ import annotations

import unicodedata

_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def tidy_space(text: str) -> str:
    """`text` with every run of white space (ideographic, no-break and line breaks too) as one space, none at the ends.

    >>> tidy_space(" a\\u3000\\u3000b ")
    'a b'
    """
    return " ".join(text.split())


def narrow(text: str) -> str:
    """`text` with full-width forms of ASCII characters (letters, digits, marks) in half width.

    >>> narrow("Ａ１（")
    'A1('
    """
    return text.translate(_NARROW)


def compose(text: str) -> str:
    """`text` in normal form C: letters with combining marks as one character where there is one.

    >>> len(compose("e\\u0301"))
    1
    """
    return unicodedata.normalize("NFC", text)


def comparable(text: str) -> str:
    """The form in which two answers count as the same: composed, half width, no white space, no case.

    >>> comparable("Ａ b") == comparable("aB")
    True
    """
    return "".join(narrow(compose(text)).split()).casefold()
