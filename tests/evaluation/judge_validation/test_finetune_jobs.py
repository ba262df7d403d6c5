"""Jobs of a service in another process, over real HTTP: none is made twice, whatever breaks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import patience
import pytest

from benchbuilder.core.errors import ServiceError, StoreError
from benchbuilder.evaluation.judge_training.finetune_jobs import (
    JobClient,
    JobGoneError,
    JobLog,
    JobRequest,
    JobStatus,
    wait_for_job,
)
from benchbuilder.models.base import BatchGoneError
from benchbuilder.models.providers.openai import OpenAIModel, OpenAISpec
from benchbuilder.models.providers.openai_tuning import MARK, JobOrder
from benchbuilder.testing import FakeOpenAI, fake_openai_server
from benchbuilder.testing.fake_openai.behaviour import TuningBehaviour

SECRET = "sk-proj-Qm4vT9bN2xK8wR6p"
JOBS = "POST /v1/fine_tuning/jobs"


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with fake_openai_server() as started:
        yield started


@pytest.fixture(autouse=True)
def _fresh(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OPENAI_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server.reset()
    behave(server)


def behave(server: FakeOpenAI, rules: list[dict[str, Any]] | None = None, **tuning: Any) -> None:
    server.configure(
        rules=rules or [], api_key=SECRET, tuning={**TuningBehaviour(polls=0).model_dump(mode="json"), **tuning}
    )


def failing(do: str, path: str = "/v1/fine_tuning/jobs", method: str = "POST", **when: Any) -> dict[str, Any]:
    return {"when": {"path": path, "method": method, **when}, "do": do}


def wanted(folder: Path, examples: int = 12, **more: Any) -> JobRequest:
    line = [{"role": "user", "content": "打分"}, {"role": "assistant", "content": "0.80"}]
    for name in ("train.jsonl", "valid.jsonl"):
        text = json.dumps({"messages": line}, ensure_ascii=False) + "\n"
        (folder / name).write_text(text * examples, encoding="utf-8")
    given: dict[str, Any] = {
        "part": "trial", "content": "c" * 64, "suffix": "correctness", "model": "small",
        "hyperparameters": {"n_epochs": 3}, "training": folder / "train.jsonl",
        "validation": folder / "valid.jsonl", "seed": 7, "metadata": True,
    }  # fmt: skip
    return JobRequest(**{**given, **more})


def desk_of(server: FakeOpenAI, folder: Path, notes: list[str] | None = None) -> JobClient:
    spec = OpenAISpec(kind="openai", name="small", base_url=server.base_url, timeout_s=2)
    return JobClient(JobLog(folder), OpenAIModel(spec), (notes if notes is not None else []).append, lambda _: None)


def made(server: FakeOpenAI) -> int:
    """How many jobs there are at the service."""

    async def count() -> int:
        model = OpenAIModel(OpenAISpec(kind="openai", name="small", base_url=server.base_url))
        try:
            return len([job async for job in model.client().fine_tuning.jobs.list()])
        finally:
            await model.close()

    return asyncio.run(count())


def test_a_job_is_written_down_before_it_is_asked_for_and_followed_to_its_end(server: FakeOpenAI, tmp_path: Path):
    behave(server, polls=2)
    desk, notes = desk_of(server, tmp_path), []
    last = desk.submit(wanted(tmp_path))
    assert (last.ident, last.phase) == ("ftjob-1", "running")
    assert [event["event"] for event in JobLog(tmp_path).events()] == ["intended", "created"]
    last = wait_for_job(desk, last, 0.0, notes.append, lambda _: None)
    assert notes == ["ftjob-1: queued", "ftjob-1: running", "ftjob-1: succeeded"]
    assert last.model == "ft:small:org::correctness-cccccccccccc-1:1"
    assert last.trained_tokens
    assert "succeeded" in desk.last_event(last)
    again = JobLog(tmp_path).last_job("trial")
    assert again is not None
    assert (again.model, again.has_ended, desk.poll(again)) == (last.model, True, again)
    assert SECRET not in (tmp_path / "jobs.jsonl").read_text("utf-8")


def test_what_is_asked_for_holds_files_settings_and_our_mark(server: FakeOpenAI, tmp_path: Path):
    last = desk_of(server, tmp_path).submit(wanted(tmp_path))

    async def job() -> Any:
        model = OpenAIModel(OpenAISpec(kind="openai", name="small", base_url=server.base_url))
        try:
            found = await model.client().fine_tuning.jobs.retrieve(last.ident)
            files = [await model.client().files.retrieve(name) for name in (found.training_file, found.validation_file)]
            return found, files
        finally:
            await model.close()

    found, files = asyncio.run(job())
    assert found.model == "small"
    assert found.method.supervised.hyperparameters.n_epochs == 3
    assert found.seed == 7
    assert found.metadata == {MARK: last.mark}
    assert [file.filename for file in files] == [f"{last.mark}-train.jsonl", f"{last.mark}-valid.jsonl"]
    assert {file.purpose for file in files} == {"fine-tune"}


def test_the_same_is_never_asked_for_twice(server: FakeOpenAI, tmp_path: Path):
    first = desk_of(server, tmp_path).submit(wanted(tmp_path))
    assert desk_of(server, tmp_path).submit(wanted(tmp_path)).ident == first.ident
    assert desk_of(server, tmp_path).submit(wanted(tmp_path), retry=True).ident == first.ident
    assert made(server) == 1
    other = desk_of(server, tmp_path).submit(wanted(tmp_path, content="d" * 64))
    assert (other.ident, made(server)) == ("ftjob-2", 2)


@pytest.mark.full
@pytest.mark.parametrize("metadata", [True, False])
@pytest.mark.parametrize("do", ["drop_after", "drop_midway", "hang"])
def test_a_job_whose_answer_is_lost_is_found_again(server: FakeOpenAI, tmp_path: Path, do: str, metadata: bool):
    """By its mark, or by its suffix where a service keeps no metadata; the list may lag behind."""
    behave(server, [failing(do, nth=[1])], metadata=metadata, unlisted=2)
    notes: list[str] = []
    last = desk_of(server, tmp_path, notes).submit(wanted(tmp_path, metadata=metadata))
    assert last.ident == "ftjob-1"
    assert any("was made before" in note for note in notes)
    assert made(server) == 1
    assert desk_of(server, tmp_path).submit(wanted(tmp_path, metadata=metadata)).ident == "ftjob-1"
    assert made(server) == 1


def test_where_nobody_knows_whether_there_is_a_job_none_is_made(server: FakeOpenAI, tmp_path: Path):
    behave(server, [failing("drop_after", nth=[1])], unlisted=3)
    with pytest.raises(ServiceError, match="it is unknown"):
        desk_of(server, tmp_path).submit(wanted(tmp_path))
    assert desk_of(server, tmp_path).submit(wanted(tmp_path)).ident == "ftjob-1"
    assert made(server) == 1


@pytest.mark.push
@pytest.mark.parametrize(("do", "jobs"), [("rate_limit", 1), ("server_error", 0), ("drop_before", 0)])
def test_only_a_request_that_was_turned_away_is_repeated(server: FakeOpenAI, tmp_path: Path, do: str, jobs: int):
    behave(server, [failing(do, nth=[1])])
    if jobs:
        desk_of(server, tmp_path).submit(wanted(tmp_path))
    else:
        with pytest.raises(ServiceError, match="it is unknown"):
            desk_of(server, tmp_path).submit(wanted(tmp_path))
    assert made(server) == jobs
    assert desk_of(server, tmp_path).submit(wanted(tmp_path)).ident == "ftjob-1"
    assert made(server) == 1


@pytest.mark.full
def test_a_killed_submit_finds_its_job(server: FakeOpenAI, tmp_path: Path):
    """kill -9 after the service made the job and before we heard of it."""
    behave(server, [failing("hang", nth=[1])])
    wanted(tmp_path)
    folders = [str(Path(str(file)).parent) for file in (__file__, patience.__file__)]
    program = (
        f"import sys\nfrom pathlib import Path\nsys.path[:0] = {folders!r}\n"
        "import test_finetune_jobs as t\nfrom benchbuilder.testing import FakeOpenAI\n"
        f"folder = Path({str(tmp_path)!r})\n"
        f"t.desk_of(FakeOpenAI({server.port}, None), folder).submit(t.wanted(folder))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "OPENAI_API_KEY": SECRET}) as process:
        patience.until(lambda: server.stats()["calls"].get(JOBS, 0) or process.poll() is not None)
        process.kill()
    assert made(server) == 1
    assert [event["event"] for event in JobLog(tmp_path).events()] == ["intended"]
    assert desk_of(server, tmp_path).submit(wanted(tmp_path)).ident == "ftjob-1"
    assert made(server) == 1


@pytest.mark.push
def test_a_job_that_failed_says_why_and_is_made_again_only_when_told_so(server: FakeOpenAI, tmp_path: Path):
    behave(server, end="failed", message=f"the key {SECRET} has no quota")
    desk = desk_of(server, tmp_path)
    last = desk.poll(desk.submit(wanted(tmp_path)))
    assert last.phase == "failed"
    assert "quota" in last.message
    assert SECRET not in last.message
    with pytest.raises(ServiceError, match=r"ftjob-1 .* failed"):
        desk.submit(wanted(tmp_path))
    assert made(server) == 1
    behave(server)
    last = desk.submit(wanted(tmp_path), retry=True)
    assert (last.ident, last.attempt, last.mark) == ("ftjob-2", 2, "c" * 12 + "-2")
    assert desk.poll(last).phase == "succeeded"


def test_a_file_that_the_service_refuses_makes_the_job_fail(server: FakeOpenAI, tmp_path: Path):
    desk = desk_of(server, tmp_path)
    last = desk.poll(desk.submit(wanted(tmp_path, examples=3)))
    assert last.phase == "failed"
    assert "at least 10 examples" in last.message


def test_a_job_can_be_ended(server: FakeOpenAI, tmp_path: Path):
    behave(server, polls=50)
    desk = desk_of(server, tmp_path)
    last = desk.cancel(desk.submit(wanted(tmp_path)))
    assert last.phase == "cancelled"
    assert desk.cancel(last) == last


@pytest.mark.push
@pytest.mark.parametrize(
    ("rules", "tuning", "message"),
    [
        ([], {"closed": True}, "may not use"),
        ([failing("unauthorized", "/v1/files")], {}, "does not accept the key"),
        ([{"when": {"path": "/v1/fine_tuning"}, "do": "status", "status": 404}], {}, "has no fine-tuning jobs"),
        ([{"when": {"path": "/v1/fine_tuning", "method": "POST"}, "do": "status", "status": 400,
           "message": "Model small is not available for fine-tuning"}], {}, "fine-tuning job"),
        ([failing("server_error", "/v1/files")], {}, "does not answer"),
    ],
)  # fmt: skip
def test_a_service_that_does_not_do_it_says_so_once(
    server: FakeOpenAI, tmp_path: Path, rules: list[dict[str, Any]], tuning: dict[str, Any], message: str
):
    behave(server, rules, **tuning)
    with pytest.raises(ServiceError) as caught:
        desk_of(server, tmp_path).submit(wanted(tmp_path))
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)
    behave(server)
    assert desk_of(server, tmp_path).submit(wanted(tmp_path)).ident == "ftjob-1"


def test_a_job_that_is_gone_is_said_to_be(server: FakeOpenAI, tmp_path: Path):
    desk = desk_of(server, tmp_path)
    last = desk.submit(wanted(tmp_path))
    server.reset()
    with pytest.raises(JobGoneError, match="no longer knows the job ftjob-1"):
        desk.poll(last)
    assert desk.submit(wanted(tmp_path), retry=True).attempt == 2
    assert made(server) == 1


def test_two_at_once_do_not_ask_both(server: FakeOpenAI, tmp_path: Path):
    with JobLog(tmp_path).lock(), pytest.raises(StoreError, match="another process"):
        desk_of(server, tmp_path).submit(wanted(tmp_path))
    assert made(server) == 0


@pytest.mark.parametrize("tail", ['{"event": "crea', '{"event": "created", "mark": "m-1", "ident": "x"', "\x00\x00"])
def test_a_line_that_a_kill_cut_off_is_passed_over(tmp_path: Path, tail: str):
    book = JobLog(tmp_path)
    book.add("intended", "m-1", part="trial", content="c", attempt=1, endpoint="http://x/v1", base="b")
    with (tmp_path / "jobs.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(tail)
    assert len(book.events()) == 1
    book.add("created", "m-1", ident="ftjob-9")
    standing = book.last_job("trial")
    assert standing is not None
    assert standing.ident == "ftjob-9"


@pytest.mark.push
def test_the_last_job_of_a_part_and_of_a_content_is_known(tmp_path: Path):
    book = JobLog(tmp_path)
    assert book.last_job() is None
    for mark, part, content in (("a-1", "trial", "a"), ("b-1", "everything", "b"), ("a-2", "trial", "a")):
        book.add("intended", mark, part=part, content=content, attempt=int(mark[-1]), endpoint="e", base="b")
    book.add("ended", "a-1", phase="failed", message="failed")

    def mark(**of: str) -> str | None:
        found: JobStatus | None = book.last_job(**of)
        return None if found is None else found.mark

    assert mark(part="trial") == "a-2"
    assert mark(content="b") == "b-1"
    assert mark(part="everything", content="a") is None


@pytest.mark.push
def test_the_adapter_looks_through_every_page(server: FakeOpenAI, tmp_path: Path):
    behave(server, polls=99)
    desk_of(server, tmp_path).submit(wanted(tmp_path))

    async def work() -> None:
        model = OpenAIModel(OpenAISpec(kind="openai", name="small", base_url=server.base_url))
        tuning = model.tuning()
        try:
            file = await tuning.upload(tmp_path / "train.jsonl", "x.jsonl")
            for number in range(120):
                await tuning.create(JobOrder(f"other-{number}", f"s-{number}", "small"), file, None)
            first = JobOrder("c" * 12 + "-1", "none", "small")
            assert await tuning.find(first) == "ftjob-1"
            assert await tuning.find(JobOrder("never", "never", "small")) is None
            with pytest.raises(BatchGoneError):
                await tuning.poll("ftjob-999")
        finally:
            await model.close()

    asyncio.run(work())
