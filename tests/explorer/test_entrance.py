"""Who may see the explorer, and what each response carries."""

from __future__ import annotations

from pathlib import Path

import pytest
from explorer_browser import ExplorerBrowser, as_build
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from benchbuilder.explorer import create_explorer
from benchbuilder.web import SECURITY_HEADERS

PATHS = ["/", "/keys", "/nothing", "/b/none/", "/static/view.css", "/static/none.css", "/static/../app.py",
         "/static/%2e%2e/app.py", "/enter/wrong", "/docs", "/openapi.json"]  # fmt: skip


def test_a_browser_without_the_token_sees_nothing(tmp_path: Path) -> None:
    stranger = ExplorerBrowser(as_build(tmp_path / "secret_build"), entered=False)
    for path in ("/", "/keys", "/nothing"):
        answer = stranger.get(path)
        assert answer.status_code == 403
        assert "secret_build" not in answer.text
    assert stranger.get("/b/secret_build/").status_code == stranger.get("/b/none/").status_code == 403
    assert stranger.get("/enter/wrong").status_code == 403
    assert stranger.get("/enter/%C3%A9").status_code == 403


def test_the_token_gives_a_cookie_that_scripts_and_other_sites_do_not_get(tmp_path: Path) -> None:
    browser = ExplorerBrowser(as_build(tmp_path / "build"), entered=False)
    answer = browser.get(f"/enter/{browser.site.token}", follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert cookie.startswith("benchbuild_entry_80=")
    assert browser.site.token not in cookie
    assert browser.get("/").status_code == 200


def test_two_explorers_of_one_machine_keep_their_cookies_apart(tmp_path: Path) -> None:
    browser = ExplorerBrowser(as_build(tmp_path / "build"))
    answer = browser.get("http://127.0.0.1:8771/")
    assert answer.status_code == 403


@pytest.mark.parametrize("path", PATHS)
def test_every_response_has_the_headers(tmp_path: Path, path: str) -> None:
    answer = ExplorerBrowser(as_build(tmp_path / "build")).get(path)
    assert answer.status_code < 500
    for header, value in SECURITY_HEADERS.items():
        if not (header == "Cache-Control" and path.startswith("/static/view")):
            assert answer.headers[header] == value, header
    assert "def create_explorer" not in answer.text


def test_another_host_is_refused(tmp_path: Path) -> None:
    browser = ExplorerBrowser(as_build(tmp_path / "build"))
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        assert browser.get("/", headers={"host": host}).status_code == 400
    assert browser.get("/", headers={"host": "localhost:80"}).status_code in (200, 403)


def test_what_is_not_get_needs_the_token_of_a_page(tmp_path: Path) -> None:
    browser = ExplorerBrowser(as_build(tmp_path / "build"))
    app = create_explorer(browser.site)
    app.add_api_route("/write", lambda: PlainTextResponse("written"), methods=["POST"])
    client = TestClient(app, base_url="http://127.0.0.1", cookies=dict(browser.client.cookies))
    token = browser.site.post_token
    assert client.post("/write").status_code == 403
    assert client.post("/write?token=wrong").status_code == 403
    assert client.post(f"/write?token={token}", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.post(f"/write?token={token}", headers={"origin": "https://evil.example"}).status_code == 403
    assert client.post(f"/write?token={token}").text == "written"
    assert client.post("/write", headers={"X-View": token}).text == "written"
    client.cookies.clear()
    assert client.post("/write", headers={"X-View": token}).status_code == 403


def test_the_language_of_the_pages_is_that_of_the_reader(tmp_path: Path) -> None:
    browser = ExplorerBrowser(as_build(tmp_path / "build"), language="zh-CN")
    assert "<h1>构建</h1>" in browser.text("/")
    assert "<h1>Builds</h1>" in browser.get("/language/en?back=/").text
    assert browser.get("/language/xx").status_code == 404
    away = browser.get("/language/zh?back=//evil.example/", follow_redirects=False)
    assert away.headers["location"] == "/"
