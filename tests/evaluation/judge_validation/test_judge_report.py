import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from fake_judges import FakeJudge, evaluation, examples, sound, trial
from scipy import stats
from sklearn import metrics

from benchbuilder.core.errors import DataError
from benchbuilder.evaluation.judge_report.held_out import held_out_answers
from benchbuilder.evaluation.judge_report.report import write_judge_report
from benchbuilder.evaluation.judge_report.validity_tables import rank_correlation
from benchbuilder.evaluation.judge_training.predictions import Prediction
from benchbuilder.evaluation.published import PublishedJudges
from benchbuilder.evaluation.yaml_files import read_yaml

RECIPES = Path(__file__).parents[3] / "recipes"
PROBES, PUBLISHED = RECIPES / "probes" / "zh.yaml", RECIPES / "published" / "care_mi_judges.yaml"
MADE = examples(40)


class Written:
    """What a report wrote, by table."""

    def __init__(self, folder, trials, **changes):
        given = {"language": "zh", "probes": None, "published": None, "texts": "en"}
        self.folder = folder
        self.paths = write_judge_report(trials, evaluation(), folder, **{**given, **changes})
        self.data = json.loads((folder / "judges.json").read_text(encoding="utf-8"))
        self.page = (folder / "judges.html").read_text(encoding="utf-8")

    def names(self):
        return {sheet["name"] for chapter in self.data["aspects"] for sheet in chapter["tables"]}

    def rows(self, name):
        with (self.folder / "judges_tables" / f"{name}.csv").open(encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    def row(self, name, **where):
        (found,) = [row for row in self.rows(name) if all(row[key] == value for key, value in where.items())]
        return found


def one(tmp_path, judge, made=MADE, *, name="judge_a", report=None, **changes):
    return Written(tmp_path, [trial(name, judge, made, **changes)], **(report or {}))


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    tested = trial("judge_a", FakeJudge(sound), MADE, noise=0.3)
    folder = tmp_path_factory.mktemp("noisy")
    return tested, Written(folder, [tested])


def columns(tested):
    held = held_out_answers(tested, synthetic=False)
    return held.predicted, held.targets


def close(cell, value):
    assert float(cell) == pytest.approx(value, abs=1e-8)


@pytest.mark.push
def test_agreement_equals_scipy(noisy):
    tested, written = noisy
    said, true = columns(tested)
    row = written.row("correctness_agreement", judge="judge_a")
    close(row["pearson"], stats.pearsonr(said, true).statistic)
    close(row["spearman"], stats.spearmanr(said, true).statistic)
    close(row["kendall"], stats.kendalltau(said, true).statistic)
    close(row["mae"], metrics.mean_absolute_error(true, said))
    close(row["rmse"], metrics.root_mean_squared_error(true, said))
    close(row["bias"], (said - true).mean())
    assert float(row["pearson_low"]) < float(row["pearson"]) < float(row["pearson_high"])


@pytest.mark.push
def test_threshold_and_calibration_equal_scikit_learn(noisy):
    tested, written = noisy
    said, true = columns(tested)
    good = true >= 0.5
    row = written.row("correctness_threshold", judge="judge_a")
    close(row["accuracy"], metrics.accuracy_score(good, said >= 0.5))
    close(row["balanced"], metrics.balanced_accuracy_score(good, said >= 0.5))
    close(row["auroc"], metrics.roc_auc_score(good, said))
    close(row["near"], np.mean(np.abs(true - 0.5) <= 0.05))
    close(written.row("correctness_calibration", judge="judge_a")["brier"], metrics.brier_score_loss(good, said))


def test_a_score_on_the_threshold_is_good(tmp_path):
    made = [replace(example, target=0.5 if place % 2 else 0.0) for place, example in enumerate(MADE)]
    written = one(tmp_path, FakeJudge(lambda case: 0.5), made)
    assert float(written.row("correctness_threshold")["accuracy"]) == 0.5
    assert "A score of exactly 0.5 counts as good" in written.page


@pytest.mark.push
def test_baselines_are_paired_and_say_who_is_better(noisy):
    tested, written = noisy
    said, true = columns(tested)
    row = written.row("correctness_baselines", baseline="majority of these answers")
    most = max((true >= 0.5).mean(), (true < 0.5).mean())
    close(row["theirs"], most)
    close(row["difference"], metrics.accuracy_score(true >= 0.5, said >= 0.5) - most)
    assert row["better"] == "judge is better"
    assert 0 < float(row["p"]) <= 2 / 201 + 1e-9
    length = written.row("correctness_baselines", baseline="length of the answer", measure="Pearson")
    lengths = [min(1.0, len(row.example.case.answer) / 60) for row in held_out_answers(tested, synthetic=False).rows]
    close(length["theirs"], stats.pearsonr(lengths, true).statistic)


@pytest.mark.push
def test_ablation_compares_with_the_scores_without_paragraphs(noisy):
    tested, written = noisy
    rows = held_out_answers(tested, synthetic=False)
    row = written.row("correctness_ablation", measure="Pearson")
    close(row["without"], stats.pearsonr(rows.without_evidence, rows.targets).statistic)
    close(row["difference"], float(row["with"]) - float(row["without"]))


def test_no_ablation_no_table(tmp_path):
    written = one(tmp_path, FakeJudge(sound), without=False)
    assert "correctness_ablation" not in written.names()


@pytest.mark.push
def test_the_ceiling_is_each_person_against_the_others(noisy):
    tested, written = noisy
    ratings = np.array(
        [[value for _, value in row.example.ratings] for row in held_out_answers(tested, synthetic=False).rows]
    )
    loo = [stats.pearsonr(ratings[:, k], np.delete(ratings, k, 1).mean(1)).statistic for k in range(3)]
    row = written.row("correctness_ceiling", judge="judge_a")
    close(row["ceiling"], np.mean(loo))
    close(row["over_ceiling"], float(row["below_ceiling"]) / np.mean(loo))
    assert [float(row["pearson"]) for row in written.rows("correctness_raters")] == pytest.approx(loo)


@pytest.mark.push
def test_groups_hold_every_answer_once(noisy):
    tested, written = noisy
    for name in ("source", "type", "model"):
        rows = written.rows(f"correctness_by_{name}")
        assert sum(float(row["n"]) for row in rows) == len(tested.predictions)
    said, true = columns(tested)
    models = held_out_answers(tested, synthetic=False).models
    mine = [place for place, model in enumerate(models) if model == "甲模型"]
    close(written.row("correctness_by_model", model="甲模型")["bias"], (said[mine] - true[mine]).mean())


def halved(noise=0.3):
    """A judge on trial as the split `both` has it: two models and half of the questions are held out."""
    whole = trial("judge_a", FakeJudge(sound), MADE, noise=noise)
    sides = {(True, True): "held_out", (True, False): "known_model", (False, True): "known_question"}
    found = {side: [] for side in sides.values()}
    for row in whole.predictions:
        new = int(row.example.family.removeprefix("family-")) % 2 == 0
        side = sides.get((new, row.example.model in ("丙模型", "丁模型")))
        if side is not None:
            found[side].append(replace(row, side=side))
    left_out = (*found["known_model"], *found["known_question"])
    return replace(whole, predictions=tuple(found["held_out"]), left_out=left_out)


@pytest.mark.push
def test_what_is_half_known_stands_beside_what_is_new(tmp_path, noisy):
    assert "correctness_by_side" not in noisy[1].names()
    written = Written(tmp_path, [halved()])
    assert {row["side"]: float(row["n"]) for row in written.rows("correctness_by_side")} == {
        "new question, new model": 40, "new question, training model": 40, "training question, new model": 40,
    }  # fmt: skip


def test_every_model_counts_for_the_order_and_what_is_new_alone_for_all_else(tmp_path):
    tested = halved()
    written = Written(tmp_path / "all", [tested])
    order = written.row("correctness_order")
    assert float(order["models"]) == 4
    assert order["spearman"]
    assert {float(row["n"]) for row in written.rows("correctness_systems")} == {20}
    alone = Written(tmp_path / "alone", [replace(tested, left_out=())])
    assert alone.row("correctness_order")["spearman"] == ""
    looked = {"correctness_order", "correctness_systems", "correctness_by_side"}
    assert written.names() - looked == alone.names() - looked
    for name in alone.names() - looked:
        assert written.rows(name) == alone.rows(name), name


@pytest.mark.parametrize("texts", ["en", "zh"])
def test_shared_paragraphs_and_few_answers_are_said(tmp_path, texts):
    tested = trial("judge_a", FakeJudge(sound), MADE[:20])
    held = {**tested.card["held_out"], "shared_paragraphs": {"answers": 20, "some": 17, "all": 6}}
    written = Written(tmp_path, [replace(tested, card={**tested.card, "held_out": held})], texts=texts)
    assert ("at least one paragraph of 17 of them" if texts == "en" else "17 条至少有一个段落") in written.page
    assert ("fewer than 30 answers" if texts == "en" else "不足 30 条回答") in written.page
    assert ("Answers to one question are not independent" if texts == "en" else "同一问题的回答相互关联") in " ".join(
        (tmp_path / "judges.md").read_text("utf-8").split()
    )


def test_the_order_of_models(tmp_path):
    worst_first = {"甲模型": 0.2, "乙模型": 0.4, "丙模型": 0.6, "丁模型": 0.8}
    tested = trial("judge_a", FakeJudge(sound), MADE)
    upside_down = replace(
        tested, predictions=tuple(replace(row, predicted=worst_first[row.example.model]) for row in tested.predictions)
    )
    row = Written(tmp_path, [upside_down]).row("correctness_order")
    assert (float(row["spearman"]), float(row["kendall"])) == (-1.0, -1.0)
    assert float(row["swapped"]) == float(row["compared"]) == 6


def test_the_order_of_models_equals_scipy_in_every_draw():
    rng = np.random.default_rng(3)
    held = held_out_answers(trial("judge_a", FakeJudge(sound), MADE, noise=0.5), synthetic=False)
    weights = rng.integers(0, 3, (30, len(held))).astype(np.float64)
    weights[0, [model == "甲模型" for model in held.models]] = 0
    models = np.array(held.models)
    for which, theirs in (("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        for row, found in zip(weights, rank_correlation(held, which).compute(weights), strict=True):
            names = [name for name in sorted(set(models)) if row[models == name].sum()]
            means = [
                [np.average(values[models == name], weights=row[models == name]) for name in names]
                for values in (held.targets, held.predicted)
            ]
            assert found == pytest.approx(theirs(*means).statistic)


def test_a_constant_judge_sets_off_the_alarm(tmp_path):
    written = one(tmp_path, FakeJudge(lambda case: 0.7), name="stuck")
    (warning,) = written.data["aspects"][0]["warnings"]
    assert "stuck gives nearly every answer the same score" in warning
    assert warning in written.page
    assert warning in (tmp_path / "judges.md").read_text(encoding="utf-8")
    assert written.row("correctness_agreement")["pearson"] == ""


@pytest.mark.push
def test_a_sound_judge_sets_off_none(noisy):
    assert noisy[1].data["aspects"][0]["warnings"] == []
    assert "Alarm" not in noisy[1].page


@pytest.mark.push
def test_synthetic_rows_count_for_nothing_but_their_own_table(tmp_path):
    tested = trial("judge_a", FakeJudge(sound), MADE, noise=0.2)
    alone = Written(tmp_path / "alone", [tested])
    assert "correctness_statements" not in alone.names()
    made = [Prediction(replace(MADE[0], model="", target=target, ratings=()), score)
            for target, score in ((1.0, 0.9), (1.0, 0.4), (0.0, 0.2), (0.0, 0.3))]  # fmt: skip
    both = Written(tmp_path / "both", [replace(tested, predictions=(*tested.predictions, *made))])
    row = both.row("correctness_statements")
    assert (float(row["n"]), float(row["accuracy"]), float(row["auroc"])) == (4, 0.75, 1.0)
    assert (float(row["of_true"]), float(row["of_false"])) == (pytest.approx(0.65), pytest.approx(0.25))
    assert alone.rows("correctness_agreement") == both.rows("correctness_agreement")


@pytest.mark.parametrize("split", ["by_question", "both"])
def test_published_figures_stand_beside_no_other_split(tmp_path, split):
    written = one(tmp_path, FakeJudge(sound), split=split, report={"published": PUBLISHED})
    assert [row["block"] for row in written.rows("correctness_comparison")] == ["own"]
    assert "LLaMA" not in written.page


@pytest.mark.push
def test_published_figures_that_are_hidden_are_told_of(tmp_path):
    (one_split, mixed) = (tmp_path / "one", tmp_path / "mixed")
    Written(one_split, [trial("a", FakeJudge(sound), MADE, split="both")], published=PUBLISHED)
    both = [trial(name, FakeJudge(sound), MADE, split=name) for name in ("by_model", "by_question")]
    Written(mixed, both, published=PUBLISHED)
    for folder in (one_split, mixed):
        assert "are not shown: they use another split (Models held out)" in (folder / "judges.md").read_text("utf-8")
    Written(tmp_path / "same", [trial("a", FakeJudge(sound), MADE, split="by_model")], published=PUBLISHED)
    assert "are not shown" not in (tmp_path / "same" / "judges.md").read_text("utf-8")


@pytest.mark.push
def test_judges_of_different_answers_are_told_apart(tmp_path):
    first, again = (trial(name, FakeJudge(sound), MADE, noise=0.2) for name in ("first", "again"))
    other = trial("other", FakeJudge(sound), MADE, split="by_question")
    fewer = trial("fewer", FakeJudge(sound), MADE[20:])
    fewer = replace(fewer, card={**fewer.card, "data_sha256": "1" * 64})
    unscored = replace(again, name="unscored", predictions=again.predictions[3:])
    alike = Written(tmp_path / "alike", [first, again, unscored])
    assert "note" not in alike.rows("correctness_comparison")[0]
    assert alike.data["aspects"][0]["warnings"] == []
    mixed = Written(tmp_path / "mixed", [first, other, again, fewer])
    notes = {row["judge"]: row["note"] for row in mixed.rows("correctness_comparison")}
    assert notes == {"first": "answers A", "other": "answers B", "again": "answers A", "fewer": "answers C"}
    (warning,) = mixed.data["aspects"][0]["warnings"]
    assert "(A: first, again; B: other; C: fewer)" in warning


def test_a_judge_that_asks_is_said_to_be_unprobed(tmp_path):
    tested = trial("asking", FakeJudge(sound), MADE)
    asking = replace(tested, card={**tested.card, "kind": "prompted"}, judge=None)
    closed = replace(tested, name="closed", card={**tested.card, "kind": "tfidf_ridge"}, judge=None)
    written = Written(tmp_path, [asking, closed], probes=PROBES)
    (warning,) = written.data["aspects"][0]["warnings"]
    assert warning.startswith("asking: robustness was not tested")
    assert "No robustness card for closed:" in written.page


@pytest.mark.push
def test_tables_of_an_earlier_report_go_and_files_of_others_stay(tmp_path):
    first = trial("a", FakeJudge(sound), MADE)
    Written(tmp_path, [first])
    tables = tmp_path / "judges_tables"
    assert (tables / "correctness_ablation.csv").exists()
    (tables / "mine.csv").write_text("mine")
    write_judge_report([first], evaluation(), tmp_path, language="zh", probes=None, published=None, texts="en",
                 stem="judges_a")  # fmt: skip
    assert (tmp_path / "judges_a_tables" / "correctness_ablation.csv").exists()
    written = Written(tmp_path, [trial("a", FakeJudge(sound), MADE, without=False)])
    assert {path.stem for path in tables.iterdir()} == {*written.names(), "mine"}
    assert (tmp_path / "judges_a_tables" / "correctness_ablation.csv").exists()
    assert "judges_a.json holds all figures" in (tmp_path / "judges_a.html").read_text("utf-8")


def test_published_figures_are_marked_as_such_beside_by_model(tmp_path):
    written = one(tmp_path, FakeJudge(sound), split="by_model", report={"published": PUBLISHED})
    rows = {row["judge"]: row for row in written.rows("correctness_comparison")}
    assert [row["block"] for row in rows.values()] == ["own", *["published"] * 4]
    assert (float(rows["LLaMA-13B-T"]["pearson"]), float(rows["LLaMA-13B-T"]["accuracy"])) == (0.868, 0.898)
    assert "0.020" in rows["BERT-Large"]["note"]
    assert written.page.count("<small>published, not ours</small>") == 4
    assert "published, not ours" in (tmp_path / "judges_tables" / "correctness_comparison.tex").read_text("utf-8")


def test_published_figures_are_those_of_the_papers():
    found = read_yaml(PUBLISHED, PublishedJudges, "file of published figures")
    shown = {name: [(f.pearson, f.accuracy) for f in aspects.values()] for name, aspects in found.judges.items()}
    assert shown == {
        "LLaMA-13B-T": [(0.868, 0.898), (0.683, 0.835)],
        "GPT-3-6.7B": [(0.803, 0.858), (0.634, 0.828)],
        "GPT-3-350M": [(0.783, 0.835), (0.565, 0.822)],
        "BERT-Large": [(0.606, 0.560), (0.013, 0.794)],
    }
    assert found.majority == {"correctness": 0.56, "interpretability": 0.8}
    assert found.figures_for("correctness", "both") == {}


def test_few_ratings_with_a_good_judge_narrow_the_interval(tmp_path):
    made = examples(120)
    tested = trial("judge_a", FakeJudge(sound), made)
    rows = Written(tmp_path, [tested]).rows("correctness_prediction_powered")
    assert len(rows) == 4
    for row in rows:
        assert float(row["labelled"]) == 30
        assert float(row["narrower"]) > 0.2
        assert (
            float(row["prediction_powered_low"]) - 0.05
            < float(row["known"])
            < float(row["prediction_powered_high"]) + 0.05
        )


def test_intervals_of_single_scores_cover_what_they_should(tmp_path):
    tested = trial("judge_a", FakeJudge(sound), examples(200), noise=0.3)
    row = Written(tmp_path, [tested]).row("correctness_conformal")
    assert float(row["coverage"]) == pytest.approx(0.95, abs=0.02)
    said, true = columns(tested)
    assert float(row["half_width"]) == pytest.approx(np.quantile(np.abs(said - true), 0.95), abs=0.02)


def test_a_judge_as_good_as_the_people_passes_the_alternative_annotator_test(tmp_path):
    tested = trial("judge_a", FakeJudge(sound), MADE)
    mean = replace(tested, predictions=tuple(replace(row, predicted=row.example.target) for row in tested.predictions))
    assert Written(tmp_path / "good", [mean]).row("correctness_alternative")["outcome"] == "passes"
    blind = Written(tmp_path / "bad", [trial("judge_a", FakeJudge(lambda case: 0.5), MADE)])
    assert blind.row("correctness_alternative")["outcome"] == "does not pass"
    assert all(row["outcome"] == "judge does not win" for row in blind.rows("correctness_opponents"))


@pytest.mark.push
def test_the_robustness_card_is_on_the_page_and_in_the_data(tmp_path):
    judges = [
        trial("loves_length", FakeJudge(lambda case: min(1.0, len(case.answer) / 60)), MADE),
        trial("is_sound", FakeJudge(sound), MADE),
    ]
    written = Written(tmp_path, judges, probes=PROBES)
    found = {
        judge: {finding["probe"]: finding["verdict"] for finding in card}
        for judge, card in written.data["aspects"][0]["robustness"].items()
    }
    assert found["loves_length"]["padding"] == "fail"
    assert set(found["is_sound"].values()) == {"pass"}
    assert written.page.count('<span class="verdict fail">fail</span>') >= 1
    row = written.row("correctness_robustness", judge="loves_length", probe="Neutral padding")
    assert row["verdict"] == "fail"
    assert float(row["delta_low"]) > 0.1
    rows = written.rows("correctness_robustness")
    assert len(rows) == 2 * len(found["is_sound"])


def test_a_judge_that_is_not_at_hand_has_no_robustness_card(tmp_path):
    tested = replace(trial("judge_a", FakeJudge(sound), MADE), judge=None)
    written = Written(tmp_path, [tested], probes=PROBES)
    assert "No robustness card for judge_a" in written.page
    assert "correctness_robustness" not in written.names()


def test_nothing_rated_is_said_and_no_crash(tmp_path):
    tested = trial("judge_a", FakeJudge(sound), MADE)
    none = replace(tested, predictions=())
    written = Written(tmp_path, [none], probes=PROBES, published=PUBLISHED)
    assert "has no held-out answer with a human rating" in written.page
    assert written.names() == {"correctness_robustness"}


@pytest.mark.parametrize("rows", [1, 2, 3, 8])
def test_very_few_rows_crash_nothing(tmp_path, rows):
    written = one(tmp_path, FakeJudge(sound), MADE[:rows], noise=0.1, report={"probes": PROBES})
    assert float(written.row("correctness_comparison")["n"]) == rows


def test_one_rater_means_no_ceiling(tmp_path):
    made = [replace(example, ratings=example.ratings[:1]) for example in MADE]
    names = one(tmp_path, FakeJudge(sound), made).names()
    assert not names & {"correctness_ceiling", "correctness_raters", "correctness_alternative"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in ("meta", "link", "br", "hr", "img", "input"):
            self.open.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if name in given]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.push
@pytest.mark.parametrize("texts", ["en", "zh"])
def test_the_page_nests_is_self_contained_and_escapes(tmp_path, texts):
    made = [replace(example, model=f"<b>{example.model}", source="a & b") for example in MADE]
    trials = [
        trial("judge_a", FakeJudge(sound), made, noise=0.1),
        trial("readable", FakeJudge(sound), made, aspect="interpretability", noise=0.1),
    ]
    written = Written(tmp_path, trials, texts=texts, probes=PROBES, illustrative=True)
    page = Page(written.page)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    other, *links = page.links
    assert other == ("judges.zh.html" if texts == "en" else "judges.en.html")
    assert all(link.startswith("#") and link[1:] in page.ids for link in links)
    assert "<b>甲模型" not in written.page
    assert not re.search(r"@import|url\(|https?://", written.page)
    assert "{" not in re.sub(r"<(style|script)>.*?</\1>", "", written.page, flags=re.S)
    if texts == "zh":
        text = re.sub(r"<(style|script|title)>.*?</\1>|<[^>]+>", " ", written.page, flags=re.S)
        assert "The " not in text
        assert "judge is" not in text


@pytest.mark.push
def test_every_table_stands_as_csv_and_latex(noisy):
    _, written = noisy
    for name in written.names():
        assert (written.folder / "judges_tables" / f"{name}.csv").is_file()
        latex = (written.folder / "judges_tables" / f"{name}.tex").read_text(encoding="utf-8")
        assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 1
    assert {path.name for path in written.folder.iterdir()} == {
        "judges.html", "judges.zh.html", "judges.md", "judges.json", "judges_tables"
    }  # fmt: skip
    assert all(path.is_file() for path in written.paths)


@pytest.mark.push
def test_the_same_trials_in_any_order_give_the_same_figures(tmp_path, noisy):
    tested, written = noisy
    turned = Written(tmp_path, [replace(tested, predictions=tuple(reversed(tested.predictions)))])
    assert turned.data == written.data


def test_no_judge_and_probes_for_another_language_are_refused(tmp_path):
    with pytest.raises(DataError, match="no judge"):
        Written(tmp_path, [])
    tested = trial("judge_a", FakeJudge(sound), MADE)
    with pytest.raises(DataError, match="'zh'"):
        Written(tmp_path, [tested], probes=PROBES, language="en")
