"""People, their invitation tokens and their sessions; secrets are stored only as hashes."""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, delete, func, insert, select, update

from benchbuilder.annotation.database.connection import StoreBase
from benchbuilder.annotation.database.models import Person, Role, Visitor
from benchbuilder.annotation.database.sanitise import dump_json, hash_secret, load_json, storable_text
from benchbuilder.annotation.database.schema import people, sessions
from benchbuilder.core import DataError, is_spelling_mark

_CODE_LETTERS: dict[Role, str] = {"annotator": "A", "adjudicator": "J", "lead": "L"}
_LONGEST_NAME = 80
SESSION_IDLE_LIMIT = timedelta(hours=12)
SESSION_AGE_LIMIT = timedelta(days=7)
_NOTED_EVERY = timedelta(minutes=1)
_VISITOR = (
    select(people, sessions.c.started_at, sessions.c.seen_at.label("here"), sessions.c.language.label("chosen"))
    .join(sessions, sessions.c.person_id == people.c.id)
    .where(sessions.c.hash == bindparam("session"), people.c.revoked.is_(False))
)


def person_from_row(row: RowMapping | Any) -> Person:
    """The person of a row of `people`."""
    return Person(
        row["id"], row["name"], row["role"], row["code"], row["invited_at"], row["expires_at"], row["revoked"],
        row["seen_at"], tuple(load_json(row["projects"])),
    )  # fmt: skip


def list_people(connection: Connection) -> list[Person]:
    """All people, revoked ones too, by role and in the order of their invitations."""
    rows = connection.execute(select(people).order_by(people.c.id)).mappings()
    order = list(_CODE_LETTERS)
    return sorted(map(person_from_row, rows), key=lambda person: order.index(person.role))


def find_person(connection: Connection, name: str) -> Person:
    """The person called `name`; DataError if there is none."""
    row = connection.execute(select(people).where(people.c.name == normalise_name(name))).mappings().first()
    if row is None:
        names = ", ".join(person.name for person in list_people(connection)) or "nobody"
        raise DataError(f"there is no person called {name!r}", next=f"invited so far: {names}")
    return person_from_row(row)


def works_on_project(connection: Connection, person: Person, project: str) -> bool:
    """Whether `person` works on `project`, by the current state of the database."""
    named = connection.execute(select(people.c.projects).where(people.c.id == person.id)).scalar()
    return named is not None and is_project_member(named, project)


def is_project_member(projects_json: str, project: str) -> bool:
    """Whether `projects_json` (a JSON list; empty means all) includes `project`."""
    only = load_json(projects_json)
    return not only or project in only


def active_person_ids(connection: Connection, now: datetime) -> set[int]:
    """Ids of people with a valid link or session."""
    fresh = (sessions.c.started_at > now - SESSION_AGE_LIMIT) & (sessions.c.seen_at > now - SESSION_IDLE_LIMIT)
    here = select(sessions.c.person_id).where(fresh)
    query = select(people.c.id).where(people.c.revoked.is_(False))
    return set(connection.scalars(query.where((people.c.expires_at > now) | people.c.id.in_(here))))


def set_projects(connection: Connection, name: str, projects: Sequence[str]) -> Person:
    """Let a person work only on `projects` (all, if empty)."""
    person = find_person(connection, name)
    connection.execute(update(people).where(people.c.id == person.id).values(projects=_projects_json(projects)))
    return find_person(connection, name)


def _has_invisible_characters(name: str) -> bool:
    """Whether `name` contains a control or format character that is not part of its spelling."""
    return any(
        unicodedata.category(sign)[0] == "C" and not is_spelling_mark(name, position)
        for position, sign in enumerate(name)
    )


def _projects_json(projects: Sequence[str]) -> str:
    return dump_json(sorted({storable_text(project) for project in projects}))


def add_person(
    connection: Connection, name: str, role: Role, days: int, now: datetime, projects: Sequence[str] = ()
) -> tuple[Person, str]:
    """Add a person and make their token; DataError if the name is taken or not allowed."""
    normal_name = normalise_name(name)
    if not normal_name or len(normal_name) > _LONGEST_NAME or _has_invisible_characters(normal_name):
        raise DataError(f"nobody can be called {name!r}", next=f"a name has 1 to {_LONGEST_NAME} signs in one line")
    if role not in _CODE_LETTERS:
        raise DataError(f"there is no role {role!r}", next=f"roles: {', '.join(_CODE_LETTERS)}")
    taken = {person.name.casefold() for person in list_people(connection)}
    if normal_name.casefold() in taken:
        raise DataError(
            f"somebody is called {normal_name!r} already",
            next="choose another name; `people link` makes a new link for an existing person; a person has one role",
        )
    same_role = select(func.count()).select_from(people).where(people.c.role == role)
    code = f"{_CODE_LETTERS[role]}{connection.execute(same_role).scalar_one() + 1}"
    token = secrets.token_urlsafe(32)
    values = {"name": normal_name, "role": role, "code": code, "token_hash": hash_secret(token), "invited_at": now}
    values |= {"expires_at": now + timedelta(days=days), "revoked": False, "language": ""}
    values["projects"] = _projects_json(projects)
    connection.execute(insert(people).values(values))
    return find_person(connection, normal_name), token


def renew_token(connection: Connection, name: str, days: int, now: datetime) -> tuple[Person, str]:
    """Make a new token for the person called `name`; the former token and all sessions end."""
    person, token = find_person(connection, name), secrets.token_urlsafe(32)
    values = {"token_hash": hash_secret(token), "expires_at": now + timedelta(days=days), "revoked": False}
    connection.execute(update(people).where(people.c.id == person.id).values(values))
    connection.execute(delete(sessions).where(sessions.c.person_id == person.id))
    return find_person(connection, name), token


def revoke_person(connection: Connection, name: str) -> Person:
    """End the token and all sessions of the person called `name`."""
    person = find_person(connection, name)
    connection.execute(update(people).where(people.c.id == person.id).values(token_hash=None, revoked=True))
    connection.execute(delete(sessions).where(sessions.c.person_id == person.id))
    return find_person(connection, name)


def _find_token_row(connection: Connection, token: str, now: datetime) -> RowMapping | None:
    """The row of the person with a valid `token`, if any."""
    query = select(people).where(people.c.token_hash == hash_secret(token), people.c.revoked.is_(False))
    row = connection.execute(query).mappings().first()
    return None if row is None or now >= row["expires_at"] else row


class SessionStore(StoreBase):
    """The people, who sign in with the token of their invitation, and their sessions."""

    def people(self) -> list[Person]:
        """Everybody who was ever invited, by role."""
        with self._transactions.reading() as connection:
            return list_people(connection)

    def admits(self, token: str) -> bool:
        """Whether `token` is valid."""
        with self._transactions.reading() as connection:
            return _find_token_row(connection, token, self._clock()) is not None

    def begin_session(self, token: str) -> tuple[str, Visitor] | None:
        """Begin a session for the person with `token`; ``None`` if it is unknown, expired or revoked."""
        if not self.admits(token):
            return None
        now, session = self._clock(), secrets.token_urlsafe(32)
        with self._transactions.writing() as connection:
            row = _find_token_row(connection, token, now)
            if row is None:
                return None
            gone = (sessions.c.started_at < now - SESSION_AGE_LIMIT) | (sessions.c.seen_at < now - SESSION_IDLE_LIMIT)
            connection.execute(delete(sessions).where(sessions.c.person_id == row["id"], gone))
            values = {"hash": hash_secret(session), "person_id": row["id"], "language": row["language"]}
            connection.execute(insert(sessions).values(**values, started_at=now, seen_at=now))
            connection.execute(update(people).where(people.c.id == row["id"]).values(seen_at=now))
            visitor = _find_visitor(connection, session, now)
            return None if visitor is None else (session, visitor[0])

    def find_visitor(self, session: str) -> Visitor | None:
        """The visitor of a `session`; ``None`` if it is unknown, idle for 12 hours, 7 days old, or revoked."""
        now = self._clock()
        with self._transactions.reading() as connection:
            visitor, due = _find_visitor(connection, session, now) or (None, False)
        if visitor is not None and due:
            with self._transactions.writing() as connection:
                connection.execute(update(sessions).where(sessions.c.hash == hash_secret(session)).values(seen_at=now))
                connection.execute(update(people).where(people.c.id == visitor.person.id).values(seen_at=now))
        return visitor

    def end_session(self, session: str) -> None:
        """End a session."""
        with self._transactions.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.hash == hash_secret(session)))

    def choose_language(self, session: str, language: str) -> None:
        """Set the language of the interface, for this session and later ones of the person."""
        language, own = storable_text(language)[:35], sessions.c.hash == hash_secret(session)
        with self._transactions.writing() as connection:
            person = connection.execute(select(sessions.c.person_id).where(own)).scalar_one_or_none()
            if person is not None:
                connection.execute(update(sessions).where(own).values(language=language))
                connection.execute(update(people).where(people.c.id == person).values(language=language))


def _find_visitor(connection: Connection, session: str, now: datetime) -> tuple[Visitor, bool] | None:
    """The visitor of `session`, and whether it is time to record the visit; ``None`` if the session is not valid."""
    row = connection.execute(_VISITOR, {"session": hash_secret(session)}).mappings().first()
    if row is None:
        return None
    last = row["started_at"] + SESSION_AGE_LIMIT
    if now >= min(row["here"] + SESSION_IDLE_LIMIT, last):
        return None
    due = now - row["here"] >= _NOTED_EVERY
    expires = min((now if due else row["here"]) + SESSION_IDLE_LIMIT, last)
    csrf = hashlib.sha256(f"form:{session}".encode("utf-8", "replace")).hexdigest()
    return Visitor(person_from_row(row), csrf, row["chosen"], expires), due


def normalise_name(name: str) -> str:
    """`name` in Unicode normal form, without white space at its ends."""
    return unicodedata.normalize("NFC", storable_text(name)).strip()
