"""A table with a row for each entity and a column for each property is a graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchbuilder.authoring.starter.data_file import read_data_files
from benchbuilder.authoring.starter.entity_table import triples_of_entities
from benchbuilder.core import RecipeError

COUNTRIES = """No,Country,Capital,Currency,Official languages,Website
1,Norway,Oslo,krone,Norwegian; Sami,https://norway.no
2,Sweden,Stockholm,krona,Swedish,https://sweden.se
3,Finland,Helsinki,euro,Finnish; Swedish,https://finland.fi
4,Estonia,Tallinn,euro,Estonian,https://estonia.ee
5,Latvia,Riga,euro,,https://latvia.lv
"""


def test_each_property_of_each_entity_is_a_triple(tmp_path: Path):
    path = tmp_path / "countries.csv"
    path.write_text(COUNTRIES, "utf-8")
    file = read_data_files([str(path)], None)[0]
    assert (file.kind, file.suffix, dict(file.layout.columns)) == (
        "triples", ".jsonl", {"head": "head", "relation": "relation", "tail": "tail"}
    )  # fmt: skip
    assert b'{"head": "Norway", "relation": "Official languages", "tail": "Sami"}\n' in file.data
    assert file.notes == ["16 triples of 5 rows, each about one Country, written as JSON Lines; not used: No, Website"]
    assert file.roles == [("head", "Country")], "what --columns says to get the same"


def test_whoever_names_the_column_of_the_names_is_heard(tmp_path: Path):
    path = tmp_path / "countries.csv"
    path.write_text(COUNTRIES, "utf-8")
    assert (
        b'{"head": "Riga", "relation": "Country", "tail": "Latvia"}\n'
        in read_data_files([str(path)], "head=Capital")[0].data
    )
    with pytest.raises(RecipeError, match="Currency does not name entities"):
        read_data_files([str(path)], "head=Currency")
    with pytest.raises(RecipeError, match="there is no column Town"):
        read_data_files([str(path)], "head=Town")


def test_the_names_of_a_query_lose_what_the_query_added():
    rows = [
        {"item": f"http://www.wikidata.org/entity/Q{n}", "itemLabel": f"City {name}", "countryLabel": name}
        for n, name in enumerate(["Norway", "Sweden", "Chad", "Mali"])
    ]
    found = triples_of_entities(rows)  # pyright: ignore[reportArgumentType]
    assert found is not None
    assert found[0][0] == {"head": "City Norway", "relation": "country", "tail": "Norway"}


@pytest.mark.parametrize(
    "rows",
    [
        [{"question": f"What is number {n}?", "note": "x"} for n in range(9)],  # asks something
        [{"year": "2020", "city": "Oslo", "rain": str(n)} for n in range(9)],  # many rows about one thing
        [{"city": f"City {n}"} for n in range(9)],  # says nothing of it
        [{"text": "A long text about something or other, that goes on." * 2, "n": str(n)} for n in range(9)],
        [{"city": f"City {n}", "country": "Chad"} for n in range(3)],  # too few to tell
    ],
)
def test_other_tables_are_left_alone(rows: list[dict[str | int, str]]):
    assert triples_of_entities(rows) is None


def test_an_object_whose_keys_name_its_parts_is_such_a_table(tmp_path: Path):
    path = tmp_path / "countries.json"
    names = ["Norway", "Sweden", "Chad", "Mali"]
    path.write_text(json.dumps({name: {"capital": f"{name} City", "area": n} for n, name in enumerate(names)}), "utf-8")
    file = read_data_files([str(path)], None)[0]
    assert file.data.splitlines()[0] == b'{"head": "Norway", "relation": "capital", "tail": "Norway City"}'
    path.write_text(json.dumps({"results": {"a": 1}, "status": "ok"}), "utf-8")
    with pytest.raises(RecipeError):
        read_data_files([str(path)], None)
