"""`new NAME --data FILE`: the kind, the columns and the language of a file are told, and the printed command works."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_new_graph import english

from benchbuilder.authoring.starter.data_file import read_data_files
from benchbuilder.cli.dispatch import main
from benchbuilder.core import RecipeError
from benchbuilder.pipeline import guess_language

ENGLISH = [
    ("Which organ of the body makes bile?", "the liver", "the spleen", "the kidney"),
    ("What is malaria caused by?", "a parasite", "a virus", "a fungus"),
    ("Which vitamin does the skin make in the sun?", "vitamin D", "vitamin C", "vitamin A"),
    ("Who was the discoverer of penicillin?", "Fleming", "Koch", "Jenner"),
]
GERMAN = [
    ("Welches Organ bildet die Galle?", "die Leber", "die Milz", "die Niere"),
    ("Was löst Malaria beim Menschen aus?", "ein Parasit", "ein Virus", "ein Pilz"),
    ("Welches Vitamin bildet die Haut in der Sonne?", "Vitamin D", "Vitamin C", "Vitamin A"),
    ("Wer war der Entdecker des Penicillins?", "Fleming", "Koch", "Jenner"),
]
PORTUGUESE = [
    ("Qual órgão do corpo produz a bile?", "o fígado", "o baço", "o rim"),
    ("O que causa a malária?", "um parasita", "um vírus", "um fungo"),
    ("Qual vitamina a pele produz com a luz do sol?", "vitamina D", "vitamina C", "vitamina A"),
    ("Quem descobriu a penicilina em Londres?", "Fleming", "Koch", "Jenner"),
]
SWAHILI = [
    ("Ni kiungo gani cha mwili hutengeneza nyongo?", "ini", "figo", "pafu"),
    ("Ni nini husababisha malaria kwa watu na kwa wanyama?", "vimelea", "virusi", "kuvu"),
    ("Ni vitamini gani ngozi hutengeneza kwa jua?", "D", "C", "A"),
    ("Ni nani aligundua penisilini katika mwaka wa 1928?", "Fleming", "Koch", "Jenner"),
]
CLAIMS = [
    ("Sunlight lets the skin make vitamin D.", "true", "The skin makes vitamin D when the sun shines on it."),
    ("Sunlight lets the skin make vitamin C.", "false", "Vitamin C comes from food; the skin does not make it."),
    ("Malaria is spread by mosquitoes.", "true", "Malaria is spread by the bites of mosquitoes."),
    ("Antibiotics are a cure for influenza.", "false", "Influenza is caused by a virus, not by bacteria."),
]
GIFT = """$CATEGORY: science

// a comment
::Q1:: [html]Which organ of the body makes bile? {
    =the liver#yes
    ~%-50%the spleen
    ~the \\{left\\} kidney
}

::Q2:: Penicillin was discovered by {~Koch =Fleming ~Jenner} in London.

The sun is a star. {T}

Write about the moon. {}
"""


def exam(rows: list[tuple[str, ...]], separator: str, names: str, key: str = "ABC") -> str:
    """Questions with three options, of which the right one stands at another place each time."""
    lines = [separator.join(names.split())]
    for n, (question, right, *wrong) in enumerate(rows):
        options = [*wrong[: n % 3], right, *wrong[n % 3 :]]
        lines.append(separator.join((question, *options, key[n % 3])))
    return "\n".join(lines) + "\n"


def table(rows: list[tuple[str, ...]], *names: str) -> str:
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def write(here: Path, name: str, text: str, encoding: str = "utf-8") -> str:
    (here / name).write_bytes(text.encode(encoding))
    return name


def next_command(said: str) -> list[str]:
    """The command that `new` prints at its end, without the name of the program."""
    last = said.rstrip().splitlines()[-1]
    assert last.startswith("next: benchbuild ")
    return shlex.split(last)[2:]


def open_places(here: Path) -> int:
    lines = [line for path in here.glob("recipes/**/*") if path.is_file()
             for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]  # fmt: skip
    return sum(line.partition("#")[0].count("???") for line in lines if not line.startswith("#"))


FILES: list[tuple[str, str, str, str, str]] = [
    ("exam.csv", exam(ENGLISH, ",", "question A B C answer"), "utf-8", "multiple_choice", "en"),
    ("fragen.csv", exam(GERMAN, ";", "Frage A B C Lösung"), "cp1252", "multiple_choice", "de"),
    ("perguntas.csv", exam(PORTUGUESE, ",", "Pergunta A B C Resposta"), "utf-8", "multiple_choice", "pt"),
    ("quiz.txt", GIFT, "utf-8", "multiple_choice", "en"),
    ("several.jsonl", "".join(json.dumps({"question": q, "options": o, "answer": k}) + "\n" for (q, *o), k in
                              zip(ENGLISH, (["A"], ["A", "B"], ["B"], ["C"]), strict=True)),
     "utf-8", "several_choice", "en"),
    ("wrong.jsonl", table([row[:3] for row in ENGLISH], "question", "correct", "wrong"),
     "utf-8", "question_answer", "en"),
    ("falsch.jsonl", table([row[:3] for row in GERMAN], "Frage", "richtig", "falsch"),
     "utf-8", "question_answer", "de"),
    ("claims.jsonl", table(CLAIMS, "claim", "label", "evidence"), "utf-8", "claims", "en"),
    ("asked.jsonl", table([(f"Is it so that {text[0].lower()}{text[1:-1]}?", label) for text, label, _ in CLAIMS],
                          "question", "answer").replace('"true"', "true").replace('"false"', "false"),
     "utf-8", "claims", "en"),
    ("drugs.tsv", english(), "utf-8", "triples", "en"),
    ("drugs.nt", "".join(f"<http://x.org/drug_{n}> <http://x.org/drug_class> <http://x.org/class_{n % 4}> .\n"
                         f'<http://x.org/drug_{n}> <http://www.w3.org/2000/01/rdf-schema#label> "drug {n}"@en .\n'
                         for n in range(24)), "utf-8", "rdf", "en"),
    ("studio.json", json.dumps([{"id": n, "data": {"text": text}, "annotations": [{"id": n, "result": [
        {"value": {"choices": [label.title()]}, "type": "choices"}]}]} for n, (text, label, _) in enumerate(CLAIMS)]),
     "utf-8", "claims", "en"),
]  # fmt: skip


@pytest.mark.push
@pytest.mark.parametrize(("name", "text", "encoding", "kind", "language"), FILES, ids=[name for name, *_ in FILES])
def test_a_file_becomes_a_recipe_and_the_printed_command_makes_items(
    name: str, text: str, encoding: str, kind: str, language: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "mine", "--data", write(here, name, text, encoding)]) == 0
    said = capsys.readouterr().out
    recipe: dict[str, Any] = yaml.safe_load((here / "recipes/recipe/mine.yaml").read_text(encoding="utf-8"))
    [source] = [value for source, value in recipe["sources"].items() if source == Path(name).stem]
    assert (source["kind"], recipe["language"]) == (kind, language)
    assert ", as read:" in said
    assert open_places(here) == 0
    assert main(next_command(said)) == 0
    assert (here / "builds/mine/items.jsonl").read_text(encoding="utf-8").count("\n") > 1


@pytest.mark.parametrize(("name", "text", "encoding"), [file[:3] for file in FILES], ids=[name for name, *_ in FILES])
def test_the_columns_as_printed_say_the_same_again(
    name: str, text: str, encoding: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "mine", "--data", write(here, name, text, encoding)]) == 0
    said = capsys.readouterr().out
    [*lines] = [line for line in said.splitlines() if line.startswith("wrong? correct it")]
    assert bool(lines) == (not name.endswith(".nt"))
    if not lines:
        return
    given = shlex.split(lines[0].partition(" with ")[2])
    assert main(["new", "mine", "--data", name, *given]) == 0
    again = capsys.readouterr().out
    assert again.partition("written: ")[0] == said.partition("written: ")[0]


def test_columns_that_would_not_say_the_same_are_not_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question": f"What is {n}?", "best_answer": f"r{n}",
             "correct_answers": [f"r{n}", f"s{n}"], "incorrect_answers": [f"w{n}"]} for n in range(6)]  # fmt: skip
    write(here, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert main(["new", "mine", "--data", "a.jsonl"]) == 0
    assert "wrong? correct it" not in capsys.readouterr().out
    write(here, "b.csv", exam(ENGLISH[:2], ",", "question A B C answer"))
    write(here, "c.csv", exam(ENGLISH[2:], ",", "question A B C answer"))
    assert main(["new", "two", "--data", "b.csv", "--data", "c.csv"]) == 0
    assert "--columns" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "columns", "kind"),
    [
        ("text,label\nTea is old.,true\nTin is soft.,false\n", "text=text,label=label", "claims"),
        ("q,a\nIs tea old?,yes\nIs tin soft?,no\n", "question=q,right=a", "claims"),
        ("q,a\nWhich group gives to all?,O\nWhich vitamin is in carrots?,A\n", "question=q,right=a", "question_answer"),
    ],
)
def test_what_roles_may_mean(text: str, columns: str, kind: str, here: Path) -> None:
    [file] = read_data_files([write(here, "a.csv", text)], columns)
    assert file.kind == kind


@pytest.mark.push
def test_texts_beside_answers_are_their_evidence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "mine", "--data", write(here, "c.jsonl", table(CLAIMS, "claim", "label", "evidence"))]) == 0
    said = capsys.readouterr().out
    assert any(f"evidence: {text}" in said for _, _, text in CLAIMS)
    assert main(next_command(said)) == 0
    items = [json.loads(line) for line in (here / "builds/mine/items.jsonl").read_text(encoding="utf-8").splitlines()]
    shown = {claim: text for claim, _, text in CLAIMS}
    assert all(item["evidence"][0]["text"] == shown[_claim_of(item, shown)] for item in items)


def _claim_of(item: dict[str, Any], shown: dict[str, str]) -> str:
    return next(claim for claim in shown if claim in item["question"])


@pytest.mark.push
def test_several_files_make_one_recipe_and_texts_are_evidence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = write(here, "pages.txt", "The liver makes bile.\n\nA parasite causes malaria.\n\nThe sun is a star.\n")
    files = [write(here, "a.csv", exam(ENGLISH[:2], ",", "question A B C answer")),
             write(here, "b.csv", exam(ENGLISH[2:], ",", "question A B C answer")), pages]  # fmt: skip
    assert main(["new", "mine", *(word for file in files for word in ("--data", file))]) == 0
    assert main(next_command(capsys.readouterr().out)) == 0
    items = [json.loads(line) for line in (here / "builds/mine/items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {item["source"] for item in items} == {"a", "b"}
    assert any("bile" in found["text"] for item in items for found in item["evidence"])


@pytest.mark.push
def test_a_copy_takes_the_file_and_can_be_built(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(here, "exam.csv", exam(ENGLISH, ",", "question A B C answer"))
    assert main(["new", "mine", "--from", "medicine_en", "--data", file]) == 0
    said = capsys.readouterr().out
    assert open_places(here) == 0
    assert next_command(said) == ["build", "recipe=mine"]
    assert main(["check", "recipe=mine"]) == 0


@pytest.mark.push
@pytest.mark.parametrize(
    "text", [exam(SWAHILI, ",", "swali A B C jibu"), english().replace("drug class", "aina").replace("first sold in",
             "nchi").replace("has_side_effect", "madhara").replace("half life", "muda")],
    ids=["questions", "triples"],
)  # fmt: skip
def test_in_a_language_without_sentences_at_most_six_are_left_to_write(
    text: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "mine", "--language", "sw", "--data", write(here, "a.csv", text.replace("\t", ","))]) == 0
    said = capsys.readouterr().out
    assert "left to fill in" in said
    assert 0 < open_places(here) <= 6
    assert next_command(said) == ["check", "recipe=mine"]


ZERO = "text,label\nWater is wet.,1\nIce is hot.,0\nTea is old.,1\nTin is soft.,0\n"
INDEX = "".join(f'{{"q": "What is {n}?", "o": ["x{n}", "y{n}", "z"], "k": {1 + n % 2}}}\n' for n in range(4))
REFUSED = [
    ("zero.csv", ZERO, "label is 0 or 1", "--columns true=1,false=0"),
    ("graded.csv", "claim,rating\n" + "".join(f"Claim {n} is so.,{'abc'[n % 3]}\n" for n in range(9)),
     "a or b or c: which means true", "--columns true=LABEL,false=LABEL"),
    ("index.jsonl", INDEX, "may count from 0 or from 1", "--columns key_as=index"),
    ("ids.tsv", "head\trelation\ttail\nQ1\tP1\tQ2\nQ3\tP1\tQ4\n", "numbers of things", "names of the things"),
    ("words.csv", exam([("Zorb?", "blip", "blap", "blop"), ("Zarb?", "plip", "plap", "plop")], ",", "question A B C k"),
     "frequent words of", "--language en"),
    ("prosa.txt", "Das ist nur ein Text und keine Frage von irgendeiner Art.\n\nUnd das ist der zweite Teil.\n",
     "no rules find claims in de", "beside it"),
    ("odd.csv", "shape,size\nround,9\nflat,8\nround,7\n", "as multiple-choice questions", "name its columns"),
    ("answers.jsonl", table([row[:2] for row in SWAHILI], "question", "answer"), "in Swahili", "--columns wrong=COL"),
    ("marked.csv", "assertion,ok\n" + "".join(f"Claim {n} is a sentence.,{n % 2}\n" for n in range(6)),
     "ok is 0 or 1", "if these are claims, for instance --columns true=1,false=0"),
    ("two.csv", "x,y,is\n" + "".join(f"Claim {n} is a sentence.,So {n} was it said.,{n % 2 == 0}\n" for n in range(6)),
     "the claim: x or y", "if these are claims, for instance --columns claim=x,label=is"),
    ("keys.csv", "q,opt_a,opt_b,key\n" + "".join(f"Who is {n}?,r{n},w{n},{key}\n" for n, key in enumerate("abCCabC")),
     "key has 3 × 'C', and opt_a | opt_b are the options AB", "name its columns"),
    ("graph.csv", "a,b,c,d\n" + "".join(f"thing {n},kind {n % 2},end {n},{n}x{n}\n" for n in range(9)),
     "head, relation and tail among", "if these are triples, --columns head=a,relation=b,tail=c"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "seen", "helps"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_what_cannot_be_told_is_refused_with_what_was_seen(
    name: str, text: str, seen: str, helps: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "mine", "--data", write(here, name, text)]) == 2
    said = capsys.readouterr().err
    assert seen in said
    assert helps in said
    assert not list(here.glob("recipes/**/*.yaml"))


def test_notes_and_exams_are_not_taken_for_triples(here: Path) -> None:
    said = "Lightning may strike the same place twice, as the rods of tall towers show every year"
    texts = "".join(f'"{said}, {n}.",press,2025-01-0{n},{n}\n' for n in range(1, 9))
    keys = "".join(f"w{n},{'ab'[n % 2]},§ {n},{n}\n" for n in range(8))
    for rows in (texts, keys):
        with pytest.raises(RecipeError) as caught:
            read_data_files([write(here, "odd.csv", f"x,y,z,n\n{rows}")], None)
        assert "if these are triples" not in str(caught.value)


SECTIONS = "Exam of 2025;;;;;\n;;;;;\nNo;Aufgabe;Wahl a;Wahl b;key;Grund\nPart A: organs;;;;;\n" + "".join(
    f"{n};{n}. {question};{right} {n};{wrong};{key};Rule {n} of the long book\n"
    for n, ((question, right, wrong, _), key) in enumerate(zip(GERMAN * 3, "aababaabbab ", strict=True), 1)
)  # fmt: skip


def test_headings_inside_a_table_and_a_key_that_is_missing_hide_no_exam(here: Path) -> None:
    [file] = read_data_files([write(here, "exam.csv", SECTIONS)], None)
    assert file.kind == "multiple_choice"
    assert file.layout.columns == {"question": "Aufgabe", "options": ["Wahl a", "Wahl b"], "answer_key": "key"}
    assert "1 row of one cell, which a build drops: “Part A: organs”" in file.notes


def test_a_repeated_header_and_a_column_that_is_half_empty_hide_no_kind(here: Path) -> None:
    rows = exam(ENGLISH, ",", "question A B C answer").splitlines(keepends=True)
    [file] = read_data_files([write(here, "joined.csv", "".join([*rows[:3], rows[0], *rows[3:]]))], None)
    assert file.kind == "multiple_choice"
    triples = english().splitlines()
    from_where = [f"{line}\t{'where_from' if not n else 'a book' if n % 3 else ''}" for n, line in enumerate(triples)]
    [file] = read_data_files([write(here, "kg.tsv", "\n".join(from_where).replace("relation", "attr"))], None)
    assert file.kind == "triples"


def test_a_claim_may_be_short_beside_what_explains_it(here: Path) -> None:
    rows = [
        f"Bats no. {n} fly,{'true' if n % 2 else 'false'},Many people have seen bat {n} in the dark" for n in range(12)
    ]
    [file] = read_data_files([write(here, "myths.csv", "\n".join(["claim,label,explanation", *rows]) + "\n")], None)
    assert dict(file.layout.columns) == {"text": "claim", "label": "label"}
    with pytest.raises(RecipeError, match="the claim: myth or explanation"):
        read_data_files([write(here, "other.csv", "\n".join(["myth,label,explanation", *rows]) + "\n")], None)


def test_an_end_with_gaps_is_not_replaced_by_a_note(here: Path) -> None:
    rows = [f"land {n // 2},{('capital', 'currency')[n % 2]},{f'x{n}' if n % 9 else ''},atlas {n}" for n in range(24)]
    with pytest.raises(RecipeError, match="head, relation and tail among country, prop, is, found in"):
        read_data_files([write(here, "gap.csv", "\n".join(["country,prop,is,found in", *rows]) + "\n")], None)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("item,A,B,C,key,followup", "The capital of {n} is,a{n},b{n},c{n},B,Why is the seat of {n} there?"),
        (
            "prompt,correct_answer,wrong_answer,reflection",
            "Name the capital of {n}.,a{n},b{n},Did you know that of {n}?",
        ),
    ],
)
def test_a_question_behind_the_answers_may_be_another_one(header: str, row: str, here: Path) -> None:
    text = "\n".join([header, *(row.format(n=n) for n in range(12))]) + "\n"
    with pytest.raises(RecipeError, match=r"the question: (item or followup|prompt or reflection)"):
        read_data_files([write(here, "side.csv", text)], None)


def test_relations_of_one_sign_are_no_marks(here: Path) -> None:
    rows = [f"甲{n},{'科属'[n % 2]},丙{n}" for n in range(24)]
    [file] = read_data_files([write(here, "kg.csv", "\n".join(["甲,乙,丙", *rows]) + "\n")], None)
    assert dict(file.layout.columns) == {"head": "甲", "relation": "乙", "tail": "丙"}


def test_a_comment_before_lines_of_json_is_no_table(here: Path) -> None:
    lines = table([row[:2] for row in CLAIMS] * 4, "assertion", "finding")
    [file] = read_data_files([write(here, "claims.jsonl", f"# of 12 May\n{lines}")], None)
    assert dict(file.layout.columns) == {"text": "assertion", "label": "finding"}


NAMED = [
    ("zero.csv", ZERO, "true=0,false=1",
     {"text": "text", "label": "label"}, {"labels": {"true": ["0"], "false": ["1"]}}),
    ("odd.csv", "x,y,z\n" + "".join(f"What is {n}?,r{n},w{n}\n" for n in range(4)), "question=x,right=y,wrong=z",
     {"question": "x", "answers": "y", "wrong": "z"}, {}),
    ("swapped.csv", "head,relation,tail\na,in,b\nc,in,d\n", "head=tail,relation=relation,tail=head",
     {"head": "tail", "relation": "relation", "tail": "head"}, {}),
    ("index.jsonl", INDEX, "question=q,options=o,key=k,key_as=index_from_1",
     {"question": "q", "options": "o", "answer_key": "k"}, {"key_as": "index_from_1"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "columns", "roles", "settings"), NAMED, ids=[name for name, *_ in NAMED])
def test_columns_that_somebody_names_are_taken(
    name: str, text: str, columns: str, roles: dict[str, Any], settings: dict[str, Any], here: Path
) -> None:
    [file] = read_data_files([write(here, name, text)], columns)
    assert dict(file.layout.columns) == roles
    assert {key: file.layout.settings[key] for key in settings} == settings


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("size=a", "this gives no role to a column"),
        ("subject=a", "did you mean 'head'?"),
        ("questoin=a", "did you mean 'question'?"),
        ("question=nothing,right=a", "there is no column nothing"),
        ("question=sought,right=given", "there is no column sought, given; there are a, b"),
        ("question=a,head=b", "names head, question, and nothing is read from all of these"),
    ],
)
def test_wrong_names_of_columns(columns: str, problem: str, here: Path) -> None:
    file = write(here, "a.csv", "a,b\nWhat is it?,this\nWho is it?,he\n")
    with pytest.raises(RecipeError, match=r"could not be told|gives no role") as caught:
        read_data_files([file], columns)
    assert problem in str(caught.value)


def test_a_misspelt_column_is_asked_about(here: Path) -> None:
    file = write(here, "a.csv", "Fragestellung,Antwort\nWhat is it?,this\nWho is it?,he\n")
    with pytest.raises(RecipeError, match=r"for fragestelung, did you mean 'Fragestellung'\?"):
        read_data_files([file], "question=fragestelung,right=Antwort")


def test_a_key_is_not_taken_for_right_answers(here: Path) -> None:
    file = write(here, "a.csv", exam(ENGLISH, ",", "Frage A B C k"))
    with pytest.raises(RecipeError, match="k holds no right answers but letters of options: A, B, C") as caught:
        read_data_files([file], "question=Frage,right=k,wrong=B")
    said = str(caught.value).partition("--columns question")[2].splitlines()[0]
    [read] = read_data_files([file], "question" + said)
    assert read.layout.columns["answer_key"] == "k"


def test_questions_about_a_passage_show_it(here: Path) -> None:
    rows = [{"passage": f"A long passage of words on {right}.", "question": q, "A": right, "B": wrong, "k": "AB"[n % 2]}
            for n, (q, right, wrong, _) in enumerate(ENGLISH)]  # fmt: skip
    [file] = read_data_files([write(here, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))], None)
    assert file.layout.columns["context"] == "passage"
    assert file.evidence is None


def test_questions_of_gift_that_have_no_options_are_counted(here: Path) -> None:
    [file] = read_data_files([write(here, "quiz.gift", GIFT)], None)
    assert list(file.notes) == [
        "2 questions of GIFT, written as JSON Lines; left out: 1 true/false; left out: 1 numeric or essay"
    ]
    rows = [json.loads(line) for line in file.data.decode().splitlines()]
    assert rows[0] == {"id": "quiz.gift:4", "question": "Which organ of the body makes bile?",
                       "options": ["the liver", "the spleen", "the {left} kidney"], "answer": "the liver"}  # fmt: skip
    assert rows[1]["question"] == "Penicillin was discovered by _____ in London."


@pytest.mark.parametrize(
    ("text", "language"),
    [("Что вызывает малярию? Паразит.", "ru"), ("Що викликає малярію в людини? Її паразит.", "uk"),
     ("Кой орган произвежда жлъчка? Черният дроб е този орган, който я прави, а жлъчката влиза в червата.", "bg"),
     ("ملیریا کس چیز سے پھیلتا ہے؟", "ur"), ("چه چیزی باعث مالاریا می‌شود؟ پشه و انگل.", "fa"),
     ("ما سبب الملاريا؟", "ar"),
     ("マラリアの原因は何ですか？", "ja"), ("疟疾的病因是什么？", "zh"), ("말라리아의 원인은 무엇입니까?", "ko"),
     ("Aspirin Insulin Penicillin", "")],
)  # fmt: skip
def test_the_language_of_texts_is_told_by_script_letters_and_words(text: str, language: str) -> None:
    assert guess_language([text])[0] == language


def test_columns_that_are_not_used_are_named_and_a_supporting_text_is_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    claims = ["id,claim,verdict,Supporting text,comment"]
    for n in range(12):
        shown = f"{n} trials with {n}0 patients each measured what the drug does."
        claims.append(f"{n},Drug {n} lowers blood pressure.,{('false', 'true')[n % 2]},{shown},ok")
    (tmp_path / "claims.csv").write_text("\n".join(claims), encoding="utf-8")
    assert main(["new", "drugs", "--data", "claims.csv"]) == 0
    told = capsys.readouterr().out
    assert "evidence: Supporting text" in told
    assert "not used: comment\n" in told


def test_options_may_be_headed_by_a_letter_and_a_bracket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"Qual é o número {n}?;um {n};dois {n};tres {n};quatro {n};{'ABCD'[n % 4]}" for n in range(1, 13)]
    Path("prova.csv").write_text("Enunciado;a);b);c);d);Gabarito\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert main(["new", "prova", "--data", "prova.csv"]) == 0
    said = capsys.readouterr().out
    assert "question: Enunciado; options: a), b), c), d); key: Gabarito" in said


def test_a_role_that_a_kind_has_not_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"Claim number {n} about water is here for the reader.,{'true' if n % 2 else 'false'},x" for n in range(12)]
    Path("c.csv").write_text("claim,label,who\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert main(["new", "c", "--data", "c.csv", "--columns", "claim=claim,label=label,context=who"]) == 2
    assert "labelled claims have no context" in capsys.readouterr().err


def test_a_refused_file_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guideline.txt").write_text(
        "Adults take 75 mg of aspirin a day.\n\nChildren take none.\n", encoding="utf-8"
    )
    assert main(["new", "own", "--data", "guideline.txt", "--from", "medicine_en"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["guideline.txt"]
