"""The table of users: maps users of another tool to people, as a CSV file that the project owner may edit."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.annotation.database.models import Role
from benchbuilder.annotation.formats.models import Rater
from benchbuilder.annotation.sheets.sheets import csv_bytes, escape_formula, unescape_formula
from benchbuilder.core import show_invisible

_COLUMNS = ("id", "email", "code", "person", "role")
_ROLES: dict[str, Role] = {"annotator": "annotator", "adjudicator": "adjudicator", "lead": "lead"}
_UUID_NAMESPACE = uuid.UUID("1e1c2b6a-6a55-5f0e-9d3e-0d6d2b1b7c11")
_MAX_NUMBER = 2**31 - 1


@dataclass(frozen=True)
class ToolUser:
    """A rater with their id and perhaps their e-mail address in another tool."""

    id: str
    email: str
    rater: Rater


class UserTable:
    """Users by id, address and code."""

    def __init__(self, users: Sequence[ToolUser]) -> None:
        self.users = list(users)
        self._by_name = {name.lower(): user for user in users for name in (user.id, user.email) if name}
        self._by_code = {user.rater.code: user for user in users if user.rater.code}
        self._by_person = {user.rater.person: user for user in users}

    def find(self, raw: object) -> ToolUser | None:
        """Find the user by `raw`: an id, an address, or an object with ``id`` or ``email``."""
        if isinstance(raw, dict):
            fields: dict[str, Any] = raw
            return self.find(fields.get("id")) or self.find(fields.get("email"))
        if isinstance(raw, bool) or not isinstance(raw, str | int):
            return None
        return self._by_name.get(str(raw).strip().lower())

    def id_of(self, rater: Rater) -> str | None:
        """The id of `rater`; ``None`` if they are not in the table."""
        user = self._by_code.get(rater.code) or self._by_person.get(rater.person)
        return user.id if user else None


def number_id(rater: Rater) -> str:
    """A deterministic number for a code, in Label Studio's range (A1 is 361); ValueError if there is none."""
    number = int(rater.code, 36) if rater.code.isascii() and rater.code.isalnum() else _MAX_NUMBER + 1
    if number > _MAX_NUMBER:
        raise ValueError(f"the code {rater.code!r} cannot be converted to a number")
    return str(number)


def uuid_id(rater: Rater) -> str:
    """A deterministic UUID for a code."""
    return str(uuid.uuid5(_UUID_NAMESPACE, rater.code))


def make_user_table(people: Sequence[Rater], make_id: Callable[[Rater], str]) -> UserTable:
    """A table of `people` with ids made from their codes."""
    return UserTable([ToolUser(make_id(rater), "", rater) for rater in people])


def complete_user_table(users: UserTable | None, people: Sequence[Rater], make_id: Callable[[Rater], str]) -> UserTable:
    """The table `users`, with made ids for `people` who are missing in it."""
    known = users or UserTable([])
    missing = [rater for rater in people if known.id_of(rater) is None]
    return UserTable(known.users + make_user_table(missing, make_id).users)


def write_user_table(users: UserTable) -> bytes:
    """The table as CSV."""
    rows = [(user.id, user.email, user.rater.code, user.rater.person, user.rater.role) for user in users.users]
    return csv_bytes([_COLUMNS, *([escape_formula(show_invisible(cell)) for cell in row] for row in rows)])


def read_user_table(name: str, data: bytes) -> tuple[UserTable, list[str]]:
    """Read the table in `data`; return it with all problems and their locations. Columns may have any order."""
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        return UserTable([]), [f"{name}: it is not CSV in UTF-8"]
    header = [cell.strip().lower() for cell in lines[0]] if lines else []
    if missing := [column for column in _COLUMNS if column not in header and column not in ("email", "code")]:
        return UserTable([]), [f"{name}:1: the columns are missing: {', '.join(missing)}"]
    users: list[ToolUser] = []
    problems: list[str] = []
    taken: dict[str, int] = {}
    for number, line in enumerate(lines[1:], start=2):
        cells = {column: unescape_formula(cell.strip()) for column, cell in zip(header, line, strict=False)}
        if not any(cells.values()):
            continue
        role = _ROLES.get(cells.get("role", "").lower())
        ids = [cells[key].lower() for key in ("id", "email") if cells.get(key)]
        if role is None:
            problems.append(f"{name}:{number}: role is {cells.get('role', '')!r}; allowed are {', '.join(_ROLES)}")
        elif not ids or not cells.get("person"):
            problems.append(f"{name}:{number}: id (or email) and person must be filled")
        elif repeated := [id_ for id_ in ids if id_ in taken]:
            problems.append(f"{name}:{number}: {repeated[0]} is already in row {taken[repeated[0]]}")
        else:
            taken |= dict.fromkeys(ids, number)
            rater = Rater(cells["person"], cells.get("code", ""), role)
            users.append(ToolUser(cells.get("id", ""), cells.get("email", ""), rater))
    return UserTable(users), problems
