"""Takes the pictures of the tutorial `annotate-with-three-browsers.md` anew: it does what the tutorial says.

It needs playwright, Pillow and Chromium: ``python docs/tutorials/take_pictures.py``.
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

PICTURES = Path(__file__).resolve().parent / "pictures"
PROGRAM = str(Path(sys.executable).with_name("benchbuild"))
WORDS = ["recipe=care_mi", "annotation=app", "steps.items.sample=6"]
ADDRESS = "http://127.0.0.1:8766"
PEOPLE = {"wang": "annotator", "li": "annotator", "chen": "adjudicator", "zhou": "lead"}
DESK: dict[str, Any] = {"viewport": {"width": 1100, "height": 860}}
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
ARGUMENTS = ["--no-sandbox", "--force-color-profile=srgb"]


def benchbuild(folder: str, *words: str, exits: int = 0) -> str:
    """What a command says."""
    command = [PROGRAM, *words, *WORDS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != exits:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def served(folder: str) -> Iterator[None]:
    """The review app, while this is open."""
    port = ADDRESS.rpartition(":")[2]
    command = [PROGRAM, "review", "--port", port, *WORDS]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        if process.stdout is None or not any("serving at" in line for line in process.stdout):
            raise SystemExit("the app does not start")
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def picture(page: Page, name: str, height: int = 0) -> None:
    """Take one of what is seen, or of the page from its top down to `height`, in few colours."""
    clip: dict[str, Any] = {
        "full_page": True,
        "clip": {"x": 0, "y": 0, "width": DESK["viewport"]["width"], "height": height},
    }
    seen = page.screenshot(animations="disabled", caret="hide", **(clip if height else {}))
    Image.open(io.BytesIO(seen)).quantize(64).save(PICTURES / f"{name}.png", optimize=True)


def enter(browser: Browser, link: str, first: str = "", **options: Any) -> Page:
    """A window in which somebody has opened their link and, with `first`, followed that link of their home page."""
    page = browser.new_context(**{**DESK, "locale": "en-GB", **options}).new_page()
    page.goto(link)
    page.locator("main form button").click()
    if first:
        page.get_by_role("link", name=first).first.click()
        page.locator("#work").wait_for()
    return page


def judge(page: Page, objecting: bool = False, stop_before: int = 0) -> None:
    """Answer every question with yes, or if `objecting` the first with no, and submit; or stop some before the end."""
    questions = page.locator("[data-step]").count()
    for place in range(questions - stop_before):
        page.keyboard.press("0" if objecting and not place else "1")
    if not stop_before:
        with page.expect_navigation():
            page.keyboard.press("Control+Enter")


def play(browser: Browser, links: dict[str, str]) -> None:
    """The whole tutorial, with pictures on the way."""
    wang = enter(browser, links["wang"], "Begin")
    judge(wang, stop_before=8)
    picture(wang, "task")
    for _ in range(6):
        judge(wang)
    li = enter(browser, links["li"], "Begin", **PHONE)
    picture(li, "phone")
    zhongwen = enter(browser, links["li"], "开始", **PHONE, locale="zh-CN")
    judge(zhongwen, stop_before=8)
    picture(zhongwen, "chinese")
    judge(li, objecting=True)
    for _ in range(5):
        judge(li)
    picture(enter(browser, links["chen"], "Decide"), "dispute")
    lead = enter(browser, links["zhou"])
    lead.goto(f"{ADDRESS}/lead/claims")
    picture(lead, "lead", 1500)
    judge(enter(browser, links["chen"], "Decide"))


def main() -> None:
    """Take all pictures, in an empty folder."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        benchbuild(folder, exits=75)
        links: dict[str, str] = {}
        for name, role in PEOPLE.items():
            said = benchbuild(folder, "people", "invite", name, "--role", role, "--url", ADDRESS)
            links |= dict(re.findall(r"^(\S+) \(.*\n\s+(http\S+)$", said, re.MULTILINE))
        with served(folder), sync_playwright() as running:
            browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
            play(browser, links)
            browser.close()
        benchbuild(folder)


if __name__ == "__main__":
    main()
