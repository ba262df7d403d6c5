"""The bundled recipes of sources read the native files of each data set; `as` chooses the rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from benchbuilder.config.load import load_recipe
from benchbuilder.core.registry import find_kind
from benchbuilder.pipeline.cache_key import spec_key_inputs
from benchbuilder.pipeline.wiring import expand_wiring

# --- bundled sources -------------------------------------------------------------------------------------------------

FOLDER = Path(__file__).parents[2] / "recipes" / "source"


def bundled(name: str, path: str) -> dict:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith(f"# @package sources.{name}\n")
    spec = yaml.safe_load(text)
    assert spec["path"] == f"${{paths.{name}}}"
    assert spec["licence"]
    del spec["language"]
    return {**spec, "path": path}


def test_medqa(write, read_source):
    question = {
        "options": {"A": "一", "B": "二", "C": "三", "D": "四"},
        "answer": "二",
        "meta_info": "儿科",
        "answer_idx": "B",
    }
    for split, stem in (("train", "甲是（　　）。"), ("dev", "乙是(    )。"), ("test", "丙是")):
        write(f"medqa/{split}.jsonl", json.dumps({"question": stem, **question}) + "\n")
    result = read_source(name="medqa", **bundled("medqa", "medqa"))
    assert [row.payload.question for row in result.rows] == ["乙是(    )。", "甲是（　　）。"]
    assert result.drops == [("medqa/test.jsonl", 1, "no_blank", "")]


def test_mlecqa(write, read_source):
    item = {
        "qid": "1",
        "qtype": "A1",
        "options": {"A": "一", "B": "二", "C": "三", "D": "四", "E": "五"},
        "answer": "B",
    }
    for category in ("Clinic", "PublicHealth", "Stomatology", "CWM", "TCM"):
        records = [{**item, "qtext": f"{category}\u3000题是"}, {**item, "qtext": "如图所示，病变是"}]
        write(f"mlec/{category}_train.json", json.dumps(records, ensure_ascii=False))
    result = read_source(name="mlecqa", **bundled("mlecqa", "mlec"))
    assert [row.payload.question for row in result.rows] == ["Clinic 题是", "PublicHealth 题是", "Stomatology 题是"]
    assert {reason for _, _, reason, _ in result.drops} == {"needs_image"}
    excluded = {name for name, end in result.ends.items() if end.auxiliary == {"excluded": 1}}
    assert excluded == {"mlec/CWM_train.json", "mlec/TCM_train.json"}


@pytest.mark.parametrize(
    ("text", "needs"), [("图中箭头所指是", True), ("见下图", True), ("X线示图像模糊", False), ("试图缓解", False)]
)
def test_mlecqa_images(text, needs, write, read_source):
    options = {"A": "一", "B": "二", "C": "三", "D": "四", "E": "五"}
    for category in ("Clinic", "PublicHealth", "Stomatology"):
        write(f"mlec/{category}_dev.json", json.dumps([{"qtext": text + category, "options": options, "answer": "A"}]))
    result = read_source(name="mlecqa", **bundled("mlecqa", "mlec"))
    assert (len(result.drops) == 3) is needs


def test_cpubmed(write, read_source):
    path = write("cpubmed.txt", 'a\tb\tc\n子痫前期@@疾病\t临床表现\t"蛋白尿"@@症状\n子痫前期\t临床表现\t水肿@@症状\n')
    result = read_source(name="cpubmed", **bundled("cpubmed", path))
    assert result.rows[0].payload.tail == '"蛋白尿"'
    assert result.dropped() == [(3, "malformed")]


def test_bios(write, read_source):
    write("bios/concept_terms.txt", 'C1|S1|子痫前期|CHS\nC2|S2|"早产"|CHS\nC2|S3|preterm birth|ENG\n')
    write("bios/relations.txt", "1|C1|C2|R1\n")
    write("bios/relation_names.txt", "R1|CHS|可导致\n")
    write("bios/semantic_types.txt", "C1|T1\nC2|T1\n")
    write("bios/semantic_network.txt", "T1|CHS|疾病或综合征\n")
    (row,) = read_source(name="bios", **bundled("bios", "bios")).rows
    assert row.payload.flat_cells() == {
        "head": "子痫前期", "relation": "可导致", "tail": '"早产"',
        "head_type": "疾病或综合征", "tail_type": "疾病或综合征",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["textbook", "encyclopaedia"])
def test_knowledge_bases(name, write, read_source):
    path = write("kb.jsonl", '{"document": "d1", "title": "胎盘", "text": "一段。\\n二段。"}\n')
    (row,) = read_source(name=name, **bundled(name, path)).rows
    assert (row.base, row.document, row.title, row.text) == (name, "d1", "胎盘", "一段。\n二段。")


def test_mmlu(tmp_path, monkeypatch, read_source):
    import datasets

    monkeypatch.chdir(tmp_path)
    datasets.disable_progress_bars()
    features = datasets.Features({
        "question": datasets.Value("string"), "subject": datasets.Value("string"),
        "choices": [datasets.Value("string")], "answer": datasets.ClassLabel(names=["A", "B", "C", "D"]),
    })  # fmt: skip
    record = {"question": "Which is red?", "subject": "astronomy", "choices": ["a", "b", "c", "d"], "answer": 3}
    made = datasets.Dataset.from_list([record], features=features)
    readme = "---\nconfigs:\n"
    for name in ("all", "astronomy"):
        splits = "".join(
            f"\n  - {{split: {split}, path: {name}/{split}-*}}"
            for split in ("test", "validation", "dev", "auxiliary_train")
        )
        readme += f"- config_name: {name}\n  data_files:{splits}\n"
        for split in ("test", "validation", "dev", "auxiliary_train"):
            made.to_parquet(f"mmlu/{name}/{split}-00000-of-00001.parquet")
    Path("mmlu/README.md").write_text(f"{readme}---\n")
    result = read_source(name="mmlu", **bundled("mmlu", "mmlu"))
    assert {(row.payload.answer, row.payload.category) for row in result.rows} == {("d", "astronomy")}
    assert {row.payload.split for row in result.rows} == {"test", "validation", "dev"}
    assert result.ends["mmlu/all/auxiliary_train-00000-of-00001.parquet"].auxiliary == {"excluded": 1}
    assert len(result.ends) == 4


def test_skos(write, make_source):
    text = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<urn:x:1> a skos:Concept ; skos:prefLabel "肺炎"@zh ; skos:altLabel "肺部感染"@zh ; skos:broader <urn:x:2> .
<urn:x:2> a skos:Concept ; skos:prefLabel "呼吸系统疾病"@zh , "lung diseases"@en .
"""
    spec = {**bundled("skos", write("skos.ttl", text)), "languages": ["zh"]}
    (unit, *_) = make_source(name="skos", **spec).read()
    triple = unit.outcome.row.payload
    assert (triple.head, triple.relation, triple.tail) == ("肺炎", "broader", "呼吸系统疾病")
    assert triple.head_terms == ("肺炎", "肺部感染")


# --- record rows -----------------------------------------------------------------------------------------------------

QUERY = "SELECT a, b, c FROM t ORDER BY a"


@pytest.mark.full
def test_steps_are_wired_by_what_the_records_become(tmp_path):
    def said(name: str, made: str, columns: str) -> str:
        return f"sources.{name}={{kind: sql, as: {made}, database_env: SOME_DB, query: '{QUERY}', columns: {columns}}}"

    words = [
        said("edges", "triple", "{head: a, relation: b, tail: c}"),
        said("exam", "choice", "{question: a, options: b, answer_key: c}"),
        said("pages", "passage", "{text: a}"),
    ]
    recipe = load_recipe(["recipe=care_mi", *words], cwd=tmp_path, environ={}).recipe
    wired = [name for ports in expand_wiring(recipe).values() for names in ports.values() for name in names]
    assert {"edges", "exam", "pages"} <= set(wired)
    reads = {step for step, ports in expand_wiring(recipe).items() if "edges" in ports.get("each", ())}
    assert reads == {step for step, ports in expand_wiring(recipe).items() if "cpubmed" in ports.get("each", ())}


def test_the_key_says_what_the_records_become_and_not_where_the_database_is():
    cls = find_kind("source", "sql").load().spec_class
    given = {"kind": "sql", "as": "passage", "query": QUERY, "columns": {"text": "a"}}
    parts = spec_key_inputs(cls.model_validate({**given, "database_env": "ONE_DB"}), lambda _: "")
    assert parts["as"] == json.dumps("passage")
    assert parts == spec_key_inputs(cls.model_validate({**given, "database_env": "OTHER_DB"}), lambda _: "")
