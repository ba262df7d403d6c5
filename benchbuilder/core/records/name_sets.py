"""The format of items whose right answer is a set of names: how their answers are written and read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SET_FORM = "set"
"""The form of open items whose `answer` and `answer_wrong` are sets of names, and no sentences."""
OPEN_SET = "open_set"
"""The tag of such items whose right set is not whole: a name that is not in it may be right too."""
_MEMBERS, _NAMES = "; ", " / "


def set_members(text: str) -> tuple[tuple[str, ...], ...]:
    """The members of the set that `text` lists, each with all of its names, the displayed one first.

    >>> set_members("placenta praevia; hypertension / high blood pressure")
    (('placenta praevia',), ('hypertension', 'high blood pressure'))
    >>> set_members("")
    ()

    Raises:
        ValueError: A member, or one of its names, is empty.
    """
    if not text.strip():
        return ()
    members = tuple(
        tuple(name.strip() for name in f" {member.strip()} ".split(_NAMES)) for member in text.split(_MEMBERS.strip())
    )
    for number, names in enumerate(members, 1):
        if not all(names):
            raise ValueError(f"member {number} of the set {text!r} has an empty name")
    return members


def join_members(members: Iterable[Sequence[str]]) -> str:
    """The text of a set; the names of each member are its synonyms, the displayed one first.

    >>> join_members([["placenta praevia"], ["hypertension", "high blood pressure"]])
    'placenta praevia; hypertension / high blood pressure'

    Raises:
        ValueError: `set_members` would read the text otherwise: a name is empty, or has a separator in it.
    """
    wanted = tuple(map(tuple, members))
    text = _MEMBERS.join(map(_NAMES.join, wanted))
    if set_members(text) != wanted:
        raise ValueError(f"the set {text!r} cannot be read again: a name has {_MEMBERS!r} or {_NAMES!r} in it")
    return text
