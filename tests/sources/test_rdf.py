from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import EndOfFile, Kept, SourceUnit

TURTLE = """
@prefix ex: <http://example.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

ex:folate a ex:Vitamin ; rdfs:label "folate"@en ; skos:prefLabel "叶酸"@zh-Hans ; skos:altLabel "维生素B9"@zh ;
    skos:definition "叶酸是一种水溶性维生素。"@zh , "Folate is a vitamin."@en ;
    ex:prevents ex:ntd , ex:unnamed , [ rdfs:label "巨幼细胞性贫血"@zh ] ; ex:dose "0.4 毫克"@zh , "0.4 mg"@en .
ex:b9 skos:prefLabel "叶酸"@zh ; ex:prevents ex:ntd , ex:folate .
ex:ntd skos:prefLabel "神经管缺陷"@zh ; a ex:Disease .
ex:Vitamin skos:prefLabel "维生素"@zh .
ex:prevents rdfs:label "预防"@zh , "prevents"@en .
ex:alone skos:prefLabel "无关"@zh .
"""
TRIPLES = {
    "as": "triple",
    "prefixes": {"ex": "http://example.org/"},
    "labels": ["skos:prefLabel", "rdfs:label", "skos:altLabel"],
    "languages": ["zh", ""],
    "types": ["rdf:type"],
    "relations": {"prevents": {"predicate": "ex:prevents"}, "dose": {"predicate": "ex:dose", "name": "剂量"}},
}
PASSAGES = {name: TRIPLES[name] for name in ("prefixes", "labels", "languages")} | {
    "as": "passage", "texts": ["skos:definition"],
}  # fmt: skip


def read_all(source):
    """The rows, drops and file ends of a source, with its row accounting checked."""
    units, counted, ends = [], Counter(), {}
    for one in source.read():
        if isinstance(one, EndOfFile):
            ends[one.file] = one
            assert one.units == (counted[one.file] if one.auxiliary is None else sum(one.auxiliary.values()))
            continue
        assert isinstance(one, SourceUnit)
        counted[one.file] += 1
        units.append(one)
        if isinstance(one.outcome, Kept):
            row = one.outcome.row
            assert type(row) is source.output
            assert (row.origin.file, row.origin.line, row.partition) == (one.file, one.line, source.name)
            assert (row.produced_by.rule, row.language) == ("rdf", "zh")
        else:
            assert one.outcome.reason in source.reasons
    kept = [unit.outcome.row for unit in units if isinstance(unit.outcome, Kept)]
    drops = [(unit.outcome.reason, unit.outcome.detail) for unit in units if not isinstance(unit.outcome, Kept)]
    assert len({row.id for row in kept}) == len(kept)
    assert {ref.path for ref in source.files()} <= set(ends)
    return kept, drops, ends


def test_turtle_as_triples(write, make_source):
    rows, drops, ends = read_all(make_source("rdf", "kg", path=write("kg.ttl", TURTLE), **TRIPLES))
    told = [(row.payload.head, row.payload.relation, row.payload.tail) for row in rows]
    assert told == [
        ("叶酸", "预防", "神经管缺陷"), ("叶酸", "预防", "巨幼细胞性贫血"), ("叶酸", "剂量", "0.4 毫克"),
    ]  # fmt: skip
    first = rows[0].payload
    assert (first.head_terms, first.tail_terms) == (("叶酸", "维生素B9"), ("神经管缺陷",))
    assert (first.head_type, first.tail_type) == ("维生素", "")
    assert drops == [
        ("no_term", "tail http://example.org/unnamed"), ("other_language", "en"),
        ("duplicate", f"kept: kg.ttl:{rows[0].origin.line}"), ("head_equals_tail", "叶酸"),
    ]  # fmt: skip
    assert ends["kg.ttl"].units == 7
    assert ends["kg.ttl (names)"].auxiliary == {
        "names": 7, "not_referenced": 1, "other_language": 2, "other_predicate": 2, "types": 2,
    }  # fmt: skip


def test_rdf_xml_is_read_as_turtle_is(write, make_source):
    from pyoxigraph import RdfFormat, parse, serialize

    same = serialize((one.triple for one in parse(TURTLE, RdfFormat.TURTLE)), format=RdfFormat.RDF_XML)
    rows, drops, _ = read_all(make_source("rdf", "kg", path=write("kg.owl", same), **TRIPLES))
    other, other_drops, _ = read_all(make_source("rdf", "kg", path=write("kg.ttl", TURTLE), **TRIPLES))
    assert {(one.payload.head, one.payload.relation, one.payload.tail) for one in rows} == {
        (one.payload.head, one.payload.relation, one.payload.tail) for one in other
    }
    assert sorted(reason for reason, _ in drops) == sorted(reason for reason, _ in other_drops)
    with pytest.raises(DataError, match="a file in RDF/XML"):
        list(make_source("rdf", "kg", path=write("bad.rdf", same[:-20]), **TRIPLES).read())


def test_turtle_as_passages(write, make_source):
    rows, drops, _ = read_all(make_source("rdf", "kb", path=write("kg.ttl", TURTLE), **PASSAGES))
    assert [(row.base, row.document, row.title, row.text) for row in rows] == [
        ("kb", "http://example.org/folate", "叶酸", "叶酸是一种水溶性维生素。")
    ]
    assert drops == [("other_language", "en")]


LABEL = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
LINES = f"""# relations
<http://example.org/a> <http://example.org/prevents> <http://example.org/b> .
<http://example.org/a> <http://example.org/prevents> .

_:x <http://example.org/prevents> <http://example.org/b> . # a comment
<http://example.org/a> <http://example.org/prevents> <http://example.org/b> .
<http://example.org/c_d> <http://example.org/prevents> "叶酸\\u0042" .
junk
<http://example.org/a> {LABEL} "甲"@zh .
<http://example.org/b> {LABEL} "乙"@zh .
_:x {LABEL} "丙"@ZH-CN .
<http://example.org/prevents> {LABEL} "预防"@zh .
<http://example.org/a> <http://example.org/other> "x" .
"""


def test_lines_of_n_triples_have_their_own_numbers(write, make_source):
    source = make_source("rdf", "kg", path=write("kg.nt", LINES), **TRIPLES)
    rows, drops, ends = read_all(source)
    assert [(row.origin.line, row.payload.head, row.payload.tail) for row in rows] == [(2, "甲", "乙"), (5, "丙", "乙")]
    assert [reason for reason, _ in drops] == ["malformed", "duplicate", "no_term", "malformed"]
    assert ends["kg.nt"].units == 6
    assert ends["kg.nt (names)"].auxiliary == {"names": 4, "other_predicate": 1}
    assert read_all(source)[0] == rows, "read again"
    rows, _, _ = read_all(make_source("rdf", path="kg.nt", names_from_iri=True, **TRIPLES))
    assert (rows[-1].payload.head, rows[-1].payload.tail) == ("c d", "叶酸B")


def test_names_in_another_file_and_bytes_that_are_no_utf_8(write, make_source):
    relations, names = LINES.split("junk\n")
    write("kg/relations.nt", relations.encode() + b'<http://example.org/a> <http://example.org/prevents> "\xff" .\n')
    write("kg/names.nt", names)
    rows, drops, ends = read_all(make_source("rdf", path="kg", **TRIPLES))
    assert len(rows) == 1, "a blank node of another file is another one"
    assert drops[-1][0] == "undecodable"
    assert list(ends) == ["kg/names.nt", "kg/relations.nt", "kg/names.nt (names)", "kg/relations.nt (names)"]


def test_a_relation_without_a_name(write, make_source):
    text = LINES.replace('"预防"@zh', '"prevents"@en')
    _, drops, _ = read_all(make_source("rdf", path=write("kg.nt", text), **TRIPLES))
    assert ("unnamed_relation", "http://example.org/prevents") in drops


def test_shapes_that_are_wrong(write, make_source):
    for path, told in (
        (write("kg.ttl", "@prefix ex: <http://example.org/> . ex:a ex:b ."), "a file in Turtle"),
        (write("kg.nt", "a,b,c\n" * 5), "none of the first 5 units"),
        (write("kg.xml", "<x/>"), "the suffix '.xml'"),
        ("none.nt", "missing"),
    ):
        with pytest.raises(DataError, match=told) as raised:
            make_source("rdf", "kg", path=path, **TRIPLES).check()
        assert "sources.kg" in str(raised.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"relations": {}}, "needs relations"),
        ({"texts": ["skos:note"]}, "cannot be given"),
        ({"labels": ["foo:label"]}, "prefixes does not define"),
        ({"labels": ["label"]}, "with its prefix, or in full"),
        ({"labels": []}, "at least 1"),
        ({"relations": {"a": {"predicate": "ex:p"}, "b": {"predicate": "ex:p"}}}, "one relation per predicate"),
        ({"as": "choice"}, "triple"),
    ],
)
def test_what_a_recipe_cannot_say(given, told, make_source):
    with pytest.raises(ValidationError, match=told):
        make_source("rdf", path="kg.nt", **{**TRIPLES, **given})


@pytest.mark.parametrize(
    ("name", "text"),
    [("kg.nt", "{0} <http://example.org/prevents> _:y .\n_:y <http://example.org/prevents> {0} .\n".format("_:x")),
     ("kg.ttl", "[] <http://example.org/prevents> [] .\n[] <http://example.org/prevents> [] .\n")],
)  # fmt: skip
def test_blank_nodes_are_called_the_same_each_time(write, make_source, name, text):
    path = write(name, text)
    spec = {**TRIPLES, "relations": {"p": {"predicate": "ex:prevents", "name": "p"}}}
    told = [read_all(make_source("rdf", "kg", path=path, **spec))[1] for _ in range(2)]
    assert told[0] == told[1]
    names = {one for _, detail in told[0] for one in detail.replace(",", "").split() if one.startswith("_:")}
    assert len(names) == (2 if name == "kg.nt" else 4)
    assert all(name in one for one in names)


def test_what_cannot_be_encoded_is_dropped(write, make_source):
    lines = [
        "<http://example.org/a\\uD800> <http://example.org/prevents> <http://example.org/b> .",
        '<http://example.org/a> <http://example.org/prevents> "x\\uD800y" .',
        '<http://example.org/a> <http://www.w3.org/2004/02/skos/core#prefLabel> "x\\uD800y" .',
        "<http://example.org/a> <http://example.org/prevents> <http://example.org/b> .",
    ]
    spec = {**TRIPLES, "names_from_iri": True, "relations": {"p": {"predicate": "ex:prevents", "name": "p"}}}
    rows, drops, ends = read_all(make_source("rdf", "kg", path=write("kg.nt", "\n".join(lines)), **spec))
    assert [row.payload.head for row in rows] == ["a"]
    assert [reason for reason, _ in drops] == ["malformed", "malformed"]
    assert ends["kg.nt (names)"].auxiliary == {}


def test_deeply_nested_turtle_is_read(write, make_source):
    deep = f"@prefix ex: <http://example.org/> . ex:a ex:prevents {'[ ex:prevents ' * 3000} ex:b {']' * 3000} ."
    _, _, ends = read_all(make_source("rdf", "kg", path=write("kg.ttl", deep), **TRIPLES))
    assert ends["kg.ttl"].units == 3001


def test_a_syntax_error_in_turtle_names_file_and_line(write, make_source):
    with pytest.raises(DataError, match="line 3 ") as raised:
        list(make_source("rdf", "kg", path=write("kg.ttl", TURTLE.strip().replace("rdfs:", "::", 1)), **TRIPLES).read())
    assert "kg.ttl" in str(raised.value)


def test_a_byte_order_mark_is_left_out(write, make_source):
    path = write("kg.ttl", b"\xef\xbb\xbf" + TURTLE.encode())
    rows, _, _ = read_all(make_source("rdf", "kg", path=path, **TRIPLES))
    assert len(rows) == 3
