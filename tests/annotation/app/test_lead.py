import csv
import io
import re

import pytest
from lead_world import NAMES, lead_world, person_of, spec_of, vote
from review_world import form_tasks, forms_spec, make_world

from benchbuilder.annotation.app import progress_cache
from benchbuilder.annotation.database.models import Project
from benchbuilder.core import load_languages

PATHS = ("/lead", "/lead/claims", "/lead/claims/tasks", "/lead/claims/tasks.csv", "/lead/claims/people.csv")


@pytest.fixture
def world(disputes):
    return disputes


def plain(html):
    """What a page says, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.push
def test_only_project_owners_see_the_dashboard(world):
    lead = world.browser("Lead", "lead")
    others = [world.browser("林晓岚"), world.browser("J", "adjudicator"), world.browser()]
    for path in PATHS:
        assert lead.get(path).status_code == 200
        for other in others:
            answer = other.get(path)
            assert answer.status_code == 403
            assert "Bo Ågren" not in answer.text
    assert lead.get("/lead/nothing").status_code == 404
    assert lead.get("/lead/claims/tasks?start=0").status_code == 404
    assert lead.get("/lead/claims/tasks?outcome=other").status_code == 404
    assert lead.get("/").headers["location"] == "/lead"


def test_the_page_shows_the_progress_of_the_project(world):
    page = world.browser("Lead", "lead").get("/lead/claims").text
    text = plain(page)
    assert "3 of 4 tasks fully judged" in text
    assert "1 partly" in text
    assert "70 of 80 judgements (88 %)" in text  # 10 subjects a task, 2 votes each
    assert "0 of 4 disputes decided" in text
    assert "undefined: every answer is 1" in text
    assert "1.0 " not in text.partition("Gwet")[2].partition("undefined")[0]
    assert "① 答案唯一 3 66.7 %" in text
    assert "style=" not in page
    assert "{" not in text
    assert "secret-partition" not in page  # the partition is in the list of tasks, not here


def test_people_with_names_times_and_gold(world):
    for name, value in zip(NAMES, (1, 0), strict=True):
        vote(world, name, 4, fluent=value)
    text = plain(world.browser("Lead", "lead").get("/lead/claims").text)
    row = text.partition("Bo Ågren A2 · annotator")[2]
    # done, open, skipped, flagged, median with percentiles, an hour, hasty, gold
    assert row.startswith(" 4 1 0 0 60 s 22 s – 60 s 78 1 0/1 0 %")
    row = text.partition("林晓岚 A1 · annotator")[2]
    assert row.startswith(" 5 0 0 0 60 s 60 s – 60 s 60 0 1/1 100 %")
    assert "Too fast: in less than 20 s." in text


def test_flagged_tasks_are_listed_with_the_remark(world):
    lead = world.browser("Lead", "lead")
    assert "Nobody has flagged anything." in plain(lead.get("/lead/claims").text)
    ids = [id_ for id_, _ in world.store.tasks("claims")]
    a, b = (person_of(world, name) for name in NAMES)
    world.store.flag(a, ids[0], True, "题干 <有> 歧义")
    world.store.flag(b, ids[1], True)
    world.store.flag(b, ids[1], False)
    page = lead.get("/lead/claims").text
    assert "题干 &lt;有&gt; 歧义" in page
    assert len(re.findall('<ul class="flags">.*?</ul>', page, re.DOTALL)[0].split("<li>")) == 2


def test_why_tasks_are_kept_dropped_or_open(world):
    judge = world.browser("J", "adjudicator")
    first = world.store.next_dispute(person_of(world, "J"), "claims")
    judge.submit(f"/adjudicate/claims/{first}", "0")
    second = world.store.next_dispute(person_of(world, "J"), "claims")
    judge.submit(f"/adjudicate/claims/{second}", "0", note="beide irren")
    lead = world.browser("Lead", "lead")
    text = plain(lead.get("/lead/claims/tasks").text)
    assert "Tasks: 4." in text
    assert re.search(r"1 子痫前期\S+ kept", text)
    assert "2 妊娠期高血压的血压升高首次出现于什么时候？ ① 答案唯一: decided 0, required 1 dropped" in text
    assert re.search(r"3 控制子痫\S+ kept", text)
    assert "judgements missing: 10 open" in text
    dropped = plain(lead.get("/lead/claims/tasks?outcome=dropped&gate=single_answer").text)
    assert "Tasks: 1." in dropped
    assert plain(lead.get("/lead/claims/tasks?start=100").text).count("None.") == 1
    rows = list(csv.DictReader(io.StringIO(lead.get("/lead/claims/tasks.csv").content.decode("utf-8-sig"))))
    assert [(row["number"], row["outcome"], row["gate"], row["decided"], row["needed"]) for row in rows] == [
        ("1", "kept", "", "", ""), ("2", "dropped", "single_answer", "0", "1"), ("3", "kept", "", "", ""),
        ("4", "open", "", "", ""),
    ]  # fmt: skip
    assert [row["missing_judgements"] for row in rows] == ["0", "0", "0", "10"]
    assert [row["adjudicated"] for row in rows] == ["0", "2", "2", "0"]
    assert rows[0]["partition"] == "secret-partition"


def test_a_long_list_has_pages(tmp_path):
    lead = lead_world(tmp_path, 120).browser("Lead", "lead")
    first = lead.get("/lead/claims/tasks?outcome=open").text
    assert first.count('<span class="badge open">') == 50
    assert "outcome=open&amp;gate=&amp;start=51" in first
    last = lead.get("/lead/claims/tasks?outcome=open&start=101").text
    assert last.count('<span class="badge open">') == 20
    assert "start=51" in last
    assert "start=151" not in last


def test_threshold_counts_are_those_of_the_votes_so_far(world):
    text = plain(world.browser("Lead", "lead").get("/lead/claims").text)
    table = text.partition("Filter thresholds")[2].partition("People")[0]
    assert "fully decided tasks (1; open: 3)" in table
    assert "at least 3 in force 1 1 1" in table
    vote(world, NAMES[1], 3)
    text = plain(world.browser("Lead", "lead").get("/lead/claims").text)
    assert "fully decided tasks (2; open: 2)" in text


def test_a_project_without_gates_and_without_disputes(tmp_path):
    world = make_world(f"sqlite:///{tmp_path}/r.sqlite", [(Project("forms", forms_spec(), "", "en", 1), form_tasks())])
    browser = world.browser("A")
    browser.submit("/p/forms/1", "text")
    lead = world.browser("Lead", "lead")
    text = plain(lead.get("/lead/forms").text)
    assert "Judged and open" in text
    assert "judged 1 open 2" in text
    assert "Disputes by question" not in text
    assert "Filter thresholds" not in text
    assert "dropped" not in plain(lead.get("/lead/forms/tasks").text)


def test_cells_are_no_formulas(tmp_path):
    world = lead_world(tmp_path)
    world.store.invite("=1+1", "annotator")
    text = world.browser("Lead", "lead").get("/lead/claims/people.csv").content.decode("utf-8-sig")
    assert "'=1+1" in text


def test_missing_people_are_reported(tmp_path):
    world = lead_world(tmp_path, per_task=3)
    assert "Judgements without an annotator: 4." in plain(world.browser("L", "lead").get("/lead").text)
    assert "Judgements without an annotator: 4." in plain(world.browser("L").get("/lead/claims").text)


@pytest.mark.full
def test_the_prevalence_paradox_is_explained(tmp_path):
    world = lead_world(tmp_path, 40)
    for place in range(40):
        for who, name in enumerate(NAMES):
            differs = place in {3, 7, 11} and who == place % 2
            vote(world, name, place, accurate_answer=int(not differs))
    text = plain(world.browser("Lead", "lead").get("/lead/claims").text)
    assert "③ 答案正确: people agree on 92.5 %, yet κ is only 0.00. 96 % of all answers are 1." in text
    assert "AC1 (0.92)" in text


def test_costly_snapshots_hold_for_a_while(world, monkeypatch):
    monkeypatch.setattr(progress_cache, "_COSTLY_SECONDS", 0.0)
    monkeypatch.setattr(progress_cache, "_REST_FACTOR", 1000)
    kept = progress_cache.SnapshotCache()
    project = world.store.project("claims")
    assert kept.snapshot_of(world.store, project) is kept.snapshot_of(world.store, project)
    monkeypatch.setattr(progress_cache, "_COSTLY_SECONDS", 1000.0)
    fresh = progress_cache.SnapshotCache()
    assert fresh.snapshot_of(world.store, project) is not fresh.snapshot_of(world.store, project)


def test_large_projects_draw_fewer_resamples_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_cache, "MANY_JUDGEMENTS", 1)
    monkeypatch.setattr(progress_cache, "REDUCED_RESAMPLES", 50)
    text = plain(lead_world(tmp_path).browser("L", "lead").get("/lead/claims").text)
    assert "from 50 resamples of tasks. The build uses 100; this page uses fewer to be fast." in text


def test_pages_in_chinese(world):
    lead = world.browser("Lead", "lead")
    for path in PATHS[:3]:
        text = lead.get(path, headers={"Accept-Language": "zh"}).text
        assert '<html lang="zh"' in text
        assert not re.search(r"\{[a-z]+\}", text)
        assert "judgements" not in text


def test_both_languages_have_the_same_keys_and_places():
    texts = load_languages({})
    for part in ("lead.", "adjudicate."):
        keys = {code: {key for key in found._texts if key.startswith(part)} for code, found in texts.items()}
        assert keys["en"] == keys["zh"]
        for key in keys["en"]:
            places = [set(re.findall(r"\{(\w+)\}", texts[code]._texts[key])) for code in ("en", "zh")]
            assert places[0] == places[1], key


def test_the_questions_of_the_test_world_are_asked():
    assert len(spec_of().questions_about()) == 7
