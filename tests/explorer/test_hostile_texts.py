"""Texts that would harm a page, a browser or the server; builds that change while they are read; a crawl."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from explorer_browser import ExplorerBrowser
from small_build import SOURCE, STEP, write_small_build

from benchbuilder.core import StoreError
from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading.branch_pages import BranchFilter, read_page
from benchbuilder.explorer.reading.build_summaries import summarise_build
from benchbuilder.explorer.reading.live_progress import read_progress
from benchbuilder.explorer.reading.step_parts import parts_of
from benchbuilder.explorer.reading.text_search import TextQuery

HOSTILE = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</textarea><svg onload=alert(1)>", "{{ 7 * 7 }}",
    "before\u202eafter\u2066x\u2069", "a\x1b[2J\x1b]0;title\x07b", "null\x00byte", "javascript:alert(1)",
    "'; DROP TABLE x", "line\u2028break\r\nand\ttab", "\U0001f469\u200d\U0001f52c", "ﷺ" * 50,
    "long " + "糖尿病" * 3_400_000, "end",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> ExplorerBrowser:
    folder = write_small_build(tmp_path_factory.mktemp("hostile") / "<i>build", HOSTILE, file="<u>.jsonl")
    return ExplorerBrowser(BuildFolder("<i>build", folder))


def check(page: str, path: str) -> None:
    body = page.replace("\r\n", "\n")
    assert not re.search(r"<(i|u|b|img|textarea)[ >]", body), path
    assert body.count("<script") == body.count('<script src="/static/'), path
    assert "onerror=alert(1)>" not in body, path
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", body), path
    assert not re.search(r'(href|src|action)="(?!/|#)', body), path
    assert len(body) < 1_500_000, path


@pytest.mark.full
def test_hostile_texts_stay_texts_on_every_page(hostile: ExplorerBrowser) -> None:
    seen: set[str] = set()
    waiting = ["/"]
    base = f"/b/{quote('<i>build')}"
    while waiting:
        path = waiting.pop()
        seen.add(path)
        answer = hostile.get(path)
        assert answer.status_code in (200, 404), (path, answer.text[:500])
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        check(answer.text, path)
        if answer.status_code == 200 and len(seen) < 160:
            found = [
                link for link in hostile.links(path) if link.startswith((f"{base}/row", f"{base}/unit", base + "/"))
            ]
            waiting += [link for link in dict.fromkeys(found) if link not in seen and link not in waiting]
    assert sum("/row/" in path for path in seen) >= len(HOSTILE)
    assert sum("/unit/" in path for path in seen) >= len(HOSTILE)


@pytest.mark.full
def test_a_hostile_search_is_a_text(hostile: ExplorerBrowser) -> None:
    base = f"/b/{quote('<i>build')}"
    for text in HOSTILE[:-2]:
        answer = hostile.get(f"{base}/rows?step={SOURCE}&q={quote(text)}")
        check(answer.text, text)
        assert answer.status_code == 200
        assert f">{HOSTILE.index(text) + 1}<" in answer.text.replace("&lt;u&gt;.jsonl:", ">"), text
    for name in ("step", "source", "outcome", "reason", "after", "sort", "sample", "re", "lines"):
        check(hostile.get(f"{base}/rows?{name}={quote(HOSTILE[1])}").text, name)


@pytest.mark.push
def test_a_search_at_borders_of_parts_equals_python(hostile: ExplorerBrowser) -> None:
    build = next(iter(hostile.site.builds.values()))
    for step in (SOURCE, STEP):
        parts = parts_of(build, build.manifest(step))
        for word in ("<script>", "\u202e", "\x00", "糖尿病" * 1_000, "\U0001f52c", "end", "long 糖", "病end"):
            page = read_page(parts, BranchFilter(query=TextQuery(word)), size=99)
            assert [row.unit for row in page.rows] == [n for n, text in enumerate(HOSTILE, 1) if word in text]


def digest_of(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*")) if path.is_file()
    }  # fmt: skip


@pytest.mark.full
def test_a_crawl_changes_no_file_and_finds_no_broken_page(browser: ExplorerBrowser, care_mi: Path) -> None:
    before = digest_of(care_mi)
    seen: set[str] = set()
    kinds: dict[str, int] = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop(0)
        if path in seen or path.startswith(("/static/", "/language/")):
            continue
        seen.add(path)
        kind = re.sub(r"(row|unit)/.*", r"\1", path.partition("?")[0]) + "?".join(
            sorted(re.findall(r"[?&](\w+)=", path))
        )
        if kinds.setdefault(kind, 0) >= 3:
            continue
        kinds[kind] += 1
        answer = browser.get(path)
        assert answer.status_code < 400, (path, answer.status_code)
        if answer.headers["content-type"].startswith("text/html"):
            waiting += re.sub("&amp;", "&", "\n".join(re.findall(r'href="(/[^"#]*)', answer.text))).split("\n")
    assert len(kinds) > 25
    assert digest_of(care_mi) == before


@pytest.mark.push
def test_a_step_that_is_replaced_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    folder = write_small_build(tmp_path / "build", HOSTILE[:4] * 5)
    browser = ExplorerBrowser(BuildFolder("build", folder))
    place = next((folder / "store" / "steps" / STEP).glob("*/"))
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            place.rename(place.with_name("away"))
            stop.wait(0.005)
            place.with_name("away").rename(place)
            stop.wait(0.25)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        answers = [browser.get(f"/b/build/rows?step={STEP}").status_code for _ in range(25)]
    finally:
        stop.set()
        thread.join()
    assert answers.count(200) >= 24, answers


def test_a_step_that_is_gone_says_so(tmp_path: Path) -> None:
    folder = write_small_build(tmp_path / "build", HOSTILE[:4])
    browser = ExplorerBrowser(BuildFolder("build", folder))
    for part in (folder / "store" / "steps" / STEP).rglob("part-*.parquet"):
        part.unlink()
    answer = browser.get(f"/b/build/rows?step={STEP}")
    assert answer.status_code == 503
    assert "This step cannot be read now" in answer.text


def test_a_build_at_work_shows_what_it_made(tmp_path: Path) -> None:
    folder = write_small_build(tmp_path / "build", HOSTILE[:9])
    build = BuildFolder("build", folder)
    place = next((folder / "store" / "steps" / STEP).glob("*/"))
    shutil.copytree(place, place.with_name(f"{place.name}.draft"))
    (place / "manifest.json").unlink()
    shutil.rmtree(place)
    browser = ExplorerBrowser(build)
    assert read_progress(build).is_at_work is False
    (folder / "store" / "lock").touch()
    progress = read_progress(build)
    assert progress.is_at_work
    assert [(step.step, step.made, step.shards, step.total) for step in progress.steps] == [(STEP, 9, 3, 9)]
    page = browser.text("/b/build/")
    assert "A build is at work here" in page
    assert 'data-progress="/b/build/progress"' in page
    assert 'href="/b/build/"' in page, "the link that loads it again, without a script"
    assert "9 of 9" in browser.text("/b/build/progress")
    (folder / "run.jsonl").write_text(json.dumps({"waiting": {}}) + "\n", encoding="utf-8")
    assert browser.get("/b/build/progress").status_code == 204


@pytest.mark.skipif(not Path("/proc/locks").is_file(), reason="this system lists no locks")
def test_a_build_is_at_work_as_long_as_it_holds_its_lock(tmp_path: Path) -> None:
    folder = write_small_build(tmp_path / "build", HOSTILE[:4])
    build, lock = BuildFolder("build", folder), folder / "store" / "lock"
    hour_ago = time.time() - 3600
    with build.store.lock():
        for path in (lock, *(folder / "store").rglob("*")):
            os.utime(path, (hour_ago, hour_ago))
        assert read_progress(build).is_at_work, "a model may be slow"
        assert summarise_build(build).state == "building"
        with pytest.raises(StoreError), build.store.lock():
            pass
    lock.touch()
    os.utime(lock, (time.time() - 20,) * 2)
    assert not read_progress(build).is_at_work, "it was killed twenty seconds ago"
