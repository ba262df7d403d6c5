"""Without any extra, every command works or names the extra to install; with it, the command needs nothing else."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import bare
import pytest
from once import EVALUATED, Once
from warm import end, shared

from benchbuilder.annotation import VOTE_FORMATS
from benchbuilder.cli.command_line import command_parser
from benchbuilder.cli.commands import COMMANDS
from benchbuilder.publishing import HARNESSES

Answer = subprocess.CompletedProcess[str]
ROOT = Path(__file__).parents[2]
Run = Callable[[str, str], Answer]
"""Runs a command with some extras."""


class Row(NamedTuple):
    """A command, the extras that it names one after the other, and how it ends once they are there."""

    words: str
    extras: tuple[str, ...] = ()
    exits: int = 0


R = "recipe=care_mi"
APP = f"{R} annotation=app run.dir=builds/app"
NEW = f"{R} annotation=none run.dir=builds/new"
TUNED = (
    f"judge=tuned_correctness {R} evaluation=[zh_claims,zh_finetuned] "
    "model@evaluation.judges.tuned_correctness.model=openai evaluation.judges.tuned_correctness.model.name=NAME"
)
OPENAI = "model=openai model.name=NAME model.base_url=http://127.0.0.1:9/v1"
NEURAL = "+judge@evaluation.judges.neural=encoder evaluation.judges.neural.path=given"
RELEASE = "releases/care_mi/1.0.0"
ROWS = (
    Row("ls"), Row("ls --kinds"), Row(f"check {R}"), Row("check --store builds/care_mi"), Row(f"show {R}"),
    Row(f"plan {R}"), Row(f"preview n=2 {R}"), Row(f"why care_mi/sample/medqa/dev.jsonl:5 {R}"),
    Row(f"why ITEM {R}"), Row(f"peek medqa -n 2 {R}"), Row("help all"), Row("diff builds/care_mi builds/care_mi"),
    Row(f"clean {R}"), Row("stem-shapes recipe=exam_any"),
    Row(f"sweep {NEW} source=[medqa,textbook] steps.state_choice.max_length=20,40"), Row(f"build {NEW}"),
    Row(f"prompt ls {R}"), Row(f"prompt show qa2d {R}"), Row(f"save-replies --output r.jsonl {R} {OPENAI}"),
    Row(f"compare-models state_choice --with rules n=5 {R}"), Row("salvage-replies no.sqlite", (), 3),
    Row(f"audit {R}"),
    Row(f"evaluate {R}"), Row(f"results {R}"), Row(f"analyse {R}"), Row(f"scorecard {R}"),
    Row(f"release {R} version=1.0.0 release.private=0.3 release.dev=5 --despite trial"),
    Row(f"errata add ITEM --kind wrong_key --text wrong {R} paths.errata=errata.jsonl"),
    Row(f"errata ls {R} paths.errata=errata.jsonl"),
    Row(f"errata decide none --by me --reason none {R} paths.errata=errata.jsonl", (), 2),
    Row(f"errata release {R} paths.errata=errata.jsonl", (), 2),
    Row(f"score-private answers.jsonl {R}", (), 3),
    Row("new mine --from care_mi"), Row("new paper --data given.docx", ("docx",), 2),
    Row("new --plugin my_plugin --kind source"),
    Row(f"due {R}"), Row("translations write recipe=medicine_parallel variant=es file=es.tsv"),
    Row("translations check recipe=medicine_parallel variant=es file=es.tsv"),
    Row("trust"), Row("completion bash"), Row("completion fish"), Row("completion zsh"), Row("schema"),
    *(Row(f"export {R} to={harness}") for harness in HARNESSES),
    Row(f"publish {RELEASE} --repository a/b --dry-run"), Row(f"publish {RELEASE} --repository a/b", ("publish",), 4),
    Row(f"word-list show {R}"), Row(f"word-list collect words.txt {R} --output words.csv"),
    Row(f"word-list collect words.txt {R} --output words.xlsx", ("xlsx",)),
    Row(f"word-list accept words.csv {R} --output new.txt --undecided keep --by me"),
    Row(f"word-list accept words.xlsx {R} --output new2.txt --undecided keep --by me", ("xlsx",)),
    Row(f"view --export site {RELEASE}"), Row("view no-folder", ("view",), 3),
    Row("votes formats"), Row(f"votes quality {R}"),
    Row(f"review {R} --port PORT", ("review",), 3), Row(APP, ("review",), 75),
    Row(f"{R} annotation=app annotation.database_env=DATABASE run.dir=builds/server", ("review", "postgres"), 3),
    Row(f"people invite wang {APP}", ("review",)), Row(f"people link wang {APP}", ("review",)),
    Row(f"people allow wang {APP}", ("review",)), Row(f"people revoke wang {APP}", ("review",)),
    Row(f"people ls {APP}", ("review",)),
    *(
        Row(f"votes export {name} {APP}", ("review", *["xlsx"] * (name == "xlsx")))
        for name, known in VOTE_FORMATS.items() if known.writer is not None
    ),
    *(
        Row(f"votes import {name} given{suffix} {APP}", ("review", *["xlsx"] * (suffix == ".xlsx")), 3)
        for name, known in VOTE_FORMATS.items() for suffix in known.suffix.split(" or ")
    ),
    Row(f"votes decisions --project recheck {APP}", ("review",), 3),
    Row(f"judge report {R}"), Row(f"judge train {R}", ("judge",)),
    Row(f"judge score ridge_correctness given.jsonl {R}", ("judge",), 3),
    Row(f"finetune check {TUNED}", (), 3), Row(f"finetune export {TUNED}", ("openai",)),
    Row(f"finetune submit {TUNED}", ("openai",)), Row(f"finetune status {TUNED}", ("openai",), 3),
    Row(f"finetune cancel {TUNED}", ("openai",), 3), Row(f"check {R} {OPENAI}", ("openai",)),
    Row(f"check {R} model=transformers model.path=given", ("hf",)),
    Row(f"check {R} model=transformers model.path=given.gguf", ("gguf",)),
    Row(f"evaluate --quote {R} {OPENAI}"),
    Row(f"{NEW} source=[medqa,textbook] tokenizer.implementation=pure run.dir=builds/pure", ("jieba",)),
    Row(f"{NEW} source=[medqa,books] +paths.books=given.pdf", ("pdf",), 3),
    Row(f"{NEW} source=[medqa,books] +paths.books=given.epub", ("epub",), 3),
    Row(f"{NEW} source=[skos] +paths.skos=given.ttl", ("rdf",), 3),
    Row(f"{NEW} source=[medqa,wikipedia_zh] +paths.wikipedia=given.xml", ("wikipedia",), 3),
    Row(f"{NEW} source=[facts] sources.facts.path=given.sqlite", ("sql",), 3),
    Row(f"{NEW} source=[hub]", ("datasets",), 3),
    Row("plan recipe=claims_en steps.balance.method=exact", ("audit",)),
)  # fmt: skip
SOURCES = {
    "facts": "kind: sql\nas: triple\npath: facts.sqlite\nquery: SELECT * FROM facts ORDER BY head\n"
    "columns: {head: head, relation: relation, tail: tail}",
    "hub": "kind: huggingface\nas: choice\npath: .\n"
    "columns: {question: question, options: choices, answer_key: answer}",
}
"""Sources of the table that no bundled file describes."""
HEAVY = (
    Row(f"judge train neural {R} {NEURAL}", ("judge-hf",), 4),
    Row(f"{NEW} retriever=dense retriever.path=given", ("dense",), 3),
    Row(f"{NEW} tokenizer=huggingface tokenizer.path=given", ("hf",), 3),
)
"""Commands that import PyTorch."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, once: Once) -> Iterator[Run]:
    """Commands run in a folder with a build and its evaluation."""
    server, folder = tmp_path_factory.mktemp("bare"), once.copied(EVALUATED, tmp_path_factory.mktemp("work") / "here")
    (folder / "words.txt").write_text("胎盘\n", encoding="utf-8")
    (folder / "recipes" / "source").mkdir(parents=True)
    for name, text in SOURCES.items():
        lines = f"# @package sources.{name}\n{text}\nlanguage: zh\n"
        (folder / "recipes" / "source" / f"{name}.yaml").write_text(lines, encoding="utf-8")
    taken = socket.create_server(("127.0.0.1", 0))
    (folder / "given").mkdir()
    (folder / "given" / "model.safetensors").write_text("nothing", encoding="utf-8")
    for suffix in ("json", "jsonl", "csv", "xlsx", "pdf", "docx", "epub", "gguf", "ttl", "xml", "sqlite"):
        (folder / f"given.{suffix}").write_text("nothing", encoding="utf-8")
    item = re.search(r"item-\w+", (folder / "builds/care_mi/items.jsonl").read_text(encoding="utf-8"))
    assert item is not None
    words_for = {"ITEM": item[0], "PORT": str(taken.getsockname()[1])}
    program = shared(server, bare=True) / "benchbuild"
    environment = os.environ | {
        "HF_ENDPOINT": "http://127.0.0.1:9", "HF_TOKEN": "no", "DATABASE": "postgresql://me@127.0.0.1:9/votes",
    }  # fmt: skip

    def run_command(words: str, extras: str) -> Answer:
        return subprocess.run(
            [program, *(words_for.get(word, word) for word in shlex.split(words))],
            cwd=folder, env=environment | {bare.EXTRAS: extras}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    with taken:
        yield run_command
    end(server)


def wrong(run: Run, rows: Sequence[Row], *, installed: bool = True) -> list[str]:
    """Commands that answered otherwise than the table says, each with its answer; with extras only if `installed`."""
    found: list[str] = []
    for row in rows:
        stages = list(accumulate((f"{extra} " for extra in row.extras), initial=""))
        for extras, missing in zip(
            stages if installed else [""], (*row.extras, "") if installed else row.extras, strict=True
        ):
            answer = run(row.words, extras)
            said = answer.stdout + answer.stderr
            advised = re.findall(r"pip install 'benchbuilder\[(.+?)\]'", said)
            if (
                answer.returncode != (2 if missing else row.exits)
                or advised != [missing][: bool(missing)]
                or "Trace" in said
            ):
                found.append(f"{row.words} [{extras}] ended with {answer.returncode}: {said[-600:]}")
    return found


@pytest.mark.full
def test_a_fresh_environment_without_extras(tmp_path):
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "--quiet", ROOT], check=True)

    def run_there(words: str) -> Answer:
        program = environment / "bin" / "benchbuild"
        return subprocess.run([program, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)

    for name in COMMANDS:
        answer = run_there(f"{name} --help")
        assert (answer.returncode, answer.stderr) == (0, ""), name
    for words in (R, f"evaluate {R}", f"judge report {R}"):
        assert run_there(words).returncode == 0, words
    assert run_there(f"judge train {R}").stderr.splitlines()[-1] == "  next:  pip install 'benchbuilder[judge]'"
    names = "import benchbuilder\nfor name in benchbuilder.__all__: getattr(benchbuilder, name)"
    subprocess.run([environment / "bin" / "python", "-c", names], cwd=tmp_path, check=True)


@pytest.mark.push
def test_without_an_extra_a_command_that_needs_it_names_it(run):
    """One command for each extra; the whole table runs in tier `full`."""
    stand_alone = [row for row in ROWS if row.extras and "accept" not in row.words and RELEASE not in row.words]
    alone = {row.extras[0]: row for row in reversed(stand_alone)}
    assert len(alone) > 12
    assert wrong(run, [Row(row.words, row.extras[:1]) for row in alone.values()], installed=False) == []


@pytest.mark.full
def test_every_command_works_or_names_its_extra(run):
    assert wrong(run, ROWS) == []


@pytest.mark.full
def test_commands_that_import_pytorch(run):
    assert wrong(run, HEAVY) == []


@pytest.mark.push
def test_the_help_of_every_command_needs_no_extra(run):
    for name in COMMANDS:
        answer = run(f"{name} --help", "")
        assert (answer.returncode, answer.stderr) == (0, ""), name
        assert answer.stdout.startswith(f"usage: benchbuild {name}")


def commands() -> set[tuple[str, ...]]:
    """Every command, with each of its actions if it has some."""
    found: set[tuple[str, ...]] = set()
    for name, command in COMMANDS.items():
        positional = [action for action in command_parser(name, command)._actions if not action.option_strings]
        actions = positional[0].choices if positional else None
        found |= {(name, str(action)) for action in actions} if actions else {(name,)}
    return found


def test_the_table_has_every_command():
    told = [shlex.split(row.words) for row in (*ROWS, *HEAVY)]
    assert sorted(known for known in commands() if list(known) not in [words[: len(known)] for words in told]) == []


def test_the_table_has_every_extra_without_which_something_is_missing():
    from benchbuilder.core.extras import EXTRAS

    told = {extra for row in (*ROWS, *HEAVY) for extra in row.extras}
    assert set(EXTRAS) - told == {"fast"}
