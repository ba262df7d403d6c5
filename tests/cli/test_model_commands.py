"""Looking at what models are asked and what they write: prompt, preview, trace, replies."""

from __future__ import annotations

import json
import re
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from writing_server import SECRET, FakeOpenAI, ids, words, writing

from benchbuilder.cli.dispatch import main
from benchbuilder.testing import fake_openai_server

BARE = ["recipe=care_mi", "source=[mlecqa,textbook]", "annotation=none"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeOpenAI]:
    with writing(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, server: FakeOpenAI) -> Path:
    """A folder in which the sample was built with a model, after a preview of two rows."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        before = len(server.log())  # of tests that ran earlier in this worker
        assert main(["preview", "n=2", *BARE, *words(server), "--html", "preview.html"]) == 0
        asked = len(server.log(before))
        assert asked > 0
        assert main(["preview", "n=2", *BARE, *words(server)]) == 0
        assert len(server.log(before)) == asked
        assert main([*BARE, *words(server)]) == 0
        bodies = [line["hash"] for line in server.log(before)]
        assert len(bodies) > 2 * asked
        assert not set(bodies[:asked]) & set(bodies[asked:])  # what the preview asked was not asked again
    return folder


@pytest.fixture
def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.push
def test_prompts_are_listed_with_their_steps(empty: Path, capsys: Capture) -> None:
    assert main(["prompt", "ls", *BARE]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["zh/qa2d.j2", "state_choice", "prompt", "rules_then_model", "none"] in lines
    assert not (empty / "builds").exists()


@pytest.mark.push
def test_prompts_of_an_evaluation_are_listed_and_put_by_no_step(empty: Path, capsys: Capture) -> None:
    asked = [*BARE, "evaluation=[zh_claims,zh_prompted]"]
    assert main(["prompt", "ls", *asked]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    judge = "evaluation.judges.prompted_interpretability"
    assert ["zh/judge_interpretability.j2", judge, "prompt"] in lines
    assert not (empty / "builds").exists()
    assert main(["prompt", "show", "judge_interpretability", *asked]) == 2
    said = capsys.readouterr().err
    assert "zh/judge_interpretability.j2 is put to no row of a step" in said
    assert f"benchbuild show {judge}.prompt names the file" in said


@pytest.mark.push
@pytest.mark.parametrize("name", ["qa2d", "zh/qa2d.j2", "qa2d.j2", "state_choice"])
def test_a_prompt_is_shown_without_a_model_and_without_a_build(empty: Path, name: str, capsys: Capture) -> None:
    assert main(["prompt", "show", name, *BARE, "--row", "care_mi/sample/mlecqa/Clinic_dev.json:1"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("state_choice  fact-")
    assert "--- system" in told
    assert told.count("--- user") == 1
    assert "陈述句：" in told
    assert "settings:  temperature 0.0, max_new_tokens 128" in told
    assert "model:     none is set" in told


@pytest.mark.push
def test_the_key_and_the_reply_are_those_of_the_build(at_home: Path, server: FakeOpenAI, capsys: Capture) -> None:
    ledger = (at_home / "builds/care_mi/items.jsonl").read_text(encoding="utf-8")
    assert main(["peek", "state_choice", "-n", "500", *BARE, *words(server)]) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    written = ids(next(block for block in blocks if re.search(r"^joined +model", block, re.MULTILINE)), "statement")[0]
    assert main(["prompt", "show", "qa2d", "--row", written, *BARE, *words(server)]) == 0
    told = capsys.readouterr().out
    assert "model:     gpt-4o-mini" in told
    assert server.base_url in told
    assert "journal:   complete" in told
    assert SECRET not in told + ledger
    user = told.partition("--- user\n")[2].partition("\n\n---\n")[0]
    assert user in [line["user"] for line in server.log()]


@pytest.mark.push
def test_rows_are_found_by_what_they_come_from_and_what_came_of_them(
    at_home: Path, server: FakeOpenAI, capsys: Capture
) -> None:
    items = (at_home / "builds/care_mi/items.jsonl").read_text(encoding="utf-8").splitlines()
    item = json.loads(items[0])
    shown: set[str] = set()
    for row in (item["id"], item["fact"], item["origin"]):
        assert main(["prompt", "show", "state_choice", "--row", row, *BARE, *words(server)]) == 0
        shown.add(capsys.readouterr().out.splitlines()[0])
    assert shown == {f"state_choice  {item['fact']}  {item['origin']}"}
    told = ""
    while "a rule makes this row: " not in told:
        assert main(["prompt", "show", "negate", "--row", json.loads(items.pop())["fact"], *BARE, *words(server)]) == 0
        told = capsys.readouterr().out
    assert "a model would get this request:" in told


@pytest.mark.push
@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (["show", "qa3d"], 2, "did you mean 'qa2d'?"),
        (["show", "facts_choice"], 2, "this step has no prompt"),
        (["show"], 2, "no prompt was named"),
        (["show", "qa2d", "--row", "fact-0"], 3, "'fact-0' is not an input row of step 'state_choice'"),
        (["show", "qa2d", "--row", "nowhere.json:7"], 3, "FILE:LINE"),
    ],
)
def test_wrong_words(at_home: Path, asked: list[str], code: int, message: str, capsys: Capture) -> None:
    assert main(["prompt", *asked, *BARE]) == code
    assert message in capsys.readouterr().err


@pytest.mark.full
def test_a_preview_shows_prompt_reply_and_result_and_what_it_cost(
    empty: Path, server: FakeOpenAI, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert (
        main(["preview", "n=5", *BARE, *words(server), "steps.state_choice.strategy=model", "--html", "page.html"]) == 0
    )
    told = capsys.readouterr().out
    assert "5 rows" in told
    assert "asked again" in told  # a repair round
    assert "\x1b" not in told
    assert "calls of gpt-4o-mini" in told
    assert "items                left out: people decide" in told
    page = (empty / "page.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "http" not in page.replace("http-equiv", "")
    full = capsys.readouterr().out
    assert main(["preview", "n=1", "--full", *BARE, *words(server)]) == 0
    full = capsys.readouterr().out
    assert "cost nothing" in full
    assert "[system]" in full


@pytest.mark.push
def test_a_preview_without_a_model_says_what_would_be_asked(empty: Path, capsys: Capture) -> None:
    assert main(["preview", "n=2", *BARE]) == 0
    told = capsys.readouterr().out
    assert "(would be asked)" in told
    assert "[by rule]" in told
    assert "no model is set" in told
    assert not (empty / "builds/care_mi/replies.sqlite").exists()


@pytest.mark.parametrize("word", ["n=0", "n=two", "n="])
def test_a_preview_of_no_number_of_rows(empty: Path, word: str, capsys: Capture) -> None:
    assert main(["preview", word, *BARE]) == 2
    assert "n is a number of rows" in capsys.readouterr().err


@pytest.mark.push
def test_why_shows_the_prompt_and_the_reply(at_home: Path, server: FakeOpenAI, capsys: Capture) -> None:
    assert main(["peek", "state_choice", "-n", "500", *BARE, *words(server)]) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    written = ids(next(block for block in blocks if re.search(r"^joined +model", block, re.MULTILINE)), "statement")[0]
    assert main(["why", written, *BARE, *words(server)]) == 0
    told = capsys.readouterr().out
    assert "produced by state_choice/model/zh/qa2d.j2" in told
    assert "--- user" in told
    assert re.search(rf"--- reply of gpt-4o-mini at {server.base_url} \(complete, \d+ \+ \d+ tokens\)", told)
    assert re.search(r"^origin: .+:\d+\nstate_choice > ", told, re.MULTILINE)
    assert re.search(r"--- user\n +\[\.\.\. \d+ characters\]", told)
    assert main(["why", written, "--full", *BARE, *words(server)]) == 0
    full = capsys.readouterr().out
    assert "characters]" not in full
    assert len(full) > len(told) + 500


@pytest.mark.push
def test_why_shows_each_paragraph_once(at_home: Path, server: FakeOpenAI, capsys: Capture) -> None:
    item = json.loads((at_home / "builds/care_mi/items.jsonl").read_text(encoding="utf-8").splitlines()[0])
    paragraph = item["evidence"][0] if isinstance(item["evidence"], list) else item["evidence"].splitlines()[0]
    assert main(["why", item["id"], *BARE, *words(server)]) == 0
    told = capsys.readouterr().out
    evidence = told.partition("\nclean")[0]
    assert sum(line.strip() in (paragraph, f"text: {paragraph}") for line in evidence.splitlines()) <= 1
    assert f"text: as in {item['id']}" in told


@pytest.mark.push
@pytest.mark.parametrize("command", [["why", "ITEM"], ["peek", "state_choice"]])
def test_the_words_of_the_build_are_told(
    at_home: Path, server: FakeOpenAI, command: list[str], capsys: Capture
) -> None:
    item = json.loads((at_home / "builds/care_mi/items.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    asked = [item["id"] if word == "ITEM" else word for word in command]
    assert main([*asked, *BARE]) == 3
    told = capsys.readouterr().err
    assert "this folder was last built with other settings: give the arguments of that build: " in told
    assert shlex.join([*BARE, *words(server)]) in told
    assert SECRET not in told
    # an id that is nowhere is no question of words
    assert main([*(word if word != "ITEM" else "item-0" for word in command), *BARE, *words(server)]) in (0, 3)
    assert "another recipe" not in capsys.readouterr().err


@pytest.mark.push
def test_a_typo_in_a_step_is_no_question_of_words(at_home: Path, capsys: Capture) -> None:
    assert main(["peek", "state_chioce", *BARE]) == 3
    assert "did you mean 'state_choice'?" in capsys.readouterr().err


@pytest.mark.full
def test_the_replies_of_a_build_rebuild_it_with_no_key(
    at_home: Path, server: FakeOpenAI, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["save-replies", *BARE, *words(server), "--output", "replies.jsonl"]) == 0
    told = capsys.readouterr().out
    assert "model=replay model.replies=replies.jsonl" in told
    assert "without one" not in told
    first = (at_home / "replies.jsonl").read_bytes()
    assert SECRET.encode() not in first
    assert str(at_home).encode() not in first
    asked = len(server.log())
    monkeypatch.delenv("OPENAI_API_KEY")
    assert main([*BARE, "model=replay", "model.replies=replies.jsonl", "run.dir=builds/again"]) == 0
    assert len(server.log()) == asked
    for name in ("items.jsonl", "candidates.jsonl", "ledger.tsv"):
        assert (at_home / "builds/again" / name).read_bytes() == (at_home / "builds/care_mi" / name).read_bytes()
    again = [*BARE, "model=replay", "model.replies=replies.jsonl", "model.name=gpt-4o-mini", "run.dir=builds/again"]
    assert main(["save-replies", *again, "--output", "second.jsonl"]) == 0
    assert main([*again]) == 0
    assert main(["save-replies", *again, "--output", "second.jsonl"]) == 0
    assert (at_home / "second.jsonl").read_bytes() == first


@pytest.mark.full
def test_replies_that_are_missing_are_counted(empty: Path, server: FakeOpenAI, capsys: Capture) -> None:
    assert main(["save-replies", *BARE, *words(server, "never-asked"), "--output", "replies.jsonl"]) == 0
    told = capsys.readouterr().out
    assert "requests without one" in told
    assert "build with the same arguments first" in told


@pytest.mark.push
def test_replies_of_a_recipe_without_a_model_are_not_written(
    at_home: Path, server: FakeOpenAI, capsys: Capture
) -> None:
    assert main(["save-replies", *BARE, "--output", "none.jsonl"]) == 2
    told = capsys.readouterr().err
    assert "this recipe asks no model: give the overrides of the build" in told
    assert f"model.base_url={server.base_url}" in told
    assert not (at_home / "none.jsonl").exists()


@pytest.mark.full
def test_replies_suggest_another_folder(empty: Path, server: FakeOpenAI, capsys: Capture) -> None:
    asked = [*BARE, *words(server), "run.dir=b2"]
    assert main(asked) == 0
    assert main(["save-replies", *asked, "--output", "replies.jsonl"]) == 0
    told = capsys.readouterr().out
    line = next(line for line in told.splitlines() if line.startswith("next: benchbuild recipe="))
    assert "run.dir=b2_again " in line
    assert "run.dir=b2 " not in line


@pytest.fixture
def nobody() -> list[str]:
    """The words of a model where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return ["model=openai", "model.name=gone", f"model.base_url=http://127.0.0.1:{port}/v1", "model.retries=0"]


@pytest.mark.push
def test_a_preview_of_a_dead_service_fails(empty: Path, nobody: list[str], capsys: Capture) -> None:
    assert main(["preview", "n=1", *BARE, *nobody, "--html", "page.html"]) == 4
    told = capsys.readouterr()
    assert "no connection to 127.0.0.1" in told.err
    assert "cost nothing" not in told.out
    assert not (empty / "page.html").exists()


@pytest.mark.full
def test_a_preview_of_a_service_that_fails_says_so(empty: Path, server: FakeOpenAI, capsys: Capture) -> None:
    server.configure(rules=[{"do": "server_error"}])
    try:
        assert main(["preview", "n=1", *BARE, *words(server), "model.retries=0", "--html", "page.html"]) == 4
    finally:
        server.configure(rules=[])
    told = capsys.readouterr().out
    assert re.search(r"^\d requests? failed: .*500", told, re.MULTILINE)
    assert "cost nothing" not in told
    assert "the replies are stored" not in told
    page = (empty / "page.html").read_text(encoding="utf-8")
    assert "failed: " in page
    assert "every reply was stored already" not in page


@pytest.mark.full
def test_the_page_of_a_preview_has_the_other_steps_in_one_table(empty: Path) -> None:
    assert main(["preview", "n=1", *BARE, "--html", "page.html"]) == 0
    page = (empty / "page.html").read_text(encoding="utf-8")
    parts = page.split("<section>")[1:]
    assert all("<table>" in part for part in parts[:-1])
    assert any("<h2>Steps without rows to look at</h2>" in part and "screen_options" in part for part in parts)


@pytest.mark.full
def test_a_preview_says_where_no_row_came_through(empty: Path, server: FakeOpenAI, capsys: Capture) -> None:
    with fake_openai_server({"fixed": "This is no sentence that any check accepts"}) as stubborn:
        assert main(["preview", "n=1", *BARE, *words(stubborn)]) == 0
    told = capsys.readouterr().out
    assert "no row came through state_choice; n=5 shows more" in told
    assert " 1 rows" not in told
    assert " 1 calls" not in told
