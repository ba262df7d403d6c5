"""Headers, other sites, large bodies, and what must never happen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from review_world import Browser, World, make_world
from starlette.testclient import TestClient

from benchbuilder.web import MAX_BODY, SECURITY_HEADERS, loggable_path

ROUTES = [
    "/", "/help", "/p/claims", "/p/claims/1", "/p/claims/list", "/p/none", "/p/claims/999", "/p/claims/x", "/nothing",
    "/enter/wrong", "/static/review.css", "/static/review.js", "/static/none.css", "/late/30.css", "/late/x.css",
    "/docs", "/openapi.json", "/redoc", "/lead", "/p/claims/1/", "/static/../app.py", "/static/%2e%2e/app.py",
]  # fmt: skip


@pytest.mark.parametrize("name", ["Ann", ""])
def test_every_response_has_the_headers(world: World, name: str) -> None:
    browser = world.browser(name)
    for path in ROUTES:
        answer = browser.get(path)
        kept = path.startswith(("/static/", "/late/")) and answer.status_code == 200
        for header, value in SECURITY_HEADERS.items():
            if not (header == "Cache-Control" and kept):
                assert answer.headers[header] == value, path
        assert answer.status_code < 500
        assert "def create_app" not in answer.text
        if path in ("/docs", "/openapi.json", "/redoc", "/nothing"):
            assert answer.status_code == 404


def test_pages_hold_no_inline_script_or_style_and_nothing_from_elsewhere(world: World) -> None:
    ann = world.browser("Ann")
    for path in ("/", "/help", "/p/claims/1", "/p/claims/list", "/p/ratings/1", "/p/forms/1"):
        page = ann.get(path).text
        assert "style=" not in page
        assert "<style" not in page
        assert " on" + "click" not in page
        assert page.count("<script") == page.count('<script src="/static/')
        assert 'src="http' not in page
        assert "<img" not in page


def test_a_guideline_is_markdown_without_html(world: World) -> None:
    page = world.browser("Ann").get("/p/claims/1").text
    assert "<strong>现行教材和指南</strong>" in page
    assert "<table>" in page
    assert "&lt;script&gt;" in page
    assert 'href="https://example.org/guide" target="_blank" rel="noopener noreferrer"' in page


def _some_post(ann: Browser, **options: Any) -> int:
    data = ann.form("/p/claims/1") | {"action": "draft"} | options.pop("data", {})
    return ann.client.post("/p/claims/1", data=data, **options).status_code


def test_posts_need_the_token_of_the_session(world: World) -> None:
    ann, bo = world.browser("Ann"), world.browser("Bo")
    assert _some_post(ann) == 303
    for csrf in ("", "x", bo.csrf, ann.csrf + "x", "é"):
        assert _some_post(ann, data={"csrf": csrf}) == 403
    for path in ("/p/claims/undo", "/language", "/leave", "/p/claims/1"):
        assert ann.client.post(path, data={"action": "skip", "language": "zh"}).status_code == 403
    assert ann.get("/").status_code == 200
    assert world.store.progress(ann.person, "claims").skipped == 0


def test_posts_from_other_sites_are_refused(world: World) -> None:
    ann = world.browser("Ann")
    for headers in (
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"},
        {"Origin": "http://testserver:81"}, {"Origin": "http://[", "Sec-Fetch-Site": "same-origin"},
    ):  # fmt: skip
        assert _some_post(ann, headers=headers) == 403
    for headers in (
        {"Sec-Fetch-Site": "same-origin", "Origin": "null"}, {"Origin": "http://testserver"}, {"Origin": "null"},
    ):  # fmt: skip
        assert _some_post(ann, headers=headers) == 303


def test_only_plain_forms_are_read(world: World) -> None:
    ann = world.browser("Ann")
    assert ann.client.post("/leave", json={"csrf": ann.csrf}).status_code == 400
    assert ann.client.post("/leave", files={"csrf": b"x"}).status_code == 400
    assert ann.client.post("/leave", data={f"a{n}": "" for n in range(5000)}).status_code == 400
    bad = ann.client.post(
        "/leave", content=b"csrf=%ff%fe\xff&a", headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert bad.status_code == 403


def test_large_bodies_are_refused(world: World) -> None:
    ann = world.browser("Ann")
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    told = ann.client.post("/p/claims/1", content=b"a=" + b"x" * MAX_BODY, headers=headers)
    assert told.status_code == 413
    assert "too large" in told.text

    def untold() -> Any:
        for _ in range(20):
            yield b"x" * (MAX_BODY // 10)

    assert ann.client.post("/p/claims/1", content=untold(), headers=headers).status_code == 413
    lied = ann.client.post("/p/claims/1", content=b"a=b", headers=headers | {"Content-Length": "many"})
    assert lied.status_code == 400
    assert ann.get("/").status_code == 200


def test_unknown_hosts_are_refused(world: World) -> None:
    ann = world.browser("Ann")
    for host in ("evil.example", "", "testserver.evil.example", "[::1"):
        answer = ann.get("/", headers={"Host": host})
        assert answer.status_code == 400
        assert answer.headers["Content-Security-Policy"]
    assert ann.get("/", headers={"Host": "TESTSERVER:8000"}).status_code == 200


def test_other_methods_get_a_plain_page(world: World) -> None:
    ann = world.browser("Ann")
    for method, path in (("PUT", "/"), ("DELETE", "/p/claims/1"), ("GET", "/leave"), ("POST", "/"), ("PATCH", "/help")):
        answer = ann.client.request(method, path)
        assert answer.status_code == 405
        assert "<h1>" in answer.text


def test_a_bug_shows_a_plain_page_and_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(f"sqlite:///{tmp_path / 'v.db'}")
    ann = world.browser("Ann")

    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(world.store, "progress", broken)
    client = TestClient(
        world.app, base_url="http://testserver", raise_server_exceptions=False, cookies=ann.client.cookies
    )
    page = client.get("/")
    assert page.status_code == 500
    assert "secret detail" not in page.text
    assert "is safe" in page.text
    assert page.headers["Content-Security-Policy"] == SECURITY_HEADERS["Content-Security-Policy"]
    world.store.close()


def test_what_a_log_may_hold() -> None:
    assert loggable_path("/enter/token/with/more") == "/enter/..."
    assert loggable_path("/p/a\nfake line") == "/p/a\\nfake line"
    assert len(loggable_path("/p/" + "x" * 5000)) <= 200


def test_static_files_have_addresses_that_change_with_their_content(world: World) -> None:
    page = world.browser("Ann").get("/p/claims/1").text
    address = page.partition('<script src="')[2].partition('"')[0]
    assert "?v=" in address
    answer = world.browser().get(address)
    assert answer.status_code == 200
    assert "max-age" in answer.headers["Cache-Control"]
