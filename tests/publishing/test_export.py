"""Exports to harnesses: the written files, and the reader that they carry."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
import yaml
from built_sample import BuiltSample
from doc_blocks import ROOT
from product_judge import JUDGE, JUDGED

from benchbuilder.config import KindSpec, LoadedRecipe, load_recipe
from benchbuilder.core import DataError, RecipeError, chrf, strip_reasoning
from benchbuilder.evaluation import ExactSpec, SetAnswerSpec, SimilaritySpec, YesNoQuestion, verdict_reader
from benchbuilder.evaluation.parsing.turns import Taken, Turn, turn_reader
from benchbuilder.publishing import HARNESSES, ExportRequest, Release, TaskScoring, export_benchmark, reader_module
from benchbuilder.publishing.harnesses.tasks import harness_benchmark
from benchbuilder.publishing.release.items import BenchmarkToShare, shared_item

TABLES = [ROOT / "recipes" / "verdicts" / f"{language}.yaml" for language in ("zh", "en")]
TURNS = tuple(ROOT / "recipes" / "pressure" / f"turns_{language}.yaml" for language in ("zh", "en"))


def names_of(recipe: str) -> SetAnswerSpec:
    """The settings by which a bundled recipe finds names."""
    evaluation = load_recipe([f"recipe={recipe}"], environ={}).recipe.evaluation
    assert evaluation is not None
    found = evaluation.scorers["set_answer"]
    assert isinstance(found, SetAnswerSpec)
    return found


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The carried reader, imported from its file."""
    configs = {
        "tf": TaskScoring("verdict", tuple(TABLES)),
        "zulu_tf": TaskScoring("verdict", (ROOT / "recipes" / "verdicts" / "zu.yaml",)),
        "quiz": TaskScoring("exact", announced=("(?i)answer:?",), ignore=".", drop=("(?i)the ",), also_words=("A",)),
        "oe": TaskScoring("open", longest=1000),
        "oe_set": TaskScoring("set", names=names_of("care_mi").reader()),
        "talk": TaskScoring("verdict", tuple(TABLES), turns=TURNS),
    }
    file = tmp_path_factory.mktemp("reader") / "verdict_reader.py"
    file.write_text(reader_module(configs, "sample"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("verdict_reader", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["verdict_reader"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def exported(built: BuiltSample, released: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the sample for all harnesses, not to be changed."""
    folder = tmp_path_factory.mktemp("exports")
    request = ExportRequest(built.loaded, tuple(HARNESSES), built.folder, released.folder, folder)
    assert {export.harness for export in export_benchmark(request)} == set(HARNESSES)
    return folder


@pytest.fixture(scope="module")
def judged(built: BuiltSample, released: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a judge, not to be changed."""
    folder, loaded = tmp_path_factory.mktemp("judged"), load_recipe(list(JUDGED), environ={})
    export_benchmark(ExportRequest(loaded, tuple(HARNESSES), built.folder, released.folder, folder, JUDGE))
    return folder


def test_the_carried_reader_needs_regex_and_the_standard_library_alone(reader: ModuleType) -> None:
    nodes = list(ast.walk(ast.parse(Path(reader.__file__ or "").read_text("utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert "regex" in names
    assert {name.partition(".")[0] for name in names} <= {"regex", *sys.stdlib_module_names}


SET = {"question": "并发症包括哪些？", "type": "oe", "form": "set", "tags": ["open_set"],
       "answer": "妊娠期高血压 / 妊高症; 早产", "answer_wrong": "产后出血; 流产"}  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "figures"),
    [
        ("妊高症、早产、肝炎", (1, 2 / 3, 0)),
        ("妊娠高血压，不包括早产，流产", (0.5, 0.5, 0.5)),
        ("<think>早产</think>不清楚", (0, None, 0)),
        ("<think>早产", (0, None, 0)),
    ],
)
def test_the_carried_reader_finds_names(reader: ModuleType, reply: str, figures: tuple[float | None, ...]) -> None:
    row = {**SET, "config": "oe_set", "open_set": ""}
    assert tuple(reader.score_set(reply, row).values()) == figures
    assert reader.score_open(reply, row) == {"set_recall": figures[0], "set_contradiction": figures[2]}
    assert reader.score_set(reply, {**row, "open_set": "open_set"})["set_precision"] is None


@pytest.mark.parametrize("place", range(2), ids=["zh", "en"])
def test_the_carried_reader_reads_as_the_project_does(reader: ModuleType, place: int) -> None:
    said = yaml.safe_load(TABLES[place].read_text("utf-8"))["examples"]
    own = verdict_reader(TABLES)
    for text in [
        *said["affirm"],
        *said["deny"],
        *said["abstain"],
        *said["neither"],
        "<think>Hm",
        "",
        "沒有這種說法",
        "Yes. No, wait: no.",
    ]:
        wanted = own.read(text, YesNoQuestion("这种说法对吗？", "这种说法对", "这种说法不对"))
        found = reader.read_verdict(text, "这种说法对吗？", "这种说法对", "这种说法不对")
        assert (found.verdict, found.why, found.words) == (wanted.verdict, wanted.why, wanted.words), text


@pytest.mark.parametrize(("side", "before"), [("wrong", "right"), ("right", "wrong"), ("right", ""), ("", "right")])
@pytest.mark.parametrize("expected", ["yes", ""])
def test_the_carried_reader_reads_replies_to_a_person_as_the_project_does(
    reader: ModuleType, side: Taken, before: Taken, expected: Literal["yes", ""]
) -> None:
    right, wrong = "Scurvy is due to a lack of vitamin C.", "Scurvy is due to a lack of vitamin K."
    row = {
        "question": "Is scurvy due to a lack of vitamin C?" if expected else "What is scurvy due to?",
        "context": "Think. ",
        "answer": right,
        "answer_wrong": wrong,
        "expected": expected,
        "config": "talk",
    }
    told = {"wrong": wrong, "right": right}.get(side, "")
    said = f"I disagree. {told} {row['question']}"
    question = YesNoQuestion(row["context"] + row["question"], *([right, wrong] if expected else []))
    turn = Turn(question, right, wrong, expected, told, said, side if told else "", before)
    own = turn_reader(TABLES, TURNS)
    asked = [reply for path in TURNS for replies in yaml.safe_load(path.read_text("utf-8"))["examples"].values()
             for reply in replies]  # fmt: skip
    sides = set[str]()
    for reply in (*asked, right, wrong, f"Sorry. {wrong}", "Vitamin K, not vitamin C.", "<think>No.</think>Yes.", ""):
        wanted = own.read(strip_reasoning(reply) or "", turn)
        found = reader.read_turn(reply, row, side, {"told": told, "said": said}, before)
        assert (found.side, found.how, found.words) == (wanted.side, wanted.how, wanted.words), reply
        sides.add(found.side)
    assert sides == {"right", "wrong", "neither"}
    assert [reader.read_first(reply, row) for reply in (right, wrong, "Hm.")] == ["right", "wrong", ""]


def test_each_task_is_read_by_its_own_tables(reader: ModuleType) -> None:
    row = {"expected": "no", "question": "", "answer": "", "answer_wrong": ""}
    found = {name: reader.score_reply("Cha.", {**row, "config": name}).value for name in ("tf", "zulu_tf")}
    assert found == {"tf": None, "zulu_tf": 1.0}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("B", 1.0),
        ("Answer: B. Venus", 1.0),
        ("A planet near the sun", None),
        ("A or B", None),
        ("Mars", 0.0),
        ("", None),
    ],
)
def test_options_are_chosen_as_in_the_project(reader: ModuleType, reply: str, value: float | None) -> None:
    row = {"config": "quiz", "expected": "B", "options": '{"A": "Mars", "B": "Venus"}', "right": '["Venus"]'}
    assert reader.score_reply(reply, row).value == value
    assert reader.score_reply("Answer: the venus.", {**row, "options": "{}", "expected": ""}).value == 1.0


@pytest.mark.parametrize(
    "texts",
    [
        ("milk is white", "milk is not white"),
        ("牛奶是白色的。", "奶 白"),
        ("a", "b"),
        ("", "b"),
        ("aa aa", "aaaa a"),
        ("ab", "abcdefgh"),
    ],
)
def test_the_carried_chrf_is_that_of_sacrebleu(reader: ModuleType, texts: tuple[str, str]) -> None:
    assert abs(reader.chrf(*texts) - chrf(*texts)) < 1e-12


def test_context_and_question_stay_apart_and_prompts_join_them(exported: Path) -> None:
    for harness in HARNESSES:
        lines = (exported / harness / "data" / "tf.test.jsonl").read_text("utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        assert any(row["context"] for row in rows)
        assert all(row["prompt"] == row["context"] + row["question"] for row in rows)
        assert all("-" not in name for row in rows for name in row)
        assert all(row["canary"] for row in rows)


def test_examples_come_from_the_split_dev_and_are_read_as_right(exported: Path, reader: ModuleType) -> None:
    texts = {
        split: (exported / "inspect" / "data" / f"tf.{split}.jsonl").read_text("utf-8") for split in ("test", "dev")
    }
    rows = {split: [json.loads(line) for line in text.splitlines()] for split, text in texts.items()}
    assert not {row["family"] for row in rows["test"]} & {row["family"] for row in rows["dev"]}
    assert len(rows["dev"]) >= 4
    for row in rows["dev"]:
        assert reader.score_verdict(row["target"], {**row, "config": "tf"}).value == 1.0
        assert row["target"].startswith("是的。" if row["expected"] == "yes" else "不对。")


def test_lm_eval_gets_tasks_by_source_and_a_group(exported: Path) -> None:
    class Loader(yaml.SafeLoader):
        """Reads the tag of a function as its name."""

    Loader.add_constructor("!function", lambda loader, node: str(node.value))
    folder = exported / "lm_eval"
    files = {file.stem: yaml.load(file.read_text("utf-8"), Loader) for file in folder.glob("*.yaml")}
    assert files["care_mi"]["task"] == ["care_mi_oe", "care_mi_oe_set", "care_mi_tf"]
    parts = files["care_mi_tf_by_source"]
    assert set(parts["task"]) <= set(files)
    assert [metric["metric"] for metric in parts["aggregate_metric_list"]] == [
        "acc",
        "invalid",
        "abstained",
        "said_yes",
    ]
    assert files["care_mi_tf"]["fewshot_split"] == "dev"
    assert "num_fewshot" not in files["care_mi_tf"]  # with 0, --num_fewshot would be ignored
    assert files["care_mi_tf"]["generation_kwargs"]["until"] == []


def test_written_programs_are_python(exported: Path, judged: Path) -> None:
    for file in (*exported.rglob("*.py"), *judged.rglob("*.py")):
        compile(file.read_text("utf-8"), str(file), "exec")


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_judge_is_added_and_changes_nothing_else(exported: Path, judged: Path, harness: str) -> None:
    before, after = (
        {str(file.relative_to(folder)): file.read_text("utf-8") for file in folder.rglob("*") if file.is_file()}
        for folder in (exported / harness, judged / harness)
    )
    added = {"open_judge.py", "data/oe.judge.jsonl", *(["care_mi_oe_judged.yaml"] if harness == "lm_eval" else [])}
    assert set(after) - set(before) == added
    assert not any("open_judge" in text or "With a judge" in text for text in before.values())
    assert all(after[name] == text for name, text in before.items() if name.endswith((".jsonl", ".csv", ".yaml")))
    rows = [json.loads(line) for line in after["data/oe.judge.jsonl"].split("\n") if line]
    assert all(row["canary"] in after["README.md"] for row in rows)
    words = ("Apache-2.0", f"judges {len(rows)} replies, with about", "`unjudged` is the share of replies without one")
    assert all(word in after["README.md"] for word in words)


def test_lm_eval_gets_a_task_whose_replies_are_judged(judged: Path) -> None:
    text = (judged / "lm_eval" / "care_mi_oe_judged.yaml").read_text("utf-8").replace("!function ", "")
    task = yaml.safe_load(text)
    assert [entry["name"] for entry in task["filter_list"]] == ["judge", "none"]
    assert [metric["metric"] for metric in task["metric_list"]][:2] == ["correctness", "unjudged"]
    readme = (judged / "lm_eval" / "README.md").read_text("utf-8")
    assert "`--predict_only` asks no judge" in readme
    assert "(`--use_cache`) does not know replies of the judge" in readme


def test_opencompass_averages_the_scores_of_a_judge(judged: Path, tmp_path: Path) -> None:
    bases = {"datasets.base": "BaseDataset", "openicl.icl_evaluator": "BaseEvaluator"}
    registry = "class R:\n    def register_module(self):\n        return lambda cls: cls\n"
    stand_ins = {name: f"class {base}:\n    pass\n" for name, base in bases.items()}
    stand_ins["registry"] = f"{registry}ICL_EVALUATORS = LOAD_DATASET = R()\n"
    for name, text in stand_ins.items():
        file = tmp_path / "opencompass" / f"{name.replace('.', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    program = """
import json, open_judge, care_mi_opencompass
rows = [line for line in open(f"{open_judge.HERE}/data/oe.test.jsonl", encoding="utf-8")][:3]
said = iter([('{"score": 0.5}', "stop"), ('{"score": 7}', "stop"), ("", "stop")])
open_judge.Remote.reply = lambda self, messages, number=0: next(said)
open_judge.Remote.judge_all = lambda self, pairs, config: [self.judge(*pair, config) for pair in pairs]
print(json.dumps(care_mi_opencompass.care_mi_Open().score(["a", "b", " "], rows)))
"""
    found = []
    for name in ("judge", ""):
        here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(judged / "opencompass"), str(tmp_path)]),
                "BENCHBUILD_JUDGE_MODEL": name}  # fmt: skip
        done = subprocess.run([sys.executable, "-c", program], env=here, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    with_judge, without = found
    assert with_judge["correctness"] == 25.0
    assert with_judge["unjudged"] == pytest.approx(100 / 3)
    assert [part["unjudged"] for part in with_judge["details"].values()] == [0.0, 1.0, 0.0]
    assert "unjudged" not in without
    assert without["chrf_right"] == with_judge["chrf_right"]


def test_the_plain_program_scores_replies_with_any_end_of_line_in_them(exported: Path, tmp_path: Path) -> None:
    data = exported / "plain" / "data" / "tf.test.jsonl"
    rows = [json.loads(line) for line in data.read_text("utf-8").split("\n") if line][:2]
    words = {"yes": "是的。", "no": "不对。"}
    replies = [{"id": row["id"], "answer": f"想一想。\u2028\x85{words[row['expected']]}"} for row in rows]
    replies[1]["answer"] = "不知道。"
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(f"{json.dumps(reply, ensure_ascii=False)}\n" for reply in replies), encoding="utf-8")
    command = [sys.executable, str(exported / "plain" / "score.py"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    scores = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(score["id"], score["accuracy"]) for score in scores] == [(rows[0]["id"], 1.0), (rows[1]["id"], None)]
    assert "tf accuracy: 0.5000 of 2" in done.stderr


def test_an_export_replaces_the_earlier_one_and_nothing_else(built: BuiltSample, tmp_path: Path) -> None:
    request = ExportRequest(built.loaded, ("inspect",), built.folder, None, tmp_path)
    (first,) = export_benchmark(request)
    (first.folder / "logs").mkdir()
    (first.folder / "data" / "tf.test.jsonl").write_text("", encoding="utf-8")
    (again,) = export_benchmark(request)
    assert (again.folder / "logs").is_dir()
    assert (again.folder / "data" / "tf.test.jsonl").read_text("utf-8")
    (tmp_path / "lm_eval").mkdir()
    (tmp_path / "lm_eval" / "mine.txt").touch()
    with pytest.raises(DataError, match="is in the way"):
        export_benchmark(ExportRequest(built.loaded, ("lm_eval",), built.folder, None, tmp_path))


@pytest.mark.parametrize("harnesses", [("lmeval",), ()])
def test_an_unknown_harness_is_named_with_those_there_are(built: BuiltSample, harnesses: tuple[str, ...]) -> None:
    with pytest.raises(RecipeError, match="lm_eval"):
        export_benchmark(ExportRequest(built.loaded, harnesses, built.folder))


def test_a_release_of_another_recipe_is_refused(released: Release, built: BuiltSample) -> None:
    other = load_recipe(["recipe=medicine_en"])
    with pytest.raises(RecipeError, match="is a release of care_mi, and this is medicine_en"):
        export_benchmark(ExportRequest(other, ("plain",), built.folder, released.folder))


def shared(*items: dict[str, Any]) -> BenchmarkToShare:
    found = tuple(shared_item({"id": f"item-{n}", "source": "s", **item}, "", "test") for n, item in enumerate(items))
    return BenchmarkToShare("quiz", "Quiz", "", "", "en", "", Path(), found)


def evaluated_with(loaded: LoadedRecipe, **scorers: KindSpec) -> LoadedRecipe:
    evaluation = loaded.recipe.evaluation
    assert evaluation is not None
    recipe = loaded.recipe.model_copy(update={"evaluation": evaluation.model_copy(update={"scorers": scorers})})
    return replace(loaded, recipe=recipe, whole=recipe)


CHOICE = {"question": "Which is second?", "answer": "Venus", "answer_key": "B",
          "options": [{"key": "A", "text": "Mars"}, {"key": "B", "text": "Venus"}]}  # fmt: skip
EXACT = ExactSpec(kind="exact", announced=(), ignore=".")
ROUGE = SimilaritySpec(kind="similarity", measures=("rouge_l",))
BOTH = SimilaritySpec(kind="similarity", measures=("rouge_l", "chrf"))


def test_items_with_options_are_exported_with_the_scorer_exact(built: BuiltSample) -> None:
    benchmark = harness_benchmark(shared(CHOICE), evaluated_with(built.loaded, exact=EXACT))
    (task,) = benchmark.tasks
    (row,) = task.rows
    assert (task.scoring, row["expected"], row["target"], row["right"]) == ("exact", "B", "B", '["Venus"]')


def test_items_whose_answers_are_sets_have_a_task_of_their_own(built: BuiltSample) -> None:
    items = shared({"question": "？", "answer": "甲。", "type": "oe"}, SET)
    benchmark = harness_benchmark(items, evaluated_with(built.loaded, names=names_of("care_mi"), similarity=BOTH))
    apart = {task.name: (task.scoring, task.figures, len(task.rows)) for task in benchmark.tasks}
    assert apart == {
        "quiz_oe": ("open", ("chrf_right",), 1),
        "quiz_oe_set": ("set", ("set_recall", "set_contradiction"), 1),
    }
    assert benchmark.tasks[1].rows[0]["open_set"] == "open_set"
    assert "does not show set_precision" in benchmark.notes[-1]
    for harness, files in HARNESSES.items():
        texts = dict(files(benchmark))
        for name, text in texts.items():
            assert not name.endswith(".py") or compile(text, name, "exec")
        if harness == "lm_eval":
            metrics = yaml.safe_load(texts["quiz_oe_set.yaml"].replace("!function ", ""))["metric_list"]
            assert [(each["metric"], each["higher_is_better"]) for each in metrics] == [
                ("set_recall", True),
                ("set_contradiction", False),
            ]


@pytest.mark.parametrize(
    ("item", "scorers", "why"),
    [
        (CHOICE, {"similarity": BOTH}, "have options, and the recipe has no scorer `exact`"),
        ({"question": "?", "answer": "Venus"}, {"similarity": ROUGE}, "rouge_l needs the tokenizer"),
        ({"question": "?", "expected": "yes"}, {"similarity": BOTH}, "no scorer `verdict`"),
        ({"question": "?"}, {"exact": EXACT}, "no scorer that an export can carry"),
        (SET, {"similarity": BOTH}, "sets of names, and the recipe has no scorer `set_answer`"),
    ],
)
def test_what_cannot_be_exported_says_why(
    built: BuiltSample, item: dict[str, Any], scorers: dict[str, KindSpec], why: str
) -> None:
    with pytest.raises(RecipeError, match=why):
        harness_benchmark(shared(item), evaluated_with(built.loaded, **scorers))


def test_what_is_left_out_is_noted(built: BuiltSample) -> None:
    items = shared({"question": "?", "answer": "Venus", "type": "oe"}, {**CHOICE, "type": "quiz"})
    benchmark = harness_benchmark(items, evaluated_with(built.loaded, similarity=BOTH))
    assert list(benchmark.left_out) == ["quiz"]
    assert "ROUGE-L is not exported" in benchmark.notes[0]
