"""The commands that build and look into a build, as a user gives them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from doc_blocks import blocks, pages
from once import JUDGED, Once

from benchbuilder.cli.commands import COMMANDS
from benchbuilder.cli.dispatch import main

RECIPE = "recipe=care_mi"
FEW = "source=[medqa,textbook]"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, once: Once) -> Path:
    """A folder in which the sample was built without review."""
    return once.copied((f"{RECIPE} annotation=none {FEW}",), tmp_path_factory.mktemp("home"))


@pytest.fixture
def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return home


def items(home: Path) -> list[dict[str, object]]:
    lines = (home / "builds/care_mi/items.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


LATE_CTRL_C = """
import atexit, os, signal, sys
atexit.register(os.kill, os.getpid(), signal.SIGINT)
from benchbuilder.cli.dispatch import main
sys.argv = ["benchbuild", "--version"]
sys.exit(main())
"""


def test_ctrl_c_after_the_last_line_ends_with_130() -> None:
    ended = subprocess.run([sys.executable, "-c", LATE_CTRL_C], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")
    assert ended.stdout.startswith("benchbuild ")


FILES_OF_COMMANDS = (
    "word-list collect FILE recipe=care_mi", "evaluate --benchmark FILE recipe=care_mi",
    "score-private FILE recipe=care_mi",
    "errata add --from FILE recipe=care_mi", "errata add --release FILE recipe=care_mi", "publish FILE --dry-run",
    "salvage-replies FILE", "votes import csv FILE recipe=care_mi", "judge score ridge_correctness FILE recipe=care_mi",
    "view FILE", "diff FILE FILE", "check --store FILE", "audit --benchmark FILE recipe=care_mi",
)  # fmt: skip


@pytest.mark.parametrize("words", FILES_OF_COMMANDS)
@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_what_is_no_file_is_not_opened(
    words: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a pipe, which may never be written to, nor a device behind a link, which may never end."""
    place = tmp_path / "given.jsonl"
    if kind == "a pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero")
    assert main(words.replace("FILE", str(place)).split()) == 2
    assert f"this is {kind}, not a file" in capsys.readouterr().err


@pytest.mark.push
def test_a_second_build_reuses_everything(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([RECIPE, "annotation=none", FEW]) == 0
    told = capsys.readouterr().out
    assert "reused" in told
    assert "built " not in told
    assert "next: open builds/care_mi/report.html" in told
    assert "illustrative, not checked by experts" in told


@pytest.mark.push
def test_a_reader_of_another_language_does_not_make_a_build_run_again(
    at_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [RECIPE, "annotation=none", FEW]
    build = at_home / "builds" / "care_mi"
    before = {file.name: file.stat().st_mtime_ns for file in build.iterdir() if file.name != "run.jsonl"}
    assert {"report.html", "report.zh.html"} <= before.keys()
    assert '<html lang="en"' in (build / "report.html").read_text("utf-8")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert main(words) == 0
    assert "built " not in capsys.readouterr().out
    assert {file.name: file.stat().st_mtime_ns for file in build.iterdir() if file.name in before} == before
    (build / "report.html").unlink()
    assert main(words) == 0
    assert '<html lang="zh"' in (build / "report.html").read_text("utf-8")
    assert sorted(file.name for file in build.glob("report*")) == ["report.en.html", "report.html"]


@pytest.mark.full
def test_missing_votes_wait_with_75(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main([RECIPE, "paths.votes=null", "source=[mlecqa,textbook]"]) == 75
    told = capsys.readouterr().out
    assert "judgements are missing" in told
    assert "run the same command again" in told
    build = tmp_path / "builds/care_mi"
    assert sorted(path.suffix for path in (build / "annotation/to_fill").glob("[ab]-*")) == [".csv"] * 2 + [".xlsx"] * 2
    assert (build / "candidates.jsonl").exists()
    assert (build / "report.html").exists()
    assert not (build / "items.jsonl").exists()


@pytest.mark.push
def test_plan_says_what_would_run_and_why(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", RECIPE, "annotation=none", FEW]) == 0
    assert ", 0 to run" in capsys.readouterr().out
    assert main(["plan", RECIPE, "annotation=none", FEW, "retriever.top_k=2"]) == 0
    told = capsys.readouterr().out
    assert "2 to run" in told
    assert "retriever.top_k" in told


@pytest.mark.push
def test_why_follows_a_source_line_to_its_ends(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    origin = str(items(at_home)[0]["origin"])
    assert main(["why", origin, RECIPE, "annotation=none", FEW]) == 0
    told = capsys.readouterr().out
    assert f"item - {items(at_home)[0]['id']}" in told
    assert all(": " in line for line in told.splitlines())


@pytest.mark.push
def test_why_names_the_reason_of_a_malformed_line(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = (at_home / "builds/care_mi/ledger.tsv").read_text(encoding="utf-8").splitlines()
    head = ledger[0].split("\t")
    rows = (dict(zip(head, line.split("\t"), strict=True)) for line in ledger[1:])
    row = next(row for row in rows if row["step"] == "medqa" and row["reason"] == "malformed")
    assert main(["why", f"{row['file']}:{row['line']}", RECIPE, "annotation=none", FEW]) == 0
    assert "dropped (malformed)" in capsys.readouterr().out


@pytest.mark.push
def test_why_goes_from_an_item_back_to_its_source_line_and_on_to_its_end(
    at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item = items(at_home)[0]
    words = [str(item["id"]), RECIPE, "annotation=none", FEW]
    assert main(["why", *words]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[-2:] == [f"origin: {item['origin']}", f"items: item - {item['id']}"]
    assert str(item["fact"]) in told.out
    assert main(["trace", *words]) == 0, "the former name"
    assert capsys.readouterr() == (told.out, "note: benchbuild why does what benchbuild trace did\n")


@pytest.mark.push
def test_peek_shows_rows(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peek", "medqa", "-n", "2", RECIPE, "annotation=none", FEW]) == 0
    told = capsys.readouterr().out
    assert "rows of fact[choice], kind multiple_choice" in told
    assert told.count("origin") == 2


@pytest.mark.push
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["peek", "medqua", RECIPE, FEW], 3, "did you mean 'medqa'?"),
        (["why", "fact-0", RECIPE, FEW], 3, "no row of this build has the id 'fact-0'"),
        (["why", "nowhere.jsonl:3", RECIPE, FEW], 3, "no source of this build has a unit nowhere.jsonl:3"),
        (["plan", RECIPE, "--refresh", "evidense"], 2, "did you mean 'evidence'?"),
        (["paln", RECIPE], 2, "did you mean 'plan'?"),
        (["plan"], 2, "no recipe was named"),
    ],
)
def test_wrong_words(at_home: Path, words: list[str], code: int, message: str,
                     capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    assert main([*words, "annotation=none"] if len(words) > 1 else words) == code
    assert message in capsys.readouterr().err


@pytest.mark.push
def test_a_closed_pipe_is_no_error(at_home: Path) -> None:
    command = f"{sys.executable} -c 'from benchbuilder.cli.dispatch import main; main()' show --all {RECIPE} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def _until_it_serves(command: str) -> str:
    """A script that runs a command which does not end, and stops it once it serves."""
    return (
        f"{command} > served.txt & pid=$!\n"
        'until grep -Eq "serving at| at http://" served.txt; do kill -0 $pid; sleep 0.2; done\n'
        "kill -INT $pid; wait $pid || true; rm served.txt"
    )


PUBLISHING = ("release", "publish", "score-private", "export")
"""Examples of these need an account, or a version that is new each time: tests/publishing and how-tos run them."""


@pytest.mark.full
def test_the_examples_of_every_help_run_unless_a_page_runs_them(tmp_path: Path, warm_folder: Path, once: Once) -> None:
    assert COMMANDS.keys() >= set(PUBLISHING)
    elsewhere = {
        line for page in pages() for block in blocks(page) if not block.skipped for line in block.text.split("\n")
    }
    examples = [
        _until_it_serves(example) if name in ("review", "view") else example
        for name, command in COMMANDS.items()
        if name not in ("build", *PUBLISHING)
        for example in command.examples
        if example not in elsewhere
    ]
    assert len(examples) > 10
    once.copied(JUDGED, tmp_path)
    organs = ("heart", "liver", "kidney", "lung", "brain", "skin")
    rows = [f"Which organ does disease {n} affect?,{organs[n]},{organs[n - 1]},{organs[n - 2]},A\n" for n in range(6)]
    (tmp_path / "FILE").write_text("question,A,B,C,answer\n" + "".join(rows), encoding="utf-8")
    (tmp_path / "terms.txt").write_text("妊娠期糖尿病\n母乳喂养\n", encoding="utf-8")  # the list of an example
    journals = [f"builds/care_mi/{name}replies.sqlite" for name in ("", "evaluation/")]
    make = "import sys; from pathlib import Path; from benchbuilder.models.gateway.journal_file import make_tables; "
    make = f"{sys.executable} -c '{make} [make_tables(Path(p)) for p in sys.argv[1:]]' {' '.join(journals)}"
    examples = [f"mkdir -p builds/care_mi/evaluation; {make}", *examples]
    (tmp_path / "recipes" / "local").mkdir(parents=True)  # the folder that an example trusts
    build = [example for example in COMMANDS["build"].examples if example not in elsewhere]
    script = "\n".join([*examples, *build])
    path = f"{warm_folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
    kept = {name: value for name, value in os.environ.items() if name.endswith(("_NUM_THREADS", "_CACHE"))}
    environment = {"PATH": path, "HOME": str(tmp_path), "BROWSER": "true"} | kept
    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.full
def test_no_output_tells_where_the_files_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "secret-place"
    place.mkdir()
    line = '{"document": "b", "title": "t", "text": "新生儿黄疸是新生儿期常见的表现，多数无需特殊治疗。"}\n'
    (place / "mine.jsonl").write_text(line, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = [RECIPE, "annotation=none", "source=[mlecqa,textbook]", f"paths.textbook={place / 'mine.jsonl'}"]
    assert main(words) == 0
    written = [path for path in (tmp_path / "builds/care_mi").iterdir() if path.is_file()]
    assert len(written) >= 8
    assert [path.name for path in written if b"secret-place" in path.read_bytes()] == []
    assert "mine.jsonl" in (tmp_path / "builds/care_mi/recipe.yaml").read_text(encoding="utf-8")


@pytest.mark.full
def test_what_no_longer_holds_is_taken_away_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = [RECIPE, "source=[mlecqa,textbook]"]
    assert main([*small, "annotation=none"]) == 0
    assert "removed outdated" not in capsys.readouterr().out
    assert main([*small, "paths.votes=null"]) == 75
    assert "builds/care_mi/items.jsonl" in capsys.readouterr().out.partition("removed outdated")[2]
    assert main([*small, "annotation=none"]) == 0
    assert (tmp_path / "builds/care_mi/items.jsonl").exists()


@pytest.mark.push
def test_a_benchmark_without_items_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    question = {"qtext": "新生儿最常见的黄疸是", "options": {"A": "生理性", "B": "病理性"}, "answer": "1"}
    (tmp_path / "Clinic_train.json").write_text(
        json.dumps([question, question | {"qtext": "婴儿的主食是"}]), encoding="utf-8"
    )
    words = [RECIPE, "annotation=none", "source=[mlecqa,textbook]", f"paths.mlecqa={tmp_path}"]
    words += [f"sources.mlecqa.categories.{name}=false" for name in ("PublicHealth", "Stomatology")]
    assert main(words) == 3
    told = capsys.readouterr().out
    assert "no row of source 'mlecqa' could be used (key_not_in_options 2)" in told
    assert "there are no items" in told
