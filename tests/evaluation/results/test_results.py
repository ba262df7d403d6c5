import csv
import io
import json
import re
from dataclasses import replace
from math import sqrt
from statistics import NormalDist, fmean, stdev

import numpy as np
import pytest
from finished_build import finished as built
from finished_evaluation import PUBLISHED, RECEIPTS, Evaluation, item, large, losing
from html_page import Page, squeezed

from benchbuilder.core import page_texts
from benchbuilder.core.errors import DataError
from benchbuilder.evaluation.published import load_published_results
from benchbuilder.evaluation.results.answers_to_rate import AnswersToRate, AnswersToRateSpec
from benchbuilder.evaluation.results.compare import holm_adjusted, samples_needed
from benchbuilder.evaluation.results.costs import misleading_answers
from benchbuilder.evaluation.results.exporter import ResultsExporter
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.evaluation.results.stated_metrics import stated_abstentions
from benchbuilder.evaluation.stats.prediction_powered import clustered_prediction_powered_mean


def write(tmp_path, build, language="en", **said):
    given = {
        "aspects": ("correctness", "interpretability"),
        "worst": 3,
        "power": 0.8,
        "effect": 0.05,
        "class_imbalance": 0.65,
    }
    spec = ResultsSpec(kind="results", file="results", language=language, **{**given, **said})
    exporter = ResultsExporter(spec)
    assert exporter.can_write(build)
    return {path.relative_to(tmp_path).as_posix(): path for path in exporter.write(build, tmp_path)}


def lines(files, name):
    """The lines of a table's CSV, by their first cell (by their first two where these say what a line is)."""
    text = files[f"results_tables/{name}.csv"].read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    return {next(iter(row.values())): row for row in rows}


def near(text, value):
    return float(text) == pytest.approx(value, abs=1e-6)


@pytest.fixture
def exact():
    """Six items of two sources; two models that people rated in both aspects, and what they said to four questions."""
    rows = [
        item(0, expected="yes", source="bios"), item(1, expected="yes", source="bios"),
        item(2, expected="yes", source="medqa"), item(3, expected="no", source="medqa"),
        item(4, type_="oe", source="medqa", fact="fact-0"), item(5, type_="oe", source="medqa"),
    ]  # fmt: skip
    made = Evaluation(rows)
    rated = {"glad": [1.0, 0.8, 0.6, 0.7, 0.4, 0.1], "calm": [0.9, 0.3, 0.5, 0.2, 0.4, 0.0]}
    said = {"glad": ["yes", "no", "invalid", "no"], "calm": ["yes", "yes", "yes", "refused"]}
    for model, values in rated.items():
        for number, (row, value) in enumerate(zip(rows, values, strict=True)):
            made.answer(model, row, f"{model} 说 {number}")
            made.score("people_rate", "correctness", model, row, value)
            made.score("people_rate", "interpretability", model, row, value / 2 + 0.1 * (number % 2))
        for row, verdict in zip(rows, said[model], strict=False):
            made.verdict(model, row, verdict)
    return made


def test_where_less_is_better_the_lowest_mean_comes_first(tmp_path):
    rows = [item(n, type_="oe") for n in range(4)]
    made = Evaluation(rows)
    for model, share in (("bold", 0.75), ("careful", 0.25)):
        for row in rows:
            made.answer(model, row, "早产")
            made.score("set_answer", "set_recall", model, row, share)
            made.score("set_answer", "set_contradiction", model, row, share)
    files = write(tmp_path, made.finished())
    assert list(lines(files, "means_set_recall_set_answer")) == ["bold", "careful"]
    assert list(lines(files, "means_set_contradiction_set_answer")) == ["careful", "bold"]
    assert "Share of the wrong names that are given (less is better)" in files["results.md"].read_text("utf-8")


def test_means_and_deviations_over_all_and_by_source(tmp_path, exact):
    rows = lines(write(tmp_path, exact.finished()), "means_correctness_people_rate")
    glad = rows["glad"]
    assert near(glad["all"], 0.6)
    assert near(glad["all_sd"], stdev([1.0, 0.8, 0.6, 0.7, 0.4, 0.1]))
    assert near(glad["source_bios"], 0.9)
    assert near(glad["source_medqa"], 0.45)
    assert float(glad["all_low"]) < 0.6 < float(glad["all_high"])
    assert glad["n"] == "6"
    assert glad["source_medqa_n"] == "4"
    assert list(rows) == ["glad", "calm"]


def test_what_makes_figures_mislead_stands_above_them(tmp_path, exact):
    files = write(tmp_path, exact.finished())
    notes = [
        "glad: 1 of 4 answers to true/false questions have no verdict (invalid, abstained, refused, empty or filtered)",
        "calm: 1 of 4 answers to true/false questions have no verdict",
    ]
    for name in ("results.md", "results.html"):
        text = squeezed(files[name].read_text(encoding="utf-8"))
        for note in notes:
            assert 0 < text.index(note) < text.index("Balanced accuracy") < text.rindex("Correctness")
        assert "hit the limit" not in text


@pytest.mark.parametrize(
    ("cut", "limit", "said"),
    [
        (190, 16, "m: 190 of 196 replies hit the limit of 16 tokens."),
        (10, None, "m: 10 of 196 replies hit the limit of the service."),
        (9, 16, ""),
    ],
)
def test_replies_that_were_cut_off_are_told_where_they_are_many(cut, limit, said):
    told = misleading_answers(page_texts("en"), "m", answers=196, cut=cut, limit=limit, asked=147, without=14)
    assert "".join(told).startswith(said)
    assert bool(told) == bool(said)


def test_what_holds_no_verdict_is_not_right_and_is_counted(tmp_path, exact):
    files = write(tmp_path, exact.finished())
    rows = lines(files, "verdicts_verdict_verdict")
    glad, calm = rows["glad"], rows["calm"]
    assert near(glad["accuracy"], 2 / 4)
    assert near(glad["on_yes"], 1 / 3)
    assert near(glad["on_no"], 1)
    assert near(glad["balanced"], (1 / 3 + 1) / 2)
    assert near(glad["said_yes"], 1 / 3)
    assert near(glad["invalid"], 1 / 4)
    assert near(calm["accuracy"], 3 / 4)
    assert near(calm["balanced"], 1 / 2)
    assert near(calm["said_yes"], 1)
    assert near(calm["refused"], 1 / 4)
    assert [(row["accuracy"], row["balanced"]) for row in list(rows.values())[:2]] == [("0.75", "0.5"), ("0.25", "0.5")]


def test_what_one_answer_alone_would_score_stands_on_the_first_line(tmp_path, exact):
    files = write(tmp_path, exact.finished())
    says = "Always yes is right on 75.0 % of the 4 true/false questions, always no on 25.0 %."
    warns = "A system that knows nothing can reach 75.0 %"
    page = squeezed(Page(files["results.html"].read_text(encoding="utf-8")).text[""])
    assert says in page
    assert warns in page
    assert files["results.md"].read_text(encoding="utf-8").splitlines()[2].startswith(says)
    calm = write(tmp_path, exact.finished(), class_imbalance=0.8)["results.html"].read_text(encoding="utf-8")
    assert warns not in calm


def test_true_false_against_open_ended(tmp_path, exact):
    glad = lines(write(tmp_path, exact.finished()), "types_correctness_people_rate")["glad"]
    assert near(glad["tf"], fmean([1.0, 0.8, 0.6, 0.7]))
    assert near(glad["oe"], 0.25)
    assert near(glad["difference"], 0.525)
    assert float(glad["difference_low"]) < 0.525 < float(glad["difference_high"])


def test_aspects_go_together_by_answer_and_by_model(tmp_path, exact):
    for row in exact.items:
        exact.answer("brisk", row)
        exact.score("people_rate", "correctness", "brisk", row, 0.5)
        exact.score("people_rate", "interpretability", "brisk", row, 0.9)
        exact.answer("always_agree", row)
        exact.score("people_rate", "correctness", "always_agree", row, 0.0)
        exact.score("people_rate", "interpretability", "always_agree", row, 1.0)
    files = write(tmp_path, exact.finished())
    text = files["results_tables/aspects.csv"].read_text(encoding="utf-8")
    by_answer, by_model = csv.DictReader(io.StringIO(text))
    glad = [1.0, 0.8, 0.6, 0.7, 0.4, 0.1]
    calm = [0.9, 0.3, 0.5, 0.2, 0.4, 0.0]
    first = [*glad, *calm, *[0.5] * 6]
    second = [*(value / 2 + 0.1 * (n % 2) for n, value in enumerate([*glad, *calm])), *[0.9] * 6]
    r = np.corrcoef(first, second)[0, 1]
    assert by_answer["n"] == "18"
    assert near(by_answer["pearson"], r)
    assert near(by_answer["r_squared"], r * r)
    means = [[fmean(values[start : start + 6]) for start in (0, 6, 12)] for values in (first, second)]
    assert near(by_model["r_squared"], np.corrcoef(*means)[0, 1] ** 2)
    assert by_model["n"] == "3"
    caption = f"R² {r * r:.3f} by answer (18)"
    assert caption in files["results.html"].read_text(encoding="utf-8")


def test_judges_of_one_aspect_each_are_paired(tmp_path, exact):
    for model in ("glad", "calm"):
        for n, row in enumerate(exact.items):
            exact.score("judge_ridge_correctness", "correctness", model, row, n / 6)
            exact.score("judge_other_interpretability", "interpretability", model, row, 0.5)
            exact.score("judge_ridge_interpretability", "interpretability", model, row, n / 12)
    judges = ("ridge_correctness", "ridge_interpretability", "other_interpretability")
    files = write(tmp_path, exact.finished(judges=judges))
    text = files["results_tables/aspects.csv"].read_text(encoding="utf-8")
    assert "by the judge ridge_correctness, ridge_interpretability" in text


def test_differences_are_paired_and_allow_for_their_number(tmp_path, exact):
    exact.answer("brisk", exact.items[0])
    exact.score("people_rate", "correctness", "brisk", exact.items[0], 0.0)
    files = write(tmp_path, exact.finished())
    text = files["results_tables/pairs_correctness_people_rate.csv"].read_text(encoding="utf-8")
    rows = {(row["first"], row["second"]): row for row in csv.DictReader(io.StringIO(text))}
    pair = rows["glad", "calm"]
    assert near(pair["difference"], fmean([0.1, 0.5, 0.1, 0.5, 0.0, 0.1]))
    assert pair["n"] == "6"
    assert 0 < float(pair["p"]) <= float(pair["p_holm"]) <= 1
    assert near(rows["glad", "brisk"]["difference"], 1.0)
    assert rows["glad", "brisk"]["n"] == "1"
    assert rows["glad", "brisk"]["p"] == ""
    assert "one cluster" in rows["glad", "brisk"]["difference_why"]


def test_adjusted_p_values_are_holms():
    assert holm_adjusted([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm_adjusted([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert holm_adjusted([]) == []
    assert samples_needed(45, 0.95) * 0.025 >= 2 * 45


def test_the_smallest_difference_that_can_be_seen(tmp_path, exact):
    """Items 0 and 4 share a fact: their deviations add up before they are squared."""
    gaps = [0.1, 0.5, 0.1, 0.5, 0.0, 0.1]
    centred = [gap - fmean(gaps) for gap in gaps]
    sums = [centred[0] + centred[4], centred[1], centred[2], centred[3], centred[5]]
    error = sqrt(sum(value**2 for value in sums) * 5 / 4) / 6
    size = (NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)) * error
    text = write(tmp_path, exact.finished())["results_tables/power.csv"].read_text(encoding="utf-8")
    row = next(row for row in csv.DictReader(io.StringIO(text)) if row["measure"].startswith("Correctness"))
    assert near(row["smallest"], size)
    assert near(row["largest"], size)
    assert int(row["needed"]) == int(np.ceil(6 * (size / 0.05) ** 2))


def test_few_ratings_and_many_judge_scores(tmp_path):
    rows = [item(n, fact=f"fact-{n // 2}") for n in range(40)]
    made = Evaluation(rows)
    truth, said = {}, {}
    for n, row in enumerate(rows):
        made.answer("glad", row)
        value = (n * 7 % 10) / 10
        said[row.id] = min(1.0, value + 0.1)
        made.score("judge_correctness_judge", "correctness", "glad", row, said[row.id])
        if n < 16:
            truth[row.id] = value + (0.05 if n % 3 else 0)
            made.score("people_rate", "correctness", "glad", row, None, ratings={"安": truth[row.id]})
    files = write(tmp_path, made.finished())
    glad = lines(files, "prediction_powered_correctness_people_rate_correctness_judge_correctness_judge")["glad"]
    mine, rest = [row.id for row in rows[:16]], [row.id for row in rows[16:]]
    found = clustered_prediction_powered_mean(
        [truth[i] for i in mine], [said[i] for i in mine], [f"fact-{n // 2}" for n in range(16)],
        [said[i] for i in rest], [f"fact-{n // 2}" for n in range(16, 40)], 0.95,
    )  # fmt: skip
    assert near(glad["prediction_powered"], found.value)
    assert near(glad["prediction_powered_low"], found.low)
    assert near(glad["people"], fmean(truth.values()))
    assert near(glad["people_high"], found.human_only.high)
    assert near(glad["judge"], fmean(said.values()))
    assert near(glad["narrower"], 1 - found.width / found.human_only.width)
    assert (glad["rated"], glad["unrated"]) == ("16", "24")
    assert "was not trained on these ratings" in files["results.html"].read_text(encoding="utf-8")


def test_ratings_that_a_judge_learned_from_are_left_out_of_what_it_corrects(tmp_path):
    made = Evaluation([item(n) for n in range(40)])
    for n, row in enumerate(made.items):
        made.answer("glad", row)
        value, label = 0.1 + n / 50, "learned" if n < 6 else ""
        made.score("judge_correctness_judge", "correctness", "glad", row, value, label=label)
        if n < 16:
            made.score("people_rate", "correctness", "glad", row, None, ratings={"安": value if n < 6 else value + 0.1})
    files = write(tmp_path, made.finished())
    glad = lines(files, "prediction_powered_correctness_people_rate_correctness_judge_correctness_judge")["glad"]
    assert (glad["rated"], glad["unrated"]) == ("10", "24")
    says = "Left out: 6 ratings that correctness_judge was trained on"
    assert says in files["results.html"].read_text(encoding="utf-8")


def test_a_judge_adds_nothing_where_all_is_rated(tmp_path, exact):
    for row in exact.items:
        exact.score("judge_correctness_judge", "correctness", "glad", row, 0.5)
    files = write(tmp_path, exact.finished())
    assert not [name for name in files if "powered" in name]


def test_names_of_models_that_lie_close_do_not_cover_each_other(tmp_path):
    made = Evaluation([item(n) for n in range(4)])
    for n, row in enumerate(made.items):
        for model, shift in (("first_model", 0.0), ("second_model", 0.02), ("third_model", 0.04)):
            made.answer(model, row)
            for aspect in ("correctness", "interpretability"):
                made.score("people_rate", aspect, model, row, 0.4 + shift + n / 100)
    page = Page(write(tmp_path, made.finished())["results.html"].read_text(encoding="utf-8"))
    names = [a for tag, a in page.tags if tag == "text" and "halo" in a.get("class", "")]
    assert len(names) == 3
    heights = {(a["text-anchor"], a["y"]) for a in names}
    assert len(heights) == 3


def test_an_answer_that_was_never_given_stands_in_no_mean(tmp_path, exact):
    for n, row in enumerate(exact.items):
        exact.answer("people", row, "对" if n < 2 else "", "complete" if n < 2 else "missing")
        exact.score("judge_correctness_judge", "correctness", "people", row, 0.9 if n < 2 else 0.0)
        if row.payload.type == "tf":
            exact.verdict("people", row, "yes" if n < 2 else "missing")
    files = write(tmp_path, exact.finished())
    assert near(lines(files, "means_correctness_judge_correctness_judge")["people"]["all"], 0.9)
    verdicts = lines(files, "verdicts_verdict_verdict")["people"]
    assert near(verdicts["accuracy"], 1)
    assert verdicts["n"] == "2"
    counts = lines(files, "answers")["people"]
    assert (counts["answers"], counts["missing"], counts["group"]) == ("2", "4", "people")
    text = squeezed(Page(files["results.html"].read_text(encoding="utf-8")).text["s-verdicts"])
    assert "people human baseline" in text


@pytest.mark.push
def test_costs_by_model(tmp_path):
    rows = lines(write(tmp_path, large(20)), "costs")
    glad, calm = rows["glad"], rows["calm"]
    assert (glad["answering_model"], glad["replies"], glad["tokens_out"]) == ("glad-7b", "40", "8000")
    assert (glad["usd_answers"], glad["usd_scores"], glad["usd"]) == ("0.02", "0.03", "0.05")
    assert near(glad["usd_per_100"], 0.05)
    assert (calm["usd_answers"], calm["usd_answers_why"]) == ("", "no price known")
    assert rows["Total"]["usd"] == ""
    priced = lines(write(tmp_path, large(20, **{"licence": ""})), "costs")
    assert priced["Total"]["replies"] == "80"
    assert len(RECEIPTS) == 3


@pytest.mark.push
def test_costs_say_how_much_of_it_was_thought(tmp_path, exact):
    thought = replace(RECEIPTS[0], reasoning_tokens=1050, reasoning_estimated=True)
    files = write(tmp_path, exact.finished(receipts=[thought, *RECEIPTS[1:]]))
    rows = lines(files, "costs")
    assert [rows[name]["tokens_thinking"] for name in ("glad", "calm", "Total")] == ["1050", "0", "1050"]
    assert (rows["glad"]["tokens_out"], rows["glad"]["usd"]) == ("8000", "0.05")
    assert "Some thinking tokens are our own count" in files["results.html"].read_text(encoding="utf-8")
    assert "tokens_thinking" not in lines(write(tmp_path, exact.finished(receipts=RECEIPTS)), "costs")["glad"]


def test_people_are_shown_what_a_judge_is(tmp_path, exact):
    first, second = exact.items[:2]
    exact.answer("glad", first, "<think>是甲？</think>标签<think>的意思是思考。")
    exact.answer("glad", second, "<think>还没想好")
    exporter = AnswersToRate(AnswersToRateSpec(kind="answers", file="answers.jsonl"))
    (file,) = exporter.write(exact.finished(), tmp_path)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    said = {row["id"]: row["answer"] for row in rows if row["model"] == "glad"}
    assert said[first.id] == "标签<think>的意思是思考。"
    assert second.id not in said


@pytest.mark.push
def test_regions_have_names_of_their_own_and_attempts_stand_beside_abstentions(tmp_path):
    page = write(tmp_path, large(20))["results.html"].read_text(encoding="utf-8")
    names = re.findall(r'role="region"[^>]* aria-label="([^"]*)"', page)
    assert len(names) == len(set(names)) > 5
    assert "read it beside the abstention rate only" in page


def test_two_models_of_one_name_are_two_rows_of_the_costs(tmp_path, exact):
    there = replace(RECEIPTS[0], endpoint="https://other.example/v1", calls=3, prompt_tokens=7)
    files = write(tmp_path, exact.finished(receipts=[RECEIPTS[0], there, RECEIPTS[1]]))
    with (files["results_tables/costs.csv"]).open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["model"] == "glad"]
    assert [(row["answering_model"], row["replies"], row["usd_scores"]) for row in rows] == [
        ("glad-7b (https://models.example/v1)", "40", "0.03"),
        ("glad-7b (https://other.example/v1)", "3", "0"),
    ]


def test_answers_without_a_score_are_counted_with_the_reason(tmp_path, exact):
    files = write(tmp_path, exact.finished(accounts=[losing("people_rate.glad", "too_few", "Too <few>.", 3)]))
    row = lines(files, "unscored")["people_rate"]
    assert (row["reason"], row["meaning"], row["n"]) == ("too_few", "Too <few>.", "3")
    assert "Too &lt;few&gt;." in files["results.html"].read_text(encoding="utf-8")


def test_published_figures_are_there_if_named_and_marked(tmp_path, exact):
    assert "GPT-4" not in write(tmp_path, exact.finished())["results.html"].read_text(encoding="utf-8")
    files = write(tmp_path, exact.finished(published=PUBLISHED))
    rows = lines(files, "means_correctness_people_rate")
    assert (rows["GPT-4"]["all"], rows["GPT-4"]["all_sd"], rows["GPT-4"]["block"]) == ("0.867", "0.215", "published")
    assert (rows["GPT-4"]["source_bios"], rows["GPT-4"]["n"]) == ("0.958", "1612")
    assert (rows["Human baseline"]["n"], rows["Human baseline"]["group"]) == ("200", "people")
    assert "GPT-4" in lines(files, "means_interpretability_people_rate")
    page = Page(files["results.html"].read_text(encoding="utf-8"))
    assert page.text["s-scores"].count("published, not ours") == 8 + 7
    assert "They were not measured here" in page.text["s-scores"]
    assert "GPT-4 (published, not ours)" in files["results.md"].read_text(encoding="utf-8")
    assert "GPT-4 (published, not ours)" in files[
        "results_tables/means_correctness_people_rate.tex"
    ].read_text(encoding="utf-8")  # fmt: skip


@pytest.mark.push
def test_published_figures_stand_once_per_aspect_below_what_people_rated(tmp_path):
    files = write(tmp_path, large(40))
    assert "GPT-4" in lines(files, "means_correctness_people_rate")
    assert "GPT-4" not in lines(files, "means_correctness_judge_correctness_judge")


def test_a_bad_file_of_published_figures_is_told(tmp_path):
    with pytest.raises(DataError, match="missing"):
        load_published_results(tmp_path / "none.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        "{title: a, cite: b, items: 3, tables: {c: {label: t, sources: [all, x], rows: {m: {cells: [[1, 0]]}}}}}",
        encoding="utf-8",
    )
    with pytest.raises(DataError, match="is invalid") as caught:
        load_published_results(bad)
    assert "1 cells for 2 sources" in caught.value.why
    bad.write_text(bad.read_text("utf-8").replace("[[1, 0]]", "[1, 0]").replace("rows", "sizes: [3], rows"), "utf-8")
    with pytest.raises(DataError, match="is invalid") as caught:
        load_published_results(bad)
    assert "1 sizes for 2 sources" in caught.value.why


def test_the_hardest_items_are_shown_in_full(tmp_path, exact):
    hardest = exact.items[5]
    exact.answer("people", hardest, "<script>alert(1)</script>")
    exact.score("people_rate", "correctness", "people", hardest, None, ratings={"安医生": 0.25, "Bo": 0.75})
    files = write(tmp_path, exact.finished(), worst=2)
    page = Page(files["results.html"].read_text(encoding="utf-8"))
    assert [name for name in page.ids if name.startswith("item-")] == [hardest.id, exact.items[4].id]
    text = squeezed(page.text["s-worst"])
    assert "mean 0.050 over 2" in text
    assert "(安医生 0.25, Bo 0.75)" in text
    assert "<script>alert(1)</script>" in text
    assert hardest.payload.evidence[0].text in text
    assert hardest.payload.answer_wrong in text
    difficulty = lines(files, "difficulty")
    assert near(difficulty[hardest.id]["mean"], 0.05)
    assert len(difficulty) == 6
    assert "glad 说 5" in files["results.md"].read_text(encoding="utf-8")


@pytest.mark.push
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_is_one_well_formed_file(tmp_path, language):
    files = write(tmp_path, large(40), language)
    text = files["results.html"].read_text(encoding="utf-8")
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert len(page.ids) == len(set(page.ids))
    own = {link for link in page.links if link.startswith("#")}
    assert {link[1:] for link in own} <= set(page.ids)
    assert {*page.links} - own == {"results.zh.html" if language == "en" else "results.en.html"}
    assert {*page.links} - own <= files.keys()
    assert tags.count("script") == 1
    assert not {"link", "img", "iframe"} & set(tags)
    assert "http" not in text.replace("https://models.example", "")
    assert "@import" not in text
    assert "url(" not in text
    assert "国考题库" in page.text["s-scores"]
    heads = [attributes for tag, attributes in page.tags if tag == "table"]
    assert all(attributes["class"] == "sheet" for attributes in heads)


def nasty():
    made = Evaluation([item(n, source="a_b|c") for n in range(3)])
    for row in made.items:
        for model in ("=x_y|<b>&50%$#{}~^\\", "calm"):
            made.answer(model, row, "| <i> & $x$ |")
            made.score("people_rate", "correctness", model, row, None, ratings={"=Bo|<u>": 0.5})
    return made.finished(title="<img src=x> & co")


def test_what_data_say_is_text_in_every_form(tmp_path):
    files = write(tmp_path, nasty())
    page = files["results.html"].read_text(encoding="utf-8")
    Page(page)
    assert "<img" not in page
    assert "<b>&50" not in page
    tex = files["results_tables/means_correctness_people_rate.tex"].read_text(encoding="utf-8")
    assert r"=x\_y\textbar{}\textless{}b\textgreater{}\&50\%\$\#\{\}\textasciitilde{}\textasciicircum{}" in tex
    assert r"\textbackslash{} & 0.500 $\pm$ 0.000 &" in tex
    marked = files["results.md"].read_text(encoding="utf-8")
    assert r"| =x\_y\|&lt;b&gt;&amp;50%$\#{}\~^\\ |" in marked.replace(r"\=", "=")
    assert "<i>" not in marked
    scores = files["results_scores.csv"].read_text(encoding="utf-8")
    assert ",'=x_y|<b>&50%$#{}~^" in scores
    assert ",'=Bo|<u>=0.5," in scores


@pytest.mark.push
def test_every_line_of_data_names_benchmark_and_recipe(tmp_path):
    build = large(30)
    files = write(tmp_path, build)
    data = json.loads(files["results.json"].read_text(encoding="utf-8"))
    tables = [name for name in files if name.endswith(".csv")]
    assert len(tables) > 12
    for name in tables:
        for row in csv.DictReader(io.StringIO(files[name].read_text(encoding="utf-8"))):
            assert (row["benchmark"], row["recipe"]) == (data["benchmark"], data["recipe"]), name
    tex = {name.removesuffix(".tex") for name in files if name.endswith(".tex")}
    assert tex == {name.removesuffix(".csv") for name in tables} - {"results_scores", "results_tables/difficulty"}
    scores = list(csv.DictReader(io.StringIO(files["results_scores.csv"].read_text(encoding="utf-8"))))
    assert len(scores) == sum(len(table) for table in build.tables.values() if table.row.name == "score")


@pytest.mark.push
def test_the_same_evaluation_gives_the_same_bytes(tmp_path):
    first = {name: path.read_bytes() for name, path in write(tmp_path, large(30)).items()}
    assert first == {name: path.read_bytes() for name, path in write(tmp_path, large(30)).items()}


def test_an_evaluation_that_holds_little_still_makes_a_page(tmp_path):
    bare = Evaluation([item(0, type_="oe")])
    bare.answer("glad", bare.items[0], "", "empty")
    page = Page(write(tmp_path, bare.finished())["results.html"].read_text(encoding="utf-8"))
    assert "Nothing was scored" in page.text["s-scores"]
    assert "There are no true/false questions" in squeezed(page.text[""])
    assert "s-pairs" not in page.text, "what nothing is known of is left out"
    bare.score("people_rate", "correctness", "glad", bare.items[0], 0.5)
    rows = lines(write(tmp_path, bare.finished()), "means_correctness_people_rate")
    assert (rows["glad"]["all"], rows["glad"]["n"]) == ("0.5", "1")
    assert "one cluster" in rows["glad"]["all_why"]


def test_it_waits_for_answers():
    spec = ResultsSpec(
        kind="results", file="r", language="en", aspects=(), worst=1, power=0.8, effect=0.1, class_imbalance=0.7
    )
    assert not ResultsExporter(spec).can_write(built())
    assert not ResultsExporter(spec).can_write(Evaluation([item(0)]).finished())


def test_every_answer_stands_in_one_column_of_the_verdicts(tmp_path, exact):
    exact.answer("brisk", exact.items[0], "", "empty")
    exact.verdict("brisk", exact.items[0], "empty")
    exact.answer("brisk", exact.items[1], "", "filtered")
    exact.verdict("brisk", exact.items[1], "filtered")
    exact.answer("brisk", exact.items[2], "是")
    exact.verdict("brisk", exact.items[2], "yes")
    files = write(tmp_path, exact.finished())
    brisk = lines(files, "verdicts_verdict_verdict")["brisk"]
    assert near(brisk["silent"], 2 / 3)
    assert near(brisk["accuracy"], 1 / 3)
    assert "The lines do not all cover the same items" in squeezed(
        Page(files["results.html"].read_text(encoding="utf-8")).text["s-verdicts"]
    )


def test_judges_that_have_nothing_in_common_are_not_paired(tmp_path, exact):
    for n, row in enumerate(exact.items):
        exact.score("judge_similarity_correctness", "correctness", "glad", row, n / 6)
        exact.score("judge_ridge_interpretability", "interpretability", "glad", row, n / 12)
    files = write(tmp_path, exact.finished(judges=("similarity_correctness", "ridge_interpretability")))
    assert "similarity_correctness" not in files["results_tables/aspects.csv"].read_text(encoding="utf-8")


def test_published_figures_do_not_stand_under_a_judge_that_compares_words(tmp_path):
    made = Evaluation([item(n) for n in range(4)])
    for row in made.items:
        made.answer("glad", row)
        made.score("judge_words", "correctness", "glad", row, 0.5)
    build = made.finished(published=PUBLISHED, judges=("words",))
    build.recipe["evaluation"]["judges"]["words"]["kind"] = "similarity"
    assert "GPT-4" not in lines(write(tmp_path, build), "means_correctness_judge_words")


def test_answers_that_copy_the_right_statement_are_told_to_be_an_artefact(tmp_path):
    made = Evaluation([item(n) for n in range(4)])
    for row in made.items:
        for model, score in (("glad", 1.0), ("brisk", 0.9)):
            made.answer(model, row)
            made.score("judge_words", "correctness", model, row, score)
    build = made.finished(judges=("words",))
    said = "A mean of 1.000 is an artefact of glad: the answers repeat the right statements"
    assert said not in write(tmp_path / "read", build)["results.md"].read_text(encoding="utf-8")
    build.recipe["evaluation"]["judges"]["words"]["kind"] = "similarity"
    assert said in write(tmp_path / "compared", build)["results.md"].read_text(encoding="utf-8")


def test_a_recorded_model_is_shown_by_its_own_name(tmp_path, exact):
    build = exact.finished()
    build.recipe["steps"] = {"answer.glad": {"baseline": {"kind": "recorded", "model": "文心一言"}}}
    files = write(tmp_path, build)
    assert "文心一言" in lines(files, "means_correctness_people_rate")
    assert "glad" in json.loads(files["results.json"].read_text(encoding="utf-8"))["systems"]


def test_nothing_in_an_answer_steers_the_page(tmp_path, exact):
    exact.answer("glad", exact.items[5], "是\x1b[2J\u202e的")
    files = write(tmp_path, exact.finished())
    for name in ("results.html", "results.md"):
        text = files[name].read_text(encoding="utf-8")
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "是\ufffd[2J\ufffd的</bdi>" in files["results.html"].read_text(encoding="utf-8")


def test_rows_of_the_benchmark_that_were_not_used_are_told(tmp_path, exact):
    build = exact.finished()
    units = {("b.jsonl", "kept", ""): 2, ("b.jsonl", "dropped", "missing_field"): 3, ("b.jsonl", "dropped", "odd"): 1}
    first = replace(build.step_counts[0], units=units, reasons={"missing_field": "A field is empty."})
    build = replace(build, step_counts=(first, *build.step_counts[1:]))
    files = write(tmp_path, build)
    says = "4 of 6 rows of the benchmark were not used: A field is empty (3); odd (1)."
    assert says in files["results.html"].read_text(encoding="utf-8")
    assert says in files["results.md"].read_text(encoding="utf-8")


@pytest.mark.parametrize(("rows", "are_shown"), [(1612, True), (20, False)])
def test_published_figures_stand_beside_the_published_benchmark_alone(tmp_path, exact, rows: int, are_shown: bool):
    """A benchmark that somebody gave is the published one if it has as many rows; what its reader drops counts too."""
    build = exact.finished(published=PUBLISHED)
    units = {("b.tsv", "kept", ""): rows - 1, ("b.tsv", "dropped", "duplicate"): 1}
    first = replace(build.step_counts[0], units=units, reasons={"duplicate": "It is there already."})
    recipe = {**build.recipe, "evaluation": {**build.recipe["evaluation"], "benchmark": {"path": "b.tsv"}}}
    build = replace(build, recipe=recipe, step_counts=(first, *build.step_counts[1:]))
    page = write(tmp_path, build)["results.html"].read_text(encoding="utf-8")
    assert ("GPT-4" in page) == are_shown
    assert (
        "Published figures of CARE-MI are of 1,612 items and are not shown: this benchmark has 20 rows." in page
    ) != are_shown


def test_of_many_sources_the_smallest_share_a_column(tmp_path):
    made = Evaluation([item(n, source=f"s{n % 30}") for n in range(50)])
    for n, row in enumerate(made.items):
        made.answer("glad", row)
        made.score("people_rate", "correctness", "glad", row, 1.0 if n % 30 >= 20 else 0.0)
    files = write(tmp_path, made.finished(published=PUBLISHED))
    glad = lines(files, "means_correctness_people_rate")["glad"]
    assert [name for name in glad if name.startswith("source_") and name[8:].isalnum()] == [
        f"source_s{n}" for n in range(20)
    ]
    assert (glad["other_sources"], glad["other_sources_n"]) == ("1", "10")
    assert "20 largest sources" in files["results.html"].read_text(encoding="utf-8")


def test_where_a_judge_learned_from_every_rating_the_page_says_so_in_place_of_a_table(tmp_path):
    made = Evaluation([item(n) for n in range(20)])
    for n, row in enumerate(made.items):
        made.answer("glad", row)
        made.score("judge_correctness_judge", "correctness", "glad", row, n / 20, label="learned" if n < 8 else "")
        if n < 8:
            made.score("people_rate", "correctness", "glad", row, None, ratings={"安": n / 20})
    files = write(tmp_path, made.finished())
    says = "Left out: 8 ratings that correctness_judge was trained on"
    assert says in files["results.html"].read_text(encoding="utf-8")
    assert says.replace("_", "\\_") in files["results.md"].read_text(encoding="utf-8")
    assert not [name for name in files if "powered" in name]


def test_forms_are_never_pooled_and_are_compared_on_the_facts_that_have_both(tmp_path):
    rows = [item(n, expected="yes" if n % 2 else "no", fact=f"fact-{n % 4}") for n in range(8)]
    rows = [row if n < 4 else row.model_copy(update={"form": "verify"}) for n, row in enumerate(rows)]
    rows.append(item(9, expected="yes").model_copy(update={"form": "verify"}))
    made = Evaluation(rows)
    for n, row in enumerate(rows):
        made.answer("glad", row)
        made.verdict("glad", row, row.payload.expected if n >= 4 or n % 2 else "invalid")
    files = write(tmp_path, made.finished())
    tables = {name for name in files if name.startswith("results_tables/verdicts") and name.endswith(".csv")}
    forms = {"statement", "verify"}
    assert tables == {f"results_tables/verdicts_verdict_verdict_{form}.csv" for form in forms}
    assert near(lines(files, "verdicts_verdict_verdict_statement")["glad"]["accuracy"], 0.5)
    assert near(lines(files, "verdicts_verdict_verdict_verify")["glad"]["accuracy"], 1)
    (paired,) = lines(files, "forms_verdict_verdict_statement_verify").values()
    assert near(paired["difference"], -0.5)
    assert paired["n"] == "4"
    data = json.loads(files["results.json"].read_text("utf-8"))
    assert {one["form"] for one in data["scores"]} == forms
    page = files["results.html"].read_text("utf-8")
    assert all(f"<h3>True/false verdicts, form {form}</h3>" in page for form in forms)


def test_the_correlation_of_the_aspects_names_the_form(tmp_path, exact):
    exact.items = [row.model_copy(update={"form": "verify" if n < 3 else "set"}) for n, row in enumerate(exact.items)]
    for n, row in enumerate(exact.items):
        exact.score("people_rate", "interpretability", "glad", row, n / 6)
    text = write(tmp_path, exact.finished())["results_tables/aspects.csv"].read_text(encoding="utf-8")
    named = [row["aspects"] for row in csv.DictReader(io.StringIO(text))]
    assert len(named) == 4
    assert [name.rpartition(", form ")[2] for name in named] == ["verify", "verify", "set", "set"]


def test_results_by_where_wrong_answers_come_from(tmp_path, exact):
    places = ("number", "number", "rows", "rows", "rows", "")
    exact.items = [row.model_copy(update={"wrong_from": place}) for row, place in zip(exact.items, places, strict=True)]
    found = lines(write(tmp_path, exact.finished()), "wrong_from_correctness_people_rate")["glad"]
    assert near(found["number"], fmean([1.0, 0.8]))
    assert near(found["rows"], fmean([0.6, 0.7, 0.4]))


def abstaining(exact):
    """What `exact` said, with an abstention of calm in the place of a wrong verdict."""
    made = Evaluation(exact.items)
    said = {"glad": ["yes", "no", "invalid", "no"], "calm": ["yes", "abstained", "no", "refused"]}
    for model, verdicts in said.items():
        for row, verdict in zip(exact.items, verdicts, strict=False):
            made.answer(model, row)
            made.verdict(model, row, verdict)
    return made


def test_abstentions_stand_beside_the_accuracy(tmp_path, exact):
    build = abstaining(exact).finished()
    build.recipe["evaluation"]["penalty"] = {"wrong": -2, "abstained": 0.25}
    files = write(tmp_path, build)
    rows = lines(files, "abstention_verdict_verdict")
    figures = {"accuracy": 0.25, "attempted": 0.5, "abstention": 0.5, "abstained": 0.25, "refused": 0.25, "wrong": 0.25}
    assert all(near(rows["calm"][name], value) for name, value in figures.items())
    assert near(rows["calm"]["penalty"], (1 + 0.25 - 2 + 0.25) / 4)
    assert rows["calm"]["attempted_n"] == "2"
    assert near(rows["glad"]["attempted"], 0.5)
    assert near(rows["glad"]["abstention"], 0)
    assert near(rows["glad"]["penalty"], (1 - 2 + 0 + 1) / 4)
    plain = lines(files, "verdicts_verdict_verdict")
    assert near(plain["calm"]["accuracy"], 0.25)
    assert [float(plain["calm"][name]) for name in ("invalid", "abstained", "refused", "silent")] == [0, 0.25, 0.25, 0]
    assert "right 1, abstained 0.25, wrong -2, invalid 0" in files["results.md"].read_text(encoding="utf-8")
    (stated,) = stated_abstentions(json.loads(files["results.json"].read_text(encoding="utf-8")))
    assert stated.cell("calm", "abstention").value == 0.5
    assert stated.cell("nobody", "abstention").value is None


def test_a_verdict_table_without_a_list_has_no_abstention_rate_and_says_so(tmp_path, exact):
    build = abstaining(exact).finished()
    words = tmp_path / "xx.yaml"
    words.write_text("says_yes: [sim]\nsays_no: [nao]\n", encoding="utf-8")
    build.recipe["evaluation"]["scorers"]["verdict"]["tables"] = [{"path": "xx.yaml", "resolved_path": str(words)}]
    files = write(tmp_path, build)
    row = next(csv.DictReader(io.StringIO(files["results_tables/abstention_verdict_verdict.csv"].read_text("utf-8"))))
    assert [row[name] for name in ("attempted", "abstention", "abstained")] == ["", "", ""]
    assert row["wrong"] != ""
    page = squeezed(files["results.html"].read_text(encoding="utf-8"))
    assert "There is no abstention rate: xx.yaml has no list of abstentions" in page
