from __future__ import annotations

import gc
import sqlite3
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from pg8000.native import Connection
from postgres import postgres_server, postgres_url  # noqa: F401
from pydantic import ValidationError

from benchbuilder.core.errors import DataError
from benchbuilder.core.registry import find_kind
from benchbuilder.sources.formats.sql_rows import check_select, escape_parameters, plain_value

CHOICE = {
    "as": "choice",
    "columns": {"question": "stem", "options": ["a", "b"], "answer_key": "right"},
    "key_as": "index_from_1",
    "query": "SELECT stem, option_a AS a, option_b AS b, correct AS right FROM questions ORDER BY id;",
}
ROWS = [
    (1, "Which planet is red?", "Mars", "Venus", 1),
    (2, "Which planet is red?", "Mars", "Venus", 1),
    (3, None, "Mars", "Venus", 1),
    (4, "Which is nearest to the sun?", "Earth", "Mercury", 2),
    (5, "Which is the largest?", "Jupiter", "Mars", 3),
]


@pytest.fixture
def exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("exam.sqlite")) as database, database:
        database.execute(
            "CREATE TABLE questions (id INTEGER, stem TEXT, option_a TEXT, option_b TEXT, correct INTEGER)"
        )
        database.executemany("INSERT INTO questions VALUES (?, ?, ?, ?, ?)", ROWS)
    return Path("exam.sqlite")


def test_rows_in_the_order_of_the_query(exam, read_source):
    result = read_source("sql", path="exam.sqlite", **CHOICE)
    assert [(row.origin.line, row.payload.answer) for row in result.rows] == [(1, "Mars"), (4, "Mercury")]
    assert result.dropped() == [(2, "duplicate"), (3, "missing_field"), (5, "key_not_in_options")]
    assert result.detail(2) == "kept: exam.sqlite:1"
    assert result.ends["exam.sqlite"].units == 5


def test_triples_and_passages(exam, read_source):
    query = (
        "WITH q AS (SELECT * FROM questions WHERE id IN (1, 4)) SELECT stem, 'is about', option_a FROM q ORDER BY id"
    )
    columns = {"head": 0, "relation": 1, "tail": 2}
    triples = read_source("sql", path="exam.sqlite", query=query, columns=columns, **{"as": "triple"})
    assert [row.payload.tail for row in triples.rows] == ["Mars", "Earth"]
    query = "SELECT option_a || ': a planet.' AS body, option_a AS page FROM questions WHERE id > 3 ORDER BY id"
    columns = {"text": "body", "document": "page"}
    passages = read_source("sql", "kb", path="exam.sqlite", query=query, columns=columns, **{"as": "passage"})
    assert [(row.base, row.document) for row in passages.rows] == [("kb", "Earth"), ("kb", "Jupiter")]


def test_questions_with_several_answers(exam, read_source):
    query = "SELECT stem, option_a AS a, option_b AS b, '1,2' AS right FROM questions WHERE id = 4 ORDER BY id"
    given = {**CHOICE, "as": "several_choice", "query": query}
    (row,) = read_source("sql", path="exam.sqlite", **given).rows
    assert row.payload.answer_keys == ("A", "B")


@pytest.mark.full
def test_the_key_follows_the_result_and_not_the_database(exam, make_source):
    def result() -> bytes:
        (ref,) = make_source("sql", path="exam.sqlite", **CHOICE).files()
        return ref.file.read_bytes() if ref.file.exists() else b""

    source = make_source("sql", path="exam.sqlite", **CHOICE)
    (ref,) = source.files()
    before, held = ref.file.read_bytes(), len(list(source.read()))
    with closing(sqlite3.connect("exam.sqlite")) as database, database:
        database.execute("CREATE TABLE other (x)")
    again = make_source("sql", path="exam.sqlite", **CHOICE)
    assert again.files()[0].file.read_bytes() == before
    with closing(sqlite3.connect("exam.sqlite")) as database, database:
        database.execute("DELETE FROM questions WHERE id = 4")
    late = make_source("sql", path="exam.sqlite", **CHOICE)
    assert late.files()[0].file.read_bytes() != before
    assert len(list(source.read())) == held, "what was planned is what is read"
    folder = ref.file.parent
    assert folder.stat().st_mode & 0o077 == 0
    del source
    gc.collect()
    assert not folder.exists()


def test_bytes_that_are_no_text(exam, read_source):
    with closing(sqlite3.connect("exam.sqlite")) as database, database:
        database.execute("UPDATE questions SET stem = CAST(x'ff41' AS TEXT) WHERE id = 1")
        database.execute("UPDATE questions SET stem = x'4142' WHERE id = 2")
    result = read_source("sql", path="exam.sqlite", **CHOICE)
    assert result.dropped()[:2] == [(1, "undecodable"), (2, "malformed")]


def test_values_that_json_does_not_know():
    assert plain_value(Decimal("1.50")) == "1.50"
    assert plain_value(date(2024, 2, 29)) == "2024-02-29"
    assert plain_value((1, [b"x", None, {"a": Decimal(2)}])) == [1, [{}, None, {"a": "2"}]]


def test_the_database_refuses_to_be_written_to(exam, make_source, monkeypatch):
    """Even if the check of the query is passed by."""
    spec_class = find_kind("source", "sql").load().spec_class
    for query in (
        "DELETE FROM questions",
        "ATTACH 'other.sqlite' AS o",
        "SELECT load_extension('x')",
        "PRAGMA user_version=3",
    ):
        source = make_source("sql", path="exam.sqlite", **CHOICE)
        source.spec = spec_class.model_construct(**{**dict(source.spec), "query": query})
        with pytest.raises(DataError, match=r"sources\.source\.query: the query cannot be run"):
            source.files()
    with closing(sqlite3.connect("exam.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM questions").fetchone() == (5,)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "one SELECT"),
        ("DELETE FROM t", "one SELECT"),
        ("SELECT a FROM t ORDER BY a; DROP TABLE t", "not several"),
        ("WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x ORDER BY a", "without DELETE"),
        ("SELECT a INTO other FROM t ORDER BY a", "without INTO"),
        ("SELECT a FROM t ORDER BY a FOR UPDATE", "without UPDATE"),
        ("SELECT a FROM t", "ORDER BY"),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) AS x", "ORDER BY"),
        ("SELECT a FROM t -- ORDER BY a", "ORDER BY"),
        ("SELECT 'ORDER BY a' FROM t", "ORDER BY"),
        ("SELECT 'a FROM t ORDER BY a", "not closed"),
        ("SELECT a FROM t /*! INTO OUTFILE 'x' */ ORDER BY a", "run by some databases"),
    ],
)
def test_queries_that_are_not_one_select(query, told):
    with pytest.raises(ValueError, match=told):
        check_select(query)


def test_queries_that_are():
    for query in (
        "select a from t order by a",
        "/* delete */ SELECT replace(a, 'drop', ';') AS \"update\" FROM t ORDER BY a -- insert\n ; ",
        "SELECT a FROM t WHERE b = $x$ it's; $x$ UNION SELECT a FROM s ORDER BY 1",
    ):
        assert check_select(query) == query.rstrip(" ;\n")
    assert (
        escape_parameters("SELECT a::int, ' :c', d::text AS \"e\" FROM t")
        == "SELECT a::int, ' \\:c', d::text AS \"e\" FROM t"
    )


def test_colons_and_percent_signs_are_no_parameters(exam, read_source):
    query = "SELECT stem || ' :x %s 10% ' || id, '::a', option_a FROM questions WHERE stem LIKE '%red?' ORDER BY id"
    columns = {"head": 0, "relation": 1, "tail": 2}
    result = read_source("sql", path="exam.sqlite", query=query, columns=columns, **{"as": "triple"})
    assert result.rows[0].payload.head == "Which planet is red? :x %s 10% 1"
    assert result.rows[0].payload.relation == "::a"


def test_what_is_wrong_is_told(exam, make_source, write, monkeypatch):
    monkeypatch.setenv("EXAM_DB", "nonsense://me:geheim@host/x")
    monkeypatch.setenv("BAD_DB", "me:geheim@host")
    for given, told in (
        ({"path": "none.sqlite"}, "none.sqlite is missing"),
        ({}, "no database is named"),
        ({"path": write("broken.sqlite", "no database at all, but some text")}, "cannot be run"),
        ({"path": "exam.sqlite", "query": "SELECT x FROM questions ORDER BY 1"}, "no such column: x"),
        ({"path": "exam.sqlite", "query": "SELECT stem FROM questions ORDER BY 1"}, "found the columns stem"),
        ({"database_env": "NOT_SET_DB"}, "NOT_SET_DB is not set"),
        ({"database_env": "EXAM_DB"}, "without its driver"),
        ({"database_env": "BAD_DB"}, "no URL of a database"),
    ):
        for attempt in ("check", "files"):
            with pytest.raises(DataError, match=told) as raised:
                getattr(make_source("sql", "exam", **{**CHOICE, **given}), attempt)()
            assert "geheim" not in str(raised.value)
            assert raised.value.next
    with pytest.raises(ValidationError, match="name the database once"):
        make_source("sql", path="exam.sqlite", database_env="EXAM_DB", **CHOICE)


def test_a_head_without_any_usable_row(exam, make_source):
    query = "SELECT stem AS stem, '' AS a, '' AS b, 1 AS right FROM questions ORDER BY id"
    with pytest.raises(DataError, match="wrong shape"):
        make_source("sql", path="exam.sqlite", **{**CHOICE, "query": query}).check()


@pytest.mark.push
def test_a_server(postgres_url, read_source, make_source, monkeypatch):  # noqa: F811
    monkeypatch.setenv("EXAM_DB", postgres_url)
    address, database = postgres_url.rsplit("/", 1)
    connection = Connection("postgres", host="127.0.0.1", port=int(address.rsplit(":", 1)[1]), database=database)
    connection.run("CREATE TABLE questions (id int, stem text, option_a text, option_b text, correct int)")
    for row in ROWS:
        values = ", ".join("NULL" if cell is None else f"'{cell}'" for cell in row)
        connection.run(f"INSERT INTO questions VALUES ({values})")
    connection.run("CREATE FUNCTION sneak() RETURNS text AS 'DELETE FROM questions RETURNING stem' LANGUAGE sql")
    result = read_source("sql", "exam", database_env="EXAM_DB", **CHOICE)
    assert [row.payload.answer for row in result.rows] == ["Mars", "Mercury"]
    assert next((file, line, reason) for file, line, reason, _ in result.drops) == ("sql:exam", 2, "duplicate")
    query = "SELECT stem, array[option_a, option_b] AS a, correct::text AS right FROM questions ORDER BY id"
    columns = {"question": "stem", "options": "a", "answer_key": "right"}
    listed = read_source("sql", database_env="EXAM_DB", **{**CHOICE, "query": query, "columns": columns})
    assert [row.payload.options[1].text for row in listed.rows] == ["Venus", "Mercury"]
    for query in ("SELECT sneak() AS stem ORDER BY 1", "SELECT nothing FROM questions ORDER BY 1"):
        with pytest.raises(DataError, match=r"read-only|does not exist"):
            make_source("sql", database_env="EXAM_DB", **{**CHOICE, "query": query}).files()
    assert connection.run("SELECT count(*) FROM questions") == [[5]]
    connection.close()
