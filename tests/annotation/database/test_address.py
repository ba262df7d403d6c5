from __future__ import annotations

import ssl
import stat
import traceback
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from vote_world import World

from benchbuilder.annotation.database import connection as engine
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.core.database_url import connection_encryption, parse_database_url
from benchbuilder.core.errors import DataError


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://nutzer:ge@heim:geheim@127.0.0.1/db",
        "postgresql://nutzer:ge@heim@127.0.0.1:1/db",
        "postgresql://nutzer@127.0.0.1:1/db?password=geheim",
        "postgresql://nutzer:geheim@127.0.0.1:99999/db",
        "postgresql://nutzer:geheim@127.0.0.1:port/db",
        "postgresql://nutzer:geheim@127.0.0.1:1/db?sslmode=geheim",
        "postgresql://nutzer:geheim@127.0.0.1:1/db?sslmode=verify-ca&sslrootcert=/geheim.pem",
        "postgresql://nutzer:geheim@127.0.0.1:1/db?sslmode=require",
        "sqlite:///votes.db?geheim=1",
        "geheim",
    ],
)
def test_nothing_secret_is_repeated(url: str):
    with pytest.raises(DataError) as caught:
        AnnotationStore.open(url)
    for sign in ("geheim", "heim@", "nutzer"):
        assert sign not in str(caught.value)
    if caught.value.__cause__ is None:
        assert "geheim" not in "".join(traceback.format_exception(caught.value)).replace(url, "")
    assert caught.value.next


def test_an_at_sign_in_a_password_must_be_encoded():
    with pytest.raises(DataError) as caught:
        parse_database_url("postgresql://li:a@b@host/db")
    assert "%40" in caught.value.next
    assert parse_database_url("postgresql://li:a%40b@host/db").password == "a@b"


def test_what_sslmode_asks_for():
    assert connection_encryption({}) is connection_encryption({"sslmode": "disable"}) is None
    found = {mode: connection_encryption({"sslmode": mode}) for mode in ("require", "verify-ca", "verify-full")}
    told = {mode: (context.verify_mode, context.check_hostname) for mode, context in found.items()}
    assert told == {
        "require": (ssl.CERT_NONE, False), "verify-ca": (ssl.CERT_REQUIRED, False),
        "verify-full": (ssl.CERT_REQUIRED, True),
    }  # fmt: skip


def test_a_server_that_does_not_encrypt(postgres_url: str):
    with pytest.raises(DataError) as caught:
        AnnotationStore.open(f"{postgres_url}?sslmode=require")
    assert "does not encrypt" in caught.value.why
    AnnotationStore.open(f"{postgres_url}?sslmode=disable").close()


def test_only_its_owner_reads_the_file(tmp_path: Path):
    AnnotationStore.open(f"sqlite:///{tmp_path / 'votes.db'}").close()
    assert stat.S_IMODE((tmp_path / "votes.db").stat().st_mode) == 0o600


def test_a_locked_database_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "_TIMEOUT_SECONDS", 0)
    world = World(f"sqlite:///{tmp_path / 'votes.db'}")
    other = AnnotationStore.open(world.url)
    with other._transactions.writing(), pytest.raises(DataError, match="cannot be used") as caught:
        world.invite("专家1")
    other.close()
    assert "writing to it for too long" in caught.value.why
    assert world.store.people() == []
    world.invite("专家1")
    world.store.close()


def test_a_lost_connection_is_reported_and_the_next_one_works(postgres_url: str):
    with AnnotationStore.open(postgres_url) as store:
        with pytest.raises(DataError, match="cannot be used") as caught:
            lose_the_connection(store)
        assert caught.value.next
        assert store.people() == []


def lose_the_connection(store: AnnotationStore) -> None:
    with store._transactions.writing() as connection:
        me = connection.execute(text("SELECT pg_backend_pid()")).scalar()
        with store._transactions.reading() as second:
            second.execute(text("SELECT pg_terminate_backend(:me)"), {"me": me})
        connection.execute(text("SELECT 1"))


def test_what_people_typed_is_in_no_error(world: World):
    with pytest.raises((DBAPIError, DataError)) as caught, world.store._transactions.reading() as connection:
        connection.execute(text("SELECT :secret FROM nowhere"), {"secret": "geheim"})
    assert "geheim" not in "".join(traceback.format_exception(caught.value)).replace('"secret": "geheim"', "")
