from __future__ import annotations

from pathlib import Path

import pytest
from benchbuilder.core.errors import DataError

from benchbuilder_cmhe.dd.hierarchy import CodePlace, Hierarchy, HierarchyNode, category_of, is_manifestation
from benchbuilder_cmhe.dd.hierarchy_files import read_hierarchy

NODES = [
    HierarchyNode("I", "chapter", "infections"),
    HierarchyNode("A00-A09", "block", "gut", "I"),
    HierarchyNode("A01", "category", "", "A00-A09"),
    HierarchyNode("A80-A89", "block", "", "I"),
    HierarchyNode("A92-A99", "block", "", "I"),
    HierarchyNode("II", "chapter"),
    HierarchyNode("C00-C97", "block", "", "II"),
    HierarchyNode("C00-C75", "block", "", "C00-C97"),
    HierarchyNode("C15-C26", "block", "", "C00-C75"),
    HierarchyNode("C16", "category", "stomach", "C15-C26"),
    HierarchyNode("VI", "chapter"),
    HierarchyNode("G00-G09", "block", "", "VI"),
    HierarchyNode("G01", "category", "", "G00-G09"),
    HierarchyNode("X", "chapter", "breathing"),
    HierarchyNode("J30-J39", "block", "upper", "X"),
    HierarchyNode("J40-J47", "block", "lower", "X"),
    HierarchyNode("J30", "category", "", "J30-J39"),
    HierarchyNode("J31", "category", "", "J30-J39"),
    HierarchyNode("J40", "category", "", "J40-J47"),
    HierarchyNode("J30.1", "subcategory", "", "J30"),
]

CLAML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE ClaML SYSTEM "ClaML.dtd">
<ClaML version="2.0.0"><Title name="ICD-10">x</Title>
<Class code="X" kind="chapter"><SubClass code="J30-J39"/>
  <Rubric kind="preferred"><Label xml:lang="en">Breathing</Label></Rubric></Class>
<Class code="J30-J39" kind="block"><SuperClass code="X"/><SubClass code="J30"/>
  <Rubric kind="inclusion"><Label>no</Label></Rubric>
  <Rubric kind="preferred"><Label>Upper <Term>part</Term></Label></Rubric>
</Class>
<Class code="J30" kind="category"><SuperClass code="J30-J39"/><SubClass code="J30.1"/>
  <Rubric kind="preferred"><Label>Allergic rhinitis</Label></Rubric></Class>
<Class code="J30.1" kind="category"><SuperClass code="J30"/>
  <Rubric kind="preferred"><Label>Pollen</Label></Rubric></Class>
<Modifier code="S01"/>
</ClaML>
"""
NESTED = """<icd><item type="chapter"><name>II</name><description>Neoplasms</description>
<item type="block"><name>C00-C97</name><description>Malignant</description>
<item type="block"><name>C15-C26</name><description>Digestive</description>
<item type="category"><name>C16</name><description>Stomach</description>
<item type="subcategory"><name>C16.9</name><description>Unspecified</description></item></item></item></item>
</item></icd>
"""


@pytest.fixture
def hierarchy() -> Hierarchy:
    return Hierarchy.from_nodes(NODES)


def equal_at(hierarchy: Hierarchy, one: str, other: str) -> list[int]:
    places = hierarchy.place(one), hierarchy.place(other)
    return [level for level in range(3) if places[0].code_at(level) == places[1].code_at(level)]  # type: ignore[union-attr]


def test_allergic_and_chronic_rhinitis_and_bronchitis(hierarchy: Hierarchy) -> None:
    assert equal_at(hierarchy, "J30.1", "J31.000") == [0, 1]
    assert equal_at(hierarchy, "J30.1", "J40.x00") == [0]
    assert equal_at(hierarchy, "J30.1", "J30.400x001") == [0, 1, 2]
    assert equal_at(hierarchy, "J30.1", "C16.9") == []


def test_a_pair_counts_by_what_stands_before_the_plus(hierarchy: Hierarchy) -> None:
    assert hierarchy.place("A01.002+G01*") == CodePlace("I", "A00-A09", "A01")
    assert hierarchy.place("G01*") == CodePlace("VI", "G00-G09", "G01")
    assert is_manifestation("G01*")
    assert not is_manifestation("A01.002+G01*")


@pytest.mark.parametrize(
    ("code", "category"),
    [
        ("Ｊ３０．１", "J30"),
        ("C25.400M81500/3", "C25"),
        ("C7A.1", "C7A"),
        ("M8000/0", ""),  # a code of morphology
        ("", ""),
        ("x", ""),
        ("30", ""),
    ],
)
def test_the_category_of_codes_as_they_are_written(code: str, category: str) -> None:
    assert category_of(code) == category


def test_the_innermost_block_holds_the_category(hierarchy: Hierarchy) -> None:
    assert hierarchy.place("C16.9") == CodePlace("II", "C15-C26", "C16")
    assert hierarchy.place("C18") == CodePlace("II", "C15-C26", "C18")  # not listed: by range, and the smallest
    assert hierarchy.place("C40") == CodePlace("II", "C00-C75", "C40")
    assert hierarchy.place("C80") == CodePlace("II", "C00-C97", "C80")


def test_a_category_in_no_block_is_a_block_of_its_own(hierarchy: Hierarchy) -> None:
    assert hierarchy.place("A90.x00") == CodePlace("I", "A90", "A90")
    assert hierarchy.place("Z99") is None
    moved = Hierarchy(hierarchy.nodes, {"A90": "A97"})
    assert moved.place("A90.x00") == CodePlace("I", "A92-A99", "A97")
    assert (hierarchy.span("X"), hierarchy.span("II"), hierarchy.span("?")) == ("J30-J47", "C00-C97", "")


@pytest.mark.parametrize("nodes", [[NODES[0], NODES[0]], [HierarchyNode("A00", "category", "", "nowhere")]])
def test_a_hierarchy_without_sense_is_refused(nodes: list[HierarchyNode]) -> None:
    with pytest.raises(ValueError, match=r"twice|not there"):
        Hierarchy.from_nodes(nodes)


def test_claml_with_its_doctype(tmp_path: Path) -> None:
    file = tmp_path / "icd.xml"
    file.write_text(CLAML, encoding="utf-8")
    found = read_hierarchy(file)
    assert found.place("J30.1") == CodePlace("X", "J30-J39", "J30")
    assert found.title("J30-J39") == "Upper part"
    assert found.nodes["J30.1"].level == "subcategory"


def test_nested_items(tmp_path: Path) -> None:
    file = tmp_path / "icd.xml"
    file.write_text("\ufeff" + NESTED, encoding="utf-8")
    found = read_hierarchy(file)
    assert found.place("C16.901") == CodePlace("II", "C15-C26", "C16")
    assert [node.title for node in found.nodes.values()] == [
        "Neoplasms", "Malignant", "Digestive", "Stomach", "Unspecified",
    ]  # fmt: skip


BOMB = (
    '<!DOCTYPE icd [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><icd><item type="chapter"><name>&b;</name></item></icd>'
)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.xml", "<icd><item>", "no XML"),
        ("b.xml", BOMB, "no XML that can be read safely"),
        ("c.xml", "<icd/>", "no chapters"),
        ("d.tsv", "level\tcode\nchapter\tX\n", "no column 'title'"),
        ("e.tsv", "level\tcode\ttitle\tparent\nvolume\tX\t\t\n", "a level that is none of"),
        ("f.tsv", "level\tcode\ttitle\tparent\nchapter\tX\t\t\ncategory\tJ30\t\tY\n", "not there"),
    ],
)
def test_files_of_another_shape_are_refused(tmp_path: Path, name: str, text: str, why: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_hierarchy(file)
    assert why in caught.value.why
    with pytest.raises(DataError, match="missing"):
        read_hierarchy(tmp_path / "none.xml")
