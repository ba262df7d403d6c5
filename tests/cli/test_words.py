"""``benchbuild word-list``: from four lists to a reviewed one, on the bundled sample."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pdf_pages import pdf

from benchbuilder.cli.dispatch import main
from benchbuilder.config.load import load_recipe
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.plan import make_plan
from benchbuilder.pipeline.progress import LineProgress
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.steps.topic import Topic
from benchbuilder.testing import FakeOpenAI, fake_openai_server

pytestmark = pytest.mark.push

RECIPE = "recipe=care_mi"
OWN = "# ours\n孕妇\tpregnant woman\n早产\n早產\n【胎盘】\n产\n新生儿\n不存在的词\n=胎膜\n"
CSV = "id,term,note\n1,Pre-eclampsia,raised blood pressure\n2,Placenta,\n3,Breast feeding,\n4,Unknown thing,\n"
DICTIONARY = "pre-eclampsia\t先兆子痫\t子痫前期\nplacenta\t胎盘\n"
PAGES = [["Glossary", "Preterm birth: before 37 weeks"], ["Breast milk: food", "Chatty: says too much"]]
PLUGIN = """
KNOWN = {
    "Breast feeding": "母乳喂养", "Preterm birth": "译名：早产。", "Breast milk": "母乳", "Unknown thing": "未知之物",
    "Chatty": "这个术语的意思是话多。通常译作健谈。",
}


def reply(messages, body):
    text = next(message["content"] for message in messages if message["role"] == "user")
    return KNOWN[text.split("术语：")[1].splitlines()[0]]
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeOpenAI]:
    plugin = tmp_path_factory.mktemp("service") / "plugin.py"
    plugin.write_text(PLUGIN, "utf-8")
    with fake_openai_server({"plugin": str(plugin)}) as server:
        yield server


def asking(server: FakeOpenAI) -> list[str]:
    return ["model=openai", "model.name=some-model", f"model.base_url={server.base_url}"]


def collecting(server: FakeOpenAI) -> list[str]:
    return [
        "words", "collect", "own.txt", "terms.csv:term@en", "glossary.pdf@en", "more.jsonl:t.name", RECIPE,
        *asking(server), "words.translate.dictionary=dictionary.tsv", "words.lists.terms.columns={note: note}",
        "words.lists.glossary.pattern='^(?P<term>[^:]+): (?P<note>.*)$'", "--output", "review.csv",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, service: FakeOpenAI) -> Path:
    """A folder with four lists and the sheet made of them."""
    folder, before = tmp_path_factory.mktemp("words"), Path.cwd()
    os.chdir(folder)
    try:
        Path("own.txt").write_text(OWN, "utf-8")
        Path("terms.csv").write_text(CSV, "utf-8")
        Path("glossary.pdf").write_bytes(pdf(PAGES))
        Path("more.jsonl").write_text('{"t": {"name": "母乳喂养"}}\n{"t": {"name": "新生儿"}}\n{"t": 1}\n', "utf-8")
        Path("dictionary.tsv").write_text(DICTIONARY, "utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_API_KEY", "sk-none")
            assert main(collecting(service)) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(collected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it as the current folder."""
    shutil.copytree(collected, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    return tmp_path / "work"


def said(capsys: pytest.CaptureFixture[str]) -> str:
    both = capsys.readouterr()
    return " ".join((both.out + both.err).split())


def rows(path: str = "review.csv") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(Path(path).read_bytes().decode("utf-8-sig"), newline="")))


def decide(path: str = "review.csv", default: str = "keep", **cells: dict[str, str]) -> None:
    """Fill in a sheet: `cells` by word, `default` for the others."""
    lines = rows(path)
    for line in lines:
        line |= {"keep": default, **cells.get(line["word"], {})}
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(lines[0]))
    writer.writeheader()
    writer.writerows(lines)
    Path(path).write_bytes(stream.getvalue().encode("utf-8-sig"))


def accept(*words: str) -> list[str]:
    return ["word-list", "accept", "review.csv", RECIPE, *words]


@pytest.mark.push
def test_the_sheet_shows_what_each_word_is_made_of(here: Path):
    found = {row["word"]: row for row in rows()}
    assert set(found) == {
        "孕妇", "早产", "胎盘", "新生儿", "不存在的词", "'=胎膜", "先兆子痫", "子痫前期", "母乳喂养", "母乳",
        "未知之物",
    }  # fmt: skip
    assert found["胎盘"]["lists"] == "own | terms"
    assert found["胎盘"]["original"] == "Placenta"
    assert found["胎盘"]["translated_by"] == "dictionary.tsv"
    assert found["早产"]["lists"] == "own | glossary"
    assert found["早产"]["note"] == "before 37 weeks"
    assert found["母乳喂养"]["lists"] == "more | terms"
    assert found["母乳喂养"]["translated_by"] == "some-model"
    assert found["子痫前期"]["original"] == "Pre-eclampsia"
    assert (found["孕妇"]["note"], found["孕妇"]["keep"]) == ("pregnant woman", "")
    assert found["不存在的词"]["hits"] == found["不存在的词"]["alone"] == "0"
    totals = [int(row["hits"]) for row in rows()]
    assert totals == sorted(totals, reverse=True)
    parts = [int(found["新生儿"][f"hits {name}"]) for name in ("medqa", "mlecqa", "bios", "cpubmed")]
    assert sum(parts) == int(found["新生儿"]["hits"]) > 10
    samples = [found["新生儿"][f"sample_{number}"] for number in range(1, 11)]
    assert len(set(samples)) == 10
    assert all("新生儿" in sample for sample in samples)


@pytest.mark.push
def test_every_word_has_a_fate_in_the_ledger(here: Path):
    with Path("builds/care_mi/words/ledger.tsv").open(encoding="utf-8") as stream:
        ledger = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    outcomes = [(row[0], row[2], row[5], row[6]) for row in ledger if row[1] == "dropped"]
    assert ("glossary", "no_term", "glossary.pdf", "1") in outcomes
    assert ("words_translate", "no_word", "glossary.pdf", "4") in outcomes
    assert ("words_tidy", "too_short", "own.txt", "6") in outcomes
    assert ("words_merge", "merged", "own.txt", "4") in outcomes
    assert ("words_merge", "merged", "terms.csv", "3") in outcomes
    assert ("more", "missing_field", "more.jsonl", "3") in outcomes


@pytest.mark.push
def test_the_hits_are_those_of_the_recipes_own_steps(here: Path):
    """Accepted and built with, the list hits what the sheet said; without a word, just its rows are lost."""
    decide()
    assert main(accept()) == 0
    loaded = load_recipe([RECIPE, "paths.words=words.txt"])
    store = Store(here / "built")
    plan = make_plan(loaded.recipe, store, Checksums(store.checksums).sha256_of)
    from rich.console import Console

    keep = plan.ancestors_of(["choices_on_topic", "triples_on_topic"])
    recipe = loaded.recipe.model_copy(update={
        "steps": {name: spec for name, spec in loaded.recipe.steps.items() if name in keep}, "outputs": {},
        "items": "choices_on_topic", "reviews": {}, "evaluation": None,
    })  # fmt: skip
    plan = make_plan(recipe, store, Checksums(store.checksums).sha256_of)
    report = build_benchmark(plan, store, loaded.yaml, LineProgress(Console(quiet=True)))
    shown = {row["word"].removeprefix("'"): row for row in rows()}
    topics = ("choices_on_topic", "triples_on_topic")
    hits: dict[tuple[str, str], int] = {}
    for step in topics:
        for _, partition, word, count in report.manifests[step].tallies:
            hits[partition, word] = hits.get((partition, word), 0) + count
    assert hits
    for (partition, word), count in hits.items():
        assert int(shown[word][f"hits {partition}"]) == count, (word, partition)
    for word in ("新生儿", "胎盘", "母乳", "母乳喂养"):
        lost = 0
        for step in topics:
            node = plan.nodes[step]
            assert isinstance(node.producer, Topic)
            table = store.rows(report.manifests[node.inputs["each"][0]])
            stage = Topic(node.producer.spec, node.producer.context)
            stage.set_words(other for other in shown if other != word)
            lost += report.manifests[step].rows - stage.screen(table).reasons.null_count
        assert int(shown[word]["alone"]) == lost, word


@pytest.mark.push
def test_a_second_collection_asks_nothing_and_makes_the_same_sheet(here: Path, service: FakeOpenAI):
    before, sheet = len(service.log()), Path("review.csv").read_bytes()
    assert main(collecting(service)) == 0
    assert len(service.log()) == before
    assert Path("review.csv").read_bytes() == sheet


@pytest.mark.push
def test_a_filled_sheet_is_not_written_over_and_its_decisions_are_taken_over(
    here: Path, service: FakeOpenAI, capsys: pytest.CaptureFixture[str]
):
    decide(default="", 母乳={"keep": "drop", "comment": "too wide"}, 新生儿={"correction": "新生婴儿", "by": "Ada"})
    assert main(collecting(service)) == 3
    assert "people have filled it in" in said(capsys)
    words = collecting(service)
    words[words.index("own.txt")] = "wider.txt"
    Path("wider.txt").write_text(OWN + "羊水\n", "utf-8")
    assert main([*words[:-1], "second.csv", "--former", "review.csv"]) == 0
    found = {row["word"]: row for row in rows("second.csv")}
    assert (found["母乳"]["keep"], found["母乳"]["comment"]) == ("drop", "too wide")
    assert (found["新生儿"]["correction"], found["新生儿"]["by"]) == ("新生婴儿", "Ada")
    assert found["羊水"]["keep"] == ""


@pytest.mark.push
def test_the_reviewed_list_is_written_with_its_provenance(here: Path, capsys: pytest.CaptureFixture[str]):
    decide(未知之物={"keep": "0"}, 不存在的词={"keep": "drop", "by": "Ada"},
           先兆子痫={"keep": "", "correction": " 子痫前期 ", "comment": "older name"})  # fmt: skip
    assert main(accept("--by", "Grace", "--output", "lists/words.txt")) == 0
    told = said(capsys)
    assert "8 words kept (1 corrected), 2 dropped" in told
    assert "benchbuild recipe=care_mi paths.words=lists/words.txt" in told
    lines = Path("lists/words.txt").read_text("utf-8").splitlines()
    words = [line for line in lines if line and not line.startswith("#")]
    assert words == sorted(["孕妇", "早产", "胎盘", "新生儿", "=胎膜", "子痫前期", "母乳喂养", "母乳"])
    assert "#   glossary: glossary.pdf (en), sha256 " in "\n".join(lines)
    assert "# Translated by dictionary.tsv and some-model." in lines
    facts = json.loads(Path("lists/words.provenance.json").read_text("utf-8"))
    assert set(facts["lists"]) == {"own", "terms", "glossary", "more"}
    assert all(len(one["sha256"]) == 64 for one in facts["lists"].values())
    [dictionary, model] = facts["translation"]
    assert (dictionary["name"], model["name"], model["prompt"]) == (
        "dictionary.tsv", "some-model", "zh/translate_term.j2",
    )  # fmt: skip
    assert len(model["prompt_sha256"]) == 64
    assert [entry["shown_as"] for entry in facts["words"]["子痫前期"]] == ["先兆子痫", "子痫前期"]
    [milk] = facts["words"]["母乳"]
    assert (milk["lists"], milk["original"], milk["decided_by"]) == (["glossary"], ["Breast milk"], "Grace")
    assert milk["hits"]["all"] > 0
    assert facts["dropped"]["不存在的词"][0]["decided_by"] == "Ada"
    assert facts["decided_by"] == ["Ada", "Grace"]
    assert str(here) not in json.dumps(facts)
    table = Path("lists/words.provenance.tsv").read_text("utf-8").splitlines()
    assert len(table) == 1 + 11
    assert next(line for line in table if line.startswith("'=胎膜")).split("\t")[1] == "keep"
    first = Path("lists/words.txt").read_bytes()
    assert main(accept("--by", "Grace", "--output", "lists/words.txt")) == 0
    assert Path("lists/words.txt").read_bytes() == first


@pytest.mark.push
def test_what_is_not_decided_is_told_or_decided_by_word(here: Path, capsys: pytest.CaptureFixture[str]):
    decide(default="", 母乳={"keep": "yes"})
    assert main(accept()) == 3
    assert "10 of 11 words are not decided" in said(capsys)
    assert not Path("words.txt").exists()
    assert main(accept("--undecided", "drop", "--by", "Ada")) == 0
    assert Path("words.txt").read_text("utf-8").endswith("\n\n母乳\n")
    facts = json.loads(Path("words.provenance.json").read_text("utf-8"))
    assert facts["dropped"]["新生儿"][0]["decided_by"] == ""


@pytest.mark.push
@pytest.mark.parametrize(("cells", "told"), [
    ({"keep": "maybe"}, "'maybe' in the column keep is neither keep nor drop"),
    ({"keep": "drop", "correction": "乳汁"}, "both dropped and corrected"),
    ({"word": "乳汁"}, "the word was '母乳': write another one into the column correction"),
    ({"key": ""}, "the row has no key"),
    ({"key": "abc-def"}, "the row belongs to another sheet"),
])  # fmt: skip
def test_a_sheet_that_does_not_fit_is_refused_with_the_row(
    here: Path, cells: dict[str, str], told: str, capsys: pytest.CaptureFixture[str]
):
    decide(母乳=cells)
    assert main(accept()) == 3
    message = said(capsys)
    assert told in message
    assert "review.csv:" in message


@pytest.mark.push
def test_a_sheet_that_was_not_shown_here_is_refused(here: Path, capsys: pytest.CaptureFixture[str]):
    decide()
    for file in Path("builds/care_mi/words/sheets").iterdir():
        text = file.read_text("utf-8")
        file.write_text(text.replace('"alone": "', '"alone": "9'), "utf-8")
    assert main(accept()) == 3
    assert "the saved content of the sheet was changed" in said(capsys)
    shutil.rmtree("builds/care_mi/words/sheets")
    assert main(accept()) == 3
    assert "the content of this sheet is unknown here" in said(capsys)
    assert main(["word-list", "accept", "terms.csv", RECIPE]) == 3
    assert "no columns are headed keep, word and key" in said(capsys)


@pytest.mark.push
def test_a_list_made_by_hand_is_not_written_over(here: Path, capsys: pytest.CaptureFixture[str]):
    decide()
    Path("words.txt").write_text("母乳\n", "utf-8")
    assert main(accept()) == 3
    assert "it was not written by this command" in said(capsys)
    assert Path("words.txt").read_text("utf-8") == "母乳\n"
    assert not Path("words.provenance.json").exists()


@pytest.mark.push
def test_a_workbook_does_as_well(here: Path, service: FakeOpenAI):
    from openpyxl import load_workbook

    assert main([*collecting(service)[:-1], "review.xlsx"]) == 0
    book = load_workbook("review.xlsx")
    sheet = book.active
    header = [cell.value for cell in sheet[1]]
    for line in sheet.iter_rows(min_row=2):
        line[header.index("keep")].value = 1
    book.save("review.xlsx")
    assert main(["word-list", "accept", "review.xlsx", RECIPE]) == 0
    assert len([w for w in Path("words.txt").read_text("utf-8").splitlines() if w and w[0] != "#"]) == 11


@pytest.mark.push
def test_words_that_hit_little_can_be_left_out_and_are_named(here: Path, service: FakeOpenAI):
    assert main([*collecting(service)[:-1], "short.csv", "--least-hits", "1"]) == 0
    left = {row["word"] for row in rows("short.csv")}
    assert "不存在的词" not in left
    decide("short.csv")
    assert main(["word-list", "accept", "short.csv", RECIPE]) == 0
    facts = json.loads(Path("words.provenance.json").read_text("utf-8"))
    assert "不存在的词" in facts["left_out"]
    assert not left & set(facts["left_out"])


@pytest.mark.push
def test_a_quote_asks_nothing(
    here: Path, service: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before = len(service.log())
    assert main([*collecting(service), "run.dir=elsewhere", "--quote"]) == 0
    assert "words_translate" in said(capsys)
    assert len(service.log()) == before


@pytest.mark.push
def test_without_a_model_the_words_that_need_one_are_told(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["word-list", "collect", "terms.csv:term@en", RECIPE, "run.dir=bare"]) == 0
    told = said(capsys)
    assert "terms (en): 4 units read; dropped: needs_model 4" in told
    assert "give a model, or words.translate.dictionary=FILE" in told
    assert "0 words to review in bare/words/sheet.csv" in told


@pytest.mark.push
def test_show_tells_what_the_recipes_list_hits(here: Path, capsys: pytest.CaptureFixture[str]):
    Path("mine.txt").write_text("母乳\n新生儿\n独角兽\n", "utf-8")
    ledger = Path("builds/care_mi/words/ledger.tsv").read_bytes()
    assert main(["word-list", "show", RECIPE, "paths.words=mine.txt"]) == 0
    told = said(capsys)
    assert "mine.txt: 3 words" in told
    assert Path("builds/care_mi/words/ledger.tsv").read_bytes() == ledger
    assert "1 word match nothing" in told
    assert "match nothing: 独角兽" in told
    shown = {row["word"]: row for row in rows()}
    assert f"新生儿 {' '.join(shown['新生儿'][f'hits {n}'] for n in ('medqa', 'mlecqa', 'bios', 'cpubmed'))}" in told


@pytest.mark.push
@pytest.mark.parametrize(("words", "told"), [
    ([], "no list is named"),
    (["nowhere.txt"], "nowhere.txt is missing"),
    (["terms.csv:nam@en"], "expected a header with the columns nam"),
    (["own.txt", "words.lists.other.encoding=gb18030"], "there is no such list"),
    (["own.txt", "words.tidy.longest=3"], "words.tidy.longest"),
    (["own.txt", "words.lists.own.encodin=gb18030"], "words.lists.own.encodin"),
    (["own.txt", "--settings", "none.yaml"], "the settings cannot be read"),
])  # fmt: skip
def test_what_is_wrong_with_the_words_is_told(
    here: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["word-list", "collect", *words, RECIPE, "run.dir=wrong"]) in (2, 3)
    assert told in said(capsys)
