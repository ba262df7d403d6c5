"""Takes the pictures of the tutorials and of how-to guides anew: it does what they say.

It needs playwright, Pillow and Chromium: ``python docs/tutorials/take_pictures.py [NAME ...]``. The names are
your_file, review, evaluation, analysis, explorer and rules; without one, all are taken.
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from benchbuilder.config import bundled_folder

PICTURES = Path(__file__).resolve().parent / "pictures"
PROGRAM = str(Path(sys.executable).with_name("benchbuild"))
WORDS = ["recipe=care_mi", "annotation=app", "steps.items.sample=6"]
SAMPLE = ["recipe=care_mi"]
PORT = "8766"
PEOPLE = {"wang": "annotator", "li": "annotator", "chen": "adjudicator", "zhou": "lead"}
DESK: dict[str, Any] = {"viewport": {"width": 1100, "height": 860}}
VIEWED = {
    "flow": "/",
    "rows": "/rows?step=negate_choice&outcome=dropped",
    "items": "/items?source=medqa",
    "answers": "/answers",
    "side-by-side": "/answers?measure=correctness.ratings&left=model_jia&right=model_bing",
}
"""The pages of the explorer that pictures show, by the name of the picture."""
OWN_RECIPE = """# @package _global_
defaults: [care_mi, {override /rules: [zh_preparation, my_field_claims]}, _self_]
name: my_field
"""
MISSING_ENDING = "为"
"""The ending that the rules of the picture lack, and that is added."""
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def benchbuild(folder: str, *words: str, recipe: Sequence[str] = WORDS, exits: int = 0) -> str:
    """What a command says."""
    command = [PROGRAM, *words, *recipe]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != exits:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def served(folder: str) -> Generator[None]:
    """The review app, while this is open."""
    command = [PROGRAM, "review", "--port", PORT, *WORDS]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        if process.stdout is None or not any("serving at" in line for line in process.stdout):
            raise SystemExit("the app does not start")
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def picture(page: Page, name: str, **options: Any) -> None:
    """Take one, in few colours."""
    seen = page.screenshot(animations="disabled", caret="hide", **options)
    Image.open(io.BytesIO(seen)).quantize(128).save(PICTURES / f"{name}.png", optimize=True)


def enter(browser: Browser, link: str, first: str, **options: Any) -> Page:
    """A window in which somebody opened their link and followed the link `first` of their home page."""
    page = browser.new_context(**{**DESK, "locale": "en-GB", **options}).new_page()
    page.goto(link)
    page.locator("main form button").click()
    page.get_by_role("link", name=first).first.click()
    page.wait_for_load_state()
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
    door = browser.new_page(locale="en-GB", viewport={"width": 620, "height": 300})
    door.goto(links["wang"])
    picture(door, "door")
    wang = enter(browser, links["wang"], "Begin")
    judge(wang, stop_before=8)
    picture(wang, "task")
    for _ in range(8):
        judge(wang)
    li = enter(browser, links["li"], "Begin", **PHONE)
    picture(li, "phone")
    chinese = enter(browser, links["li"], "开始", **PHONE, locale="zh-CN")
    judge(chinese, stop_before=8)
    picture(chinese, "chinese")
    judge(li, objecting=True)
    for _ in range(7):
        judge(li)
    picture(enter(browser, links["chen"], "Decide"), "dispute")
    lead = enter(browser, links["zhou"], "候选题目审核")
    picture(lead, "lead", full_page=True, clip={"x": 0, "y": 0, "width": 1100, "height": 1500})
    judge(enter(browser, links["chen"], "Decide"))


def your_file(browser: Browser) -> None:
    """Take those of `your-file.md` and its Chinese twin: the report of the file that they begin with."""
    page_text = (PICTURES.parent / "your-file.md").read_text("utf-8")
    rows = re.search(r"^cat > mine.csv <<'CSV'\n(.*?)^CSV$", page_text, re.MULTILINE | re.DOTALL)
    if rows is None:
        raise SystemExit("your-file.md begins with no file")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mine.csv").write_text(rows[1], "utf-8")
        benchbuild(folder, "new", "my_field", "--data", "mine.csv", recipe=[])
        benchbuild(folder, "build", recipe=["recipe=my_field"])
        for name, file in (("report", "report.html"), ("report-zh", "report.zh.html")):
            page = browser.new_page(**DESK)
            page.goto((Path(folder) / "builds" / "my_field" / file).as_uri())
            picture(page, name)


def review(browser: Browser) -> None:
    """Take those of `annotate-with-three-browsers.md`, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        benchbuild(folder, exits=75)
        links: dict[str, str] = {}
        for name, role in PEOPLE.items():
            said = benchbuild(folder, "people", "invite", name, "--role", role, "--url", f"http://127.0.0.1:{PORT}")
            links |= dict(re.findall(r"^(\S+) \(.*\n\s+(http\S+)$", said, re.MULTILINE))
        with served(folder):
            play(browser, links)
        benchbuild(folder)


def evaluation(browser: Browser) -> None:
    """Take those of `evaluate-and-judge.md`, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        for words in ((), ("judge", "train"), ("evaluate",), ("judge", "report")):
            benchbuild(folder, *words, recipe=SAMPLE)
        built = Path(folder) / "builds" / "care_mi"
        page = browser.new_page(locale="en-GB", **DESK)
        page.goto((built / "evaluation" / "results.html").as_uri())
        picture(page, "results", full_page=True, clip={"x": 0, "y": 0, "width": 1100, "height": 1290})
        page.goto((built / "judges" / "judges.html").as_uri())
        picture(page, "judges", full_page=True, clip={"x": 0, "y": 0, "width": 1100, "height": 1370})
        card = page.get_by_role("heading", name="Correctness: Robustness card").bounding_box()
        if card is None:
            raise SystemExit("the judge report has no robustness card")
        picture(page, "robustness", full_page=True, clip={"x": 0, "y": card["y"] - 20, "width": 1100, "height": 1050})


def analysis(browser: Browser) -> None:
    """Take that of `what-answers-say-about-items.md`, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        for words in ((), ("evaluate",), ("analyse",)):
            benchbuild(folder, *words, recipe=SAMPLE)
        page = browser.new_page(locale="en-GB", **DESK)
        page.goto((Path(folder) / "builds" / "care_mi" / "analysis" / "analysis.html").as_uri())
        below = page.locator("#experts").bounding_box()
        if below is None:
            raise SystemExit("the analysis sends nothing back to experts")
        picture(page, "analysis", full_page=True, clip={"x": 0, "y": 0, "width": 1100, "height": below["y"] - 40})


def explorer(browser: Browser) -> None:
    """Take those of the pages that look at builds, and of the static pages of a release."""
    with tempfile.TemporaryDirectory() as folder:
        for words in ((), ("evaluate",), ("audit",), ("analyse",)):
            benchbuild(folder, *words, recipe=SAMPLE)
        with viewed(folder, "--read-only") as entrance:
            page = browser.new_context(locale="en-GB", **DESK).new_page()
            page.goto(entrance)
            build = entrance.partition("/enter/")[0] + "/b/care_mi"
            for name, path in VIEWED.items():
                page.goto(build + path)
                picture(page, name)
            page.goto(build + "/rows?step=state_choice&q=糖尿病母亲")
            page.locator(".row-link").first.click()
            page.wait_for_load_state()
            picture(page, "row")
            page.goto(build + "/items?q=糖尿病")
            page.locator(".results a").first.click()
            page.wait_for_load_state()
            picture(page, "item")
        benchbuild(folder, "release", "--despite", "a trial", "version=1.0.0", recipe=SAMPLE)
        benchbuild(folder, "view", "--export", "site", recipe=SAMPLE)
        page = browser.new_page(locale="en-GB", **DESK)
        page.goto((Path(folder) / "site" / "index.html").as_uri() + "#q=糖尿病")
        page.locator(".results mark").first.wait_for()
        picture(page, "site")


def rules(browser: Browser) -> None:
    """Take those of the rule workbench, and of two builds compared: before and after a rule was written."""
    with tempfile.TemporaryDirectory() as folder:
        recipes = Path(folder) / "recipes"
        text = (bundled_folder("recipes") / "rules" / "zh_claims.yaml").read_text("utf-8")
        for place, content in (("recipe/my_field", OWN_RECIPE), ("rules/my_field_claims", _without_ending(text))):
            file = recipes / f"{place}.yaml"
            file.parent.mkdir(parents=True)
            file.write_text(content, "utf-8")
        own = ["recipe=my_field"]
        benchbuild(folder, recipe=own)
        with viewed(folder, *own) as entrance:
            page = browser.new_context(locale="en-GB", viewport={"width": 1400, "height": 860}).new_page()
            page.goto(entrance)
            page.goto(entrance.partition("/enter/")[0] + "/b/my_field/work/state_choice")
            page.locator(".bench-group a").first.click()
            page.locator(".bench-form").first.wait_for()
            picture(page, "rule-form")
            page.go_back()
            page.locator(".bench-add button").first.click()
            page.locator(".bench-later").wait_for()
            page.evaluate("scrollTo(0, 0)")
            picture(page, "rules")
            page.keyboard.press("Control+s")
            page.locator("pre.bench-diff .added").first.wait_for()
            picture(page, "rule-difference", clip={"x": 0, "y": 0, "width": 1400, "height": 620})
            page.locator("button.primary").click()
            page.get_by_text("benchbuild recipe=my_field").wait_for()
        benchbuild(folder, "run.dir=builds/with_a_rule", recipe=own)
        with viewed(folder, "--read-only") as entrance:
            page = browser.new_context(locale="en-GB", **DESK).new_page()
            page.goto(entrance)
            page.goto(entrance.partition("/enter/")[0] + "/b/my_field/compare/with_a_rule")
            picture(page, "compare")


def _without_ending(rules: str) -> str:
    seams = re.search(r"^  seams: \[.*$", rules, re.MULTILINE)
    if seams is None or f" {MISSING_ENDING}," not in seams[0]:
        raise SystemExit("the bundled rules have no such ending")
    return rules.replace(seams[0], seams[0].replace(f" {MISSING_ENDING},", ""), 1)


@contextmanager
def viewed(folder: str, *words: str) -> Generator[str]:
    """The explorer, while this is open: the address that lets a browser in."""
    command = [PROGRAM, "view", "--no-browser", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        line = "" if process.stdout is None else process.stdout.readline()
        match = re.search(r"http://\S+/enter/\S+", line)
        if match is None:
            raise SystemExit(f"the explorer does not start: {line}")
        yield match[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def main() -> None:
    """Take all pictures, or those that are named."""
    takes = {
        "your_file": your_file,
        "review": review,
        "evaluation": evaluation,
        "analysis": analysis,
        "explorer": explorer,
        "rules": rules,
    }
    with sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in sys.argv[1:] or takes:
            takes[name](chromium)


if __name__ == "__main__":
    main()
