from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import Dropped, EndOfFile, Kept, SourceUnit
from benchbuilder.testing import check_kind, check_source

from benchbuilder_cmhe.ce.concept import Concept
from benchbuilder_cmhe.ce.mesh import Mesh, MeshSpec

XML = """<?xml version="1.0"?>
<!DOCTYPE DescriptorRecordSet SYSTEM "https://example.org/nlmdescriptorrecordset.dtd">
<DescriptorRecordSet LanguageCode="eng">
<DescriptorRecord DescriptorClass="1">
  <DescriptorUI>D1</DescriptorUI>
  <DescriptorName><String>Anemia, Aplastic</String></DescriptorName>
  <AllowableQualifiersList><AllowableQualifier><QualifierReferredTo>
    <QualifierName><String>blood</String></QualifierName>
  </QualifierReferredTo></AllowableQualifier></AllowableQualifiersList>
  <TreeNumberList><TreeNumber>C15.378</TreeNumber><TreeNumber>C16.100</TreeNumber></TreeNumberList>
  <ConceptList>
    <Concept PreferredConceptYN="Y"><TermList>
      <Term><String>Anemia, Aplastic</String></Term><Term><String>Aplastic Anaemia</String></Term>
    </TermList></Concept>
    <Concept><TermList><Term><String>Anemia, Hypoplastic</String></Term></TermList></Concept>
  </ConceptList>
</DescriptorRecord>
<DescriptorRecord>
  <DescriptorUI>D2</DescriptorUI><DescriptorName><String>Female</String></DescriptorName>
</DescriptorRecord>
<DescriptorRecord>
  <DescriptorUI>D1</DescriptorUI><DescriptorName><String>Again</String></DescriptorName>
  <TreeNumberList><TreeNumber>C01</TreeNumber></TreeNumberList>
</DescriptorRecord>
<DescriptorRecord>
  <DescriptorUI>D3</DescriptorUI><DescriptorName><String>Gout</String></DescriptorName>
  <TreeNumberList><TreeNumber>C05</TreeNumber></TreeNumberList>
</DescriptorRecord>
</DescriptorRecordSet>
"""
BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>
<DescriptorRecordSet><DescriptorRecord><DescriptorUI>&b;</DescriptorUI></DescriptorRecord></DescriptorRecordSet>
"""
FILES = {
    "terms.tsv": "id\tname\nD1\tAnemia, Aplastic\nD2\tFemale\nD1\tAgain\nD3\tGout\n\tNothing\n",
    "tree.tsv": "id\tplace\nD1\tC15.378\nD1\tC16.100\nD3\tC05\nD9\tC01\nD1\tC16.100\nD3\n",
    "entry.tsv": "id\tname\nD1\tAplastic Anaemia\nD1\tAnemia, Hypoplastic\n",
    "names.tsv": "id\tzh\nD1\t再生障碍性贫血\nD1\t再障\n",
    "desc.xml": XML,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def source(folder: Path, **changes: Any) -> Mesh:
    def table(name: str, value: str = "name") -> dict[str, Any]:
        columns = {"id": "id", ("number" if value == "place" else "name"): value}
        return {"file": str(folder / name), "columns": columns}

    spec = {
        "kind": "mesh", "terms": table("terms.tsv"), "tree_numbers": table("tree.tsv", "place"),
        "entry_terms": table("entry.tsv"), "translations": table("names.tsv", "zh"), "untranslated": "keep",
        "inverted": ", ",
    }  # fmt: skip
    return Mesh(MeshSpec.model_validate(spec | changes), "terms", "zh")


def units_of(mesh: Mesh) -> list[SourceUnit]:
    return [unit for unit in mesh.read() if isinstance(unit, SourceUnit)]


def concepts(units: list[SourceUnit]) -> list[Concept]:
    return [unit.outcome.row.payload for unit in units if isinstance(unit.outcome, Kept)]  # type: ignore[attr-defined]


def drops(units: list[SourceUnit]) -> list[tuple[int, str]]:
    return [(unit.line, unit.outcome.reason) for unit in units if isinstance(unit.outcome, Dropped)]


def test_tables_are_joined_and_every_row_is_accounted_for(folder: Path) -> None:
    check_kind("source", "mesh", Mesh)
    units = check_source(source(folder))
    anemia, gout = concepts(units)
    assert anemia.name == "再生障碍性贫血"
    assert anemia.names == (
        "再生障碍性贫血", "再障", "Anemia, Aplastic", "Aplastic Anaemia", "Anemia, Hypoplastic", "Aplastic Anemia",
        "Hypoplastic Anemia",
    )  # fmt: skip
    assert anemia.tree_numbers == ("C15.378", "C16.100")
    assert gout.names == ("Gout",)
    assert drops(units) == [
        (7, "malformed_auxiliary"), (3, "no_tree_number"), (4, "duplicate"), (6, "missing_field"),
    ]  # fmt: skip
    ends = {Path(end.file).name: end.auxiliary for end in source(folder).read() if isinstance(end, EndOfFile)}
    assert ends["tree.tsv"] == {"malformed": 1, "not_referenced": 1, "repeated": 1, "used": 3}


@pytest.mark.parametrize("zipped", [False, True])
def test_the_descriptor_xml_gives_the_same_concepts_as_the_tables(folder: Path, zipped: bool) -> None:
    path = folder / "desc.xml"
    if zipped:
        path = folder / "desc.gz"
        path.write_bytes(gzip.compress(XML.encode()))
    units = check_source(source(folder, descriptors=str(path)))
    assert concepts(units) == concepts(check_source(source(folder)))
    assert drops(units) == [(2, "no_tree_number"), (3, "duplicate")]


def test_what_is_not_translated_is_dropped_if_the_recipe_says_so(folder: Path) -> None:
    assert (5, "untranslated") in drops(units_of(source(folder, untranslated="drop")))
    kept = units_of(source(folder, untranslated="keep", translations=None))
    assert [concept.name for concept in concepts(kept)] == ["Anemia, Aplastic", "Gout"]


def test_inverted_names_stay_as_they_are_if_the_recipe_says_so(folder: Path) -> None:
    kept = units_of(source(folder, inverted=None, entry_terms=None, translations=None))
    assert concepts(kept)[0].names == ("Anemia, Aplastic",)


@pytest.mark.parametrize(
    ("text", "why"),
    [(BOMB, "Entities"), ("<html/>", "html"), ("no xml", "ParseError"), (XML[:-120], "ParseError"), ("", "ParseError")],
)
def test_other_xml_is_refused_with_the_key_of_the_recipe(folder: Path, text: str, why: str) -> None:
    (folder / "bad.xml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"sources.terms.descriptors") as caught:
        list(source(folder, descriptors=str(folder / "bad.xml")).read())
    assert why in str(caught.value)


def test_missing_files_and_columns_are_named(folder: Path) -> None:
    with pytest.raises(DataError, match=r"tree_numbers"):
        source(folder, tree_numbers=None).check()
    with pytest.raises(DataError, match=r"sources.terms.terms.file"):
        source(folder, terms={"file": str(folder / "no.tsv"), "columns": {"id": "id", "name": "name"}}).check()
    with pytest.raises(DataError, match=r"sources.terms.terms"):
        source(folder, terms={"file": str(folder / "terms.tsv"), "columns": {"id": "id", "name": "term"}}).check()
    (folder / "more.xml").write_text(XML, encoding="utf-8")
    with pytest.raises(DataError, match="one file"):
        source(folder, descriptors=str(folder)).check()


def test_concepts_in_another_language_than_the_questions_are_refused_or_marked(folder: Path) -> None:
    refused = source(folder, translations=None, untranslated="drop")
    for look in (refused.check, lambda: list(refused.read())):
        with pytest.raises(DataError, match="has no translations") as caught:
            look()
        assert "untranslated=keep" in caught.value.next
    rows = [unit.outcome.row for unit in units_of(source(folder)) if isinstance(unit.outcome, Kept)]
    assert {row.payload.code: row.produced_by.rule for row in rows} == {"D1": "mesh", "D3": "mesh/untranslated"}  # type: ignore[attr-defined]
