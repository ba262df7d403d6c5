"""The table of commands: what one may write on a command line, by group."""

from __future__ import annotations

from pathlib import Path

from benchbuilder.cli.command_line import (
    BENCHMARK,
    RECIPE,
    REFRESH,
    TASK,
    VERIFY,
    Command,
    flag,
    option,
    several,
    word,
    words,
)

APP_PORT = 8765
APP_ADDRESS = f"http://127.0.0.1:{APP_PORT}"
"""Where the review app is served by default."""

GROUPS: dict[str, dict[str, Command]] = {"Build": {
    "build": Command(
        "build", "build a benchmark, as recipe=NAME without a command does",
        ("benchbuild recipe=care_mi", "benchbuild recipe=care_mi retriever.top_k=2 annotation.min_evidence=2"),
        (RECIPE, REFRESH, VERIFY),
    ),
    "ls": Command(
        "ls", "list recipes, or the kinds that recipes can name", ("benchbuild ls", "benchbuild ls --kinds"),
        (flag("--kinds", "list the kinds that recipes may name"),),
    ),
    "check": Command(
        "recipe", "validate a recipe without running it, or a build's files",
        ("benchbuild check recipe=care_mi", "benchbuild check --store builds/care_mi"),
        (RECIPE, option("--store", "FOLDER", "compare all files of this build with their checksums")), "_check",
    ),
    "show": Command(
        "show", "say what a recipe and the command line set, in which file and line",
        ("benchbuild show recipe=care_mi retriever.top_k=2", "benchbuild show steps.ask_tf_choice recipe=care_mi"),
        (words("PART or key=value", "a part to show in full, as in steps.NAME or retriever.top_k; recipe=NAME and any "
               "override"),
         flag("--all", "show the whole recipe with the origin of every value"),
         option("--find", "TEXT", "show where this text or number stands, for instance words of a question"),
         flag("--plain", "leave out the origins, as in the recipe.yaml of a build: of the whole recipe, or of PART")),
    ),
    "plan": Command(
        "plan", "show what a build reuses, why the rest runs, what models may cost",
        ("benchbuild plan recipe=care_mi", "benchbuild plan recipe=care_mi retriever.top_k=2"),
        (RECIPE, REFRESH, VERIFY, flag("--no-quote", "run nothing and leave out what models would cost")),
    ),
    "preview": Command(
        "preview", "run a few rows through every step: input, prompt, reply, result",
        ("benchbuild preview n=2 recipe=care_mi", "benchbuild preview recipe=care_mi --html preview.html"),
        (RECIPE, flag("--full", "show prompts in full"),
         option("--html", "FILE", "write the preview as a page, with full prompts")),
    ),
    "why": Command(
        "inspect", "follow a row back to its source line, and on to what became of it",
        ("benchbuild why care_mi/sample/medqa/dev.jsonl:5 recipe=care_mi",
         'benchbuild why "$(head -1 builds/care_mi/items.jsonl | cut -d \'"\' -f 4)" recipe=care_mi'),
        (word("id", "the id of an item or of any other row, or a source unit as FILE:LINE (as the ledger names it)"),
         flag("--full", "show rows and prompts in full"), RECIPE), "_why",
    ),
    "peek": Command(
        "inspect", "show the first rows of a step",
        ("benchbuild peek candidates recipe=care_mi", "benchbuild peek medqa -n 2 recipe=care_mi"),
        (word("step", "a step or a source"),
         option("-n --rows", None, "how many rows (default 5)", type=int, default=5), RECIPE), "_peek",
    ),
    "view": Command(
        "view", "look at builds in a browser: flow, rows, items, answers, costs",
        ("benchbuild view", "benchbuild view builds/care_mi --no-browser --read-only"),
        (words("FOLDER | key=value", "folders with builds (default: builds), or recipe=NAME and any override for the "
               "build of a recipe"),
         option("--port", None, "the port to listen on (default: a free one)", type=int, default=0),
         flag("--no-browser", "print the address, and open no browser"),
         option("--export", "DIR", "serve nothing: write the pages of a release into this folder; the release is that "
                "of the folder given, or the newest of the recipe", type=Path),
         flag("--read-only", "offer no page that writes")),
    ),
    "diff": Command(
        "diff", "compare two recipes, or two benchmarks item by item with causes",
        ("benchbuild diff care_mi 'recipe=care_mi variant=reference'",
         "benchbuild diff builds/care_mi builds/care_mi"),
        (word("left", "the folder of a build, the name of a recipe, or the overrides of one in quotes", metavar="A"),
         word("right", "the other one (default: the recipe that A was copied from)", metavar="B", nargs="?"),
         flag("--all", "list every difference"), flag("--json", "print everything as JSON")),
    ),
    "word-list": Command(
        "words", "make a word list from others, have it reviewed, see its matches",
        ("benchbuild word-list show recipe=care_mi",
         "benchbuild word-list collect terms.txt recipe=care_mi --output review.csv"),
        (word("action", "make a list and the sheet to review it; read the reviewed sheet; or show how many rows the "
              "recipe's list matches", choices=("collect", "accept", "show")),
         words("LIST|SHEET|key=value", "collect: lists, FILE, FILE:COLUMN, FILE@LANGUAGE or FILE:COLUMN@LANGUAGE; "
               "accept: the sheet; recipe=NAME and any override; words.KEY=VALUE for a setting of the list"),
         option("--output", "FILE", "the sheet (.csv, .xlsx), or the word list"),
         option("--settings", "FILE", "collect: settings to use in place of those of the recipe's language"),
         option("--least-hits", "N", "collect: leave out words that match fewer rows; the provenance lists them",
                type=int, default=0),
         option("--former", "SHEET", "collect: take over the decisions of this sheet"),
         flag("--quote", "collect: ask no model; print what it may cost"),
         option("--undecided", None, "accept: keep or drop undecided words", choices=("keep", "drop")),
         option("--by", "NAME", "accept: who decided, if the sheet does not say", default="")),
    ),
    "stem-shapes": Command(
        "shapes", "show shapes of stems, and what rules of examples make of them",
        ("benchbuild stem-shapes recipe=exam_any",
         "benchbuild stem-shapes --most 5 recipe=exam_any variant=hi"),
        (RECIPE,
         option("--most", "N", "write at most so many shapes (default 12)", type=int, default=12),
         several("--accept", "RULE", "accept a rule whose three outputs are right", type=int)),
    ),
    "clean": Command(
        "clean", "show what a build's store holds, and remove what no recipe needs",
        ("benchbuild clean recipe=care_mi",
         "benchbuild clean recipe=care_mi --keep 'recipe=care_mi retriever.top_k=2' --yes"),
        (words("key=value", "recipe=NAME and any override: the recipe that is in use"),
         several("--keep", "WORDS", "another recipe in use, in one word: 'recipe=NAME key=value'"),
         flag("--indices", "also remove indices: a build makes again what it needs"),
         flag("--steps", "list the steps of each state"), flag("--yes", "remove without a question")),
    ),
    "sweep": Command(
        "sweep", "build several recipes or settings, and compare them in one table",
        ("benchbuild sweep recipe=care_mi 'source=[medqa,textbook]' annotation=none "
         "steps.state_choice.max_length=20,40",
         "benchbuild sweep recipe=care_mi 'source=[medqa,textbook],[mlecqa,textbook]' annotation=none --evaluate"),
        (word("overrides", "recipe=NAME and any override; commas separate alternatives", nargs="+",
              metavar="key=a,b"),
         flag("--evaluate", "evaluate each run too"), flag("--quote", "ask no model; print what each build may cost"),
         option("--output", "FOLDER", "where runs and tables go", default="builds/sweep")),
    ),
}, "Annotate": {
    "review": Command(
        "review", "serve the review app: experts judge candidates and rate answers",
        ("benchbuild review recipe=care_mi annotation=app",
         "benchbuild review recipe=care_mi annotation=app steps.items.sample=12 --port 8766"),
        (RECIPE,
         option("--host", None, "the address to listen on (default: this machine only)", default="127.0.0.1"),
         option("--port", None, f"the port to listen on (default: {APP_PORT})", type=int, default=APP_PORT),
         option("--url", None, "where people reach the app behind a proxy, for instance https://review.example.org",
                default=""),
         option("--proxy", "ADDRESS", "the address or network of your proxy, as 127.0.0.1: only its X-Forwarded-For "
                "counts (default: none)", action="append", default=[])),
    ),
    "people": Command(
        "people", "invite experts to the review app, list them, renew or revoke links",
        ("benchbuild people invite wang --role annotator recipe=care_mi annotation=app",
         "benchbuild people ls recipe=care_mi annotation=app"),
        (word("action", "invite people, make new links, set their projects, revoke access, or list everybody",
              choices=("invite", "link", "allow", "revoke", "ls")),
         words("NAME key=value", "names of people, recipe=NAME and any override"),
         option("--role", None, "what they do (default: annotator)", choices=("annotator", "adjudicator", "lead"),
                default="annotator"),
         option("--project", "NAME", "invite, allow: a project that they work on (repeatable; default: every "
                "project)", action="append", default=[]),
         option("--days", None, "how long a link works (default: 30 days)", type=int, default=30),
         option("--url", None, f"where people reach the app (default: {APP_ADDRESS})", default=APP_ADDRESS)),
    ),
    "votes": Command(
        "votes", "export votes to other tools, import them, say how good labels are",
        ("benchbuild votes export label_studio recipe=care_mi annotation=app",
         "benchbuild votes quality recipe=care_mi"),
        (word("action", "export votes for another tool (Label Studio, Argilla, sheets), import votes, write what they "
              "decide, say how good the labels are, or list formats",
              choices=("export", "import", "decisions", "quality", "formats")),
         words("FORMAT [FILE ...] key=value", "a format, for import the files, recipe=NAME and any override"),
         option("--project", None, "the project of the votes (default: claims)", default="claims"),
         option("--output", "DIR", "where to write (default: annotation/export of the build)"),
         option("--users", "FILE", "the table of users of the other tool: who is who here (CSV)"),
         flag("--strict", "import: a vote that differs from the stored one is an error")),
    ),
    "translations": Command(
        "translations", "write the table in which people translate facts, and check it",
        ("benchbuild translations write recipe=medicine_parallel variant=es file=es.tsv",
         "benchbuild translations check recipe=medicine_parallel variant=es"),
        (word("action", "write the table, with what is translated and the faults; or check it, with no build and no "
              "model", choices=("write", "check")),
         words("file=TABLE key=value", "the table (.tsv, .csv; for check by default that of the recipe), recipe=NAME "
               "and any override")),
    ),
}, "Models and cost": {
    "prompt": Command(
        "prompt", "show exactly what a model would get for a row, or list the prompts",
        ("benchbuild prompt show qa2d recipe=care_mi", "benchbuild prompt ls recipe=care_mi"),
        (word("action", "show the request for a row, or list the prompts", choices=("show", "ls")),
         words("NAME key=value", "for show: a prompt file (qa2d) or a step; then recipe=NAME and any override"),
         option("--row", "ID", "a row's id or FILE:LINE (default: the first row)", default="")), "_prompt",
    ),
    "compare-models": Command(
        "compare", "run several models, or rules, over the same rows of a step",
        ("benchbuild compare-models state_choice --with rules --with 'short: rules steps.state_choice.max_length=25' "
         "n=20 recipe=care_mi",
         "benchbuild compare-models ask_oe_choice --with rules recipe=care_mi"),
        (word("step", "a step that can ask a model"), RECIPE,
         several("--with", "'[LABEL:] OVERRIDES'", "a candidate: `rules`, or overrides such as 'model=openai "
                 "model.name=NAME'", dest="candidates", required=True),
         flag("--all", "list every disagreement")),
    ),
    "save-replies": Command(
        "prompt", "write the replies that a recipe uses, to rebuild with no model",
        ("benchbuild save-replies --output replies.jsonl recipe=care_mi model=openai model.name=gpt-4o-mini",
         "benchbuild save-replies --output replies.jsonl recipe=care_mi model=openai model.name=gpt-4o"),
        (option("--output", "FILE", "the file to write (JSON Lines)", required=True), RECIPE), "_replies",
    ),
    "salvage-replies": Command(
        "salvage", "move the readable replies of a damaged journal into a new one",
        ("benchbuild salvage-replies builds/care_mi/replies.sqlite",
         "benchbuild salvage-replies builds/care_mi/evaluation/replies.sqlite"),
        (word("journal", "the damaged journal (replies.sqlite)", metavar="FILE", type=Path),),
    ),
}, "Evaluate and judge": {
    "audit": Command(
        "audit", "show what somebody could guess who knows nothing, and gate on it",
        ("benchbuild audit recipe=care_mi", "benchbuild audit recipe=care_mi --benchmark builds/care_mi/items.tsv"),
        (RECIPE, *BENCHMARK,
         option("--against", "PATH", "look for the items in this file or folder of documents; PATH:COLUMN names the "
                "column of records", action="append", default=[]),
         flag("--model", "ask the models of the evaluation whether they have seen the benchmark"),
         flag("--quote", "with --model: ask nothing; print what would be asked and what it may cost")),
    ),
    "evaluate": Command(
        "evaluate", "ask models the questions of the benchmark and score their answers",
        ("benchbuild evaluate recipe=care_mi",
         "benchbuild evaluate --quote recipe=care_mi model=openai model.name=gpt-4o-mini"),
        (RECIPE, REFRESH, *BENCHMARK, flag("-v --verbose", "print a line for each step"),
         flag("--quote", "ask no model; print what would be asked and what it may cost"),
         option("--sheet", "FILE", "ask nobody; write a sheet (CSV) in which people answer some of the questions")),
    ),
    "results": Command(
        "report", "rewrite the results of an evaluation, or show two side by side",
        ("benchbuild results recipe=care_mi", "benchbuild results recipe=care_mi --beside builds/care_mi/evaluation"),
        (RECIPE, *BENCHMARK, option("--beside", "FOLDER", "the folder of another evaluation to compare with")),
    ),
    "analyse": Command(
        "analyse", "say which items are doubtful or hard, and what separates models",
        ("benchbuild analyse recipe=care_mi", "benchbuild analyse recipe=care_mi analysis.experts=0.05"),
        (RECIPE, *BENCHMARK,
         option("--plan", "WORDS", "how many items show a difference, before answers are bought, and what they cost: "
                "difference=0.02, perhaps with models=5,power=0.9")),
    ),
    "scorecard": Command(
        "scorecard", "list what makes a benchmark good: met, missing, or asked of you",
        ("benchbuild scorecard recipe=care_mi", "benchbuild scorecard --form recipe=care_mi"),
        (RECIPE, flag("--form", "print the questions for the author, to fill in as YAML")),
    ),
    "judge": Command(
        "judge", "train judges of answers, score with one, say how far to trust them",
        ("benchbuild judge train recipe=care_mi", "benchbuild judge report recipe=care_mi"),
        (word("action", "train judges on rated answers, score a file of answers, or report how far judges can be "
              "trusted", choices=("train", "score", "report")),
         words("NAME [FILE] key=value", "judges of the recipe (default for train and report: all), for score the "
               "file, and any override"),
         *BENCHMARK, flag("--again", "train: even if settings and ratings are unchanged"),
         flag("--anyway", "score: even if the judge was made for another language or rubric"),
         option("--output", "PATH", "score: the file to write; report: the folder to write into"),
         option("--words", None, "report: its language (default: en; its page opens in that of the locale)",
                choices=("en", "zh"))),
    ),
    "finetune": Command(
        "finetune", "export training files for a judge, and manage its job at a service",
        ("benchbuild finetune export judge=tuned_correctness recipe=care_mi 'evaluation=[zh_claims,zh_finetuned]' "
         "model@evaluation.judges.tuned_correctness.model=openai evaluation.judges.tuned_correctness.model.name=NAME",
         "benchbuild finetune check judge=tuned_correctness recipe=care_mi 'evaluation=[zh_claims,zh_finetuned]' "
         "model@evaluation.judges.tuned_correctness.model=openai evaluation.judges.tuned_correctness.model.name=NAME"),
        (word("action", "export: write the training files; check: validate them and count tokens; submit: print what "
              "a job may cost and, with --yes, start it; status: show the job and, once it succeeded, make the judge; "
              "cancel: stop it", choices=("export", "check", "submit", "status", "cancel")),
         TASK, words("judge=NAME key=value", "the judge, recipe=NAME and any override"),
         flag("--everything", "a second job that learns from all ratings, including those that validate the first"),
         flag("--yes", "submit: start the job, within the budget"),
         option("--budget", "USD", "submit: the most that the job may cost", type=float),
         option("--budget-tokens", "N", "submit: the most tokens that the job may train on", type=int),
         flag("--again", "submit: start another job after a failed one"),
         flag("--wait", "submit, status: wait until the job has ended"),
         option("--every", "S", "with --wait: seconds between two requests (default: 60)", type=float, default=60.0)),
    ),
}, "Publish": {
    "release": Command(
        "release", "write a version for others: data, card, checksums, private labels",
        ("benchbuild release recipe=care_mi version=1.0.0 --despite 'a trial of the form'",
         "benchbuild release recipe=care_mi version=1.0.0 release.private=0.3 release.dev=5"),
        (words("key=value", "recipe=NAME, version=1.0.0, and any override, such as release.private=0.3"),
         option("--despite", "REASON", "release it although something speaks against it; the card prints the reason "
                "and what it was", default=""),
         option("--changes", "TEXT", "what changed since the last version, and why", default="")),
    ),
    "errata": Command(
        "errata", "report errors in items, decide them, release what was decided",
        ("benchbuild errata add \"$(head -1 builds/care_mi/items.jsonl | cut -d '\"' -f 4)\" --kind wrong_key "
         "--text 'the guideline says otherwise' recipe=care_mi paths.errata=errata.jsonl",
         "benchbuild errata ls open recipe=care_mi paths.errata=errata.jsonl"),
        (word("action", "report an error, list errata, decide one, or release what was decided",
              choices=("add", "ls", "decide", "release")),
         words("ITEM|ERRATUM|STATE key=value", "add: an item; decide: an erratum and one of fix_key, fix_text, "
               "withdraw, reject; ls: states or items; then recipe=NAME and any override"),
         option("--kind", None, "add: what sort of error it is",
                choices=("wrong_key", "ambiguous", "outdated", "leak", "text")),
         option("--text", None, "add: what is wrong, and how you know; never published", default=""),
         option("--who", "NAME", "add: who reports it; never published", default=""),
         option("--from", "FILE", "add: the reports of a form", dest="file", type=Path),
         option("--release", "FOLDER", "add: look for items in this release only", type=Path),
         option("--by", "NAME", "decide: who decides; never published", default=""),
         option("--reason", "TEXT", "decide: why; published with the change", default=""),
         several("--set", "FIELD=TEXT", "decide: a new text"),
         flag("--swap", "decide fix_key: exchange both answers, and the verdict"),
         flag("--again", "decide: replace a decision that is not released"),
         flag("--json", "ls: print one JSON object a line"),
         flag("--design", "release: a new first number of the version"),
         option("--despite", "REASON", "release: although something speaks against it", default=""),
         option("--changes", "TEXT", "release: what changed besides, and why", default="")),
    ),
    "due": Command(
        "due", "list items whose facts must be checked, or whose sources changed",
        ("benchbuild due recipe=care_mi", "benchbuild due recipe=care_mi --on 2030-01-31 --output due.csv"),
        (RECIPE, option("--on", "DAY", "what is due on this day (default: today); with --read, the day of the check"),
         option("--output", "FILE", "write a sheet (CSV) for experts: a row for each fact that is due", type=Path),
         option("--read", "SHEET", "take over a sheet that is filled in: facts that hold go into release.checks, "
                "others into the log of errata", type=Path),
         flag("--json", "print one JSON object a line")),
    ),
    "export": Command(
        "export", "write items for lm_eval, inspect, evalscope, opencompass, or plain",
        ("benchbuild export recipe=care_mi to=lm_eval,inspect",
         "benchbuild export recipe=care_mi to=all --output exports/trial",
         "benchbuild export recipe=care_mi 'evaluation=[zh_claims,zh_prompted]' to=inspect judge=prompted_correctness"),
        (RECIPE, option("--release", "FOLDER", "export a release instead of the build"),
         flag("--pressure", "ask behind the claims of evaluation.pressure, in a folder of its own"),
         flag("--without-private", "with --pressure: leave private questions out"),
         option("--output", "FOLDER", "where to write a folder for each harness (default: exports/NAME)")),
    ),
    "publish": Command(
        "publish", "upload a release or a judge to the Hugging Face Hub, with a tag",
        ("benchbuild publish releases/care_mi/1.0.0 --repository OWNER/NAME --dry-run",
         "benchbuild publish releases/care_mi/1.0.0 --repository OWNER/NAME"),
        (word("folder", "the folder of a release, or of a trained judge", metavar="FOLDER", type=Path),
         option("--licence", "ID", "of a judge: its licence, such as CC-BY-4.0", default=""),
         option("--repository", "OWNER/NAME", "where to (default: release.repository)"),
         flag("--dry-run", "show every file that would go, and send nothing"),
         flag("--hidden", "a new repository can be seen by its owner only")),
    ),
    "score-private": Command(
        "score", "score answers to the private questions of a release",
        ("benchbuild score-private answers.jsonl recipe=care_mi",
         "benchbuild score-private answers.jsonl recipe=care_mi version=1.0.0 --output scores.json"),
        (word("answers", "the answers: JSON Lines, CSV, TSV or Parquet", metavar="FILE", type=Path), RECIPE,
         option("--output", "FILE", "write the scores as JSON too", type=Path)),
    ),
}, "Extend": {
    "new": Command(
        "recipe", "make a recipe of your file, copy one, or begin a plugin",
        ("benchbuild new my_field --data FILE",
         "benchbuild new my_field --from care_mi",
         "benchbuild new my_exam --language sw --source questions:multiple_choice=FILE",
         "benchbuild new --plugin my_plugin --kind source,tokenizer"),
        (word("name", "the recipe to make", nargs="?", metavar="NAME"),
         option("--from", "RECIPE", "the recipe to copy", dest="origin"),
         option("--language", "TAG", "the language of the new recipe, if it differs"),
         several("--data", "FILE", "a file of questions, claims, triples or texts: its kind, columns and language are "
                "told, and three rows are shown as understood"),
        option("--columns", "ROLE=COL,...", "where --data guessed wrong: question, options, key, right, wrong, claim, "
               "label, head, relation, tail, text, evidence; also true=LABEL, false=LABEL, skip=LABEL, key_as=index, "
               "sheet=NAME, encoding=NAME"),
        flag("--overwrite", "replace a recipe of this name that `new` wrote, unless somebody edited it since"),
        several("--source", "NAME:KIND[=FILE]", "leave out the sources of RECIPE and write a form for this one; "
                 "without --from, FILE is copied and its columns are guessed"),
         several("--also", "GROUP/OPTION", "copy this option too, for instance annotation/app"),
         option("--plugin", "NAME", "write the skeleton of a plugin instead"),
         option("--kind", "SLOT,...", "the slots that the plugin fills: source, payload, step, tokenizer, retriever, "
                "baseline, solver, scorer, metric, judge, view, exporter")), "_new",
    ),
    "trust": Command(
        "trust", "let a folder of recipes set prices, addresses and outside paths",
        ("benchbuild trust recipes/local", "benchbuild trust"),
        (word("folder", "the folder to trust; without it, list them", nargs="?", metavar="FOLDER"),),
    ),
    "completion": Command(
        "completion", "print a script that completes words in bash, zsh or fish",
        ("benchbuild completion bash", "benchbuild completion fish"),
        (word("shell", "the shell, for instance: benchbuild completion bash > "
              "~/.local/share/bash-completion/completions/benchbuild; benchbuild completion zsh > "
              "~/.zfunc/_benchbuild, a folder of $fpath; benchbuild completion fish > "
              "~/.config/fish/completions/benchbuild.fish", choices=("bash", "zsh", "fish")),),
    ),
    "schema": Command(
        "recipe", "write a JSON Schema of recipe files, for editors",
        ("benchbuild schema", "benchbuild schema --output recipe.schema.json"),
        (option("--output", "FILE", "write to this file"),), "_schema",
    ),
    "help": Command(
        "help", "show the main road, every command, or the arguments of one",
        ("benchbuild help all", "benchbuild help build"),
        (word("topic", "`all`, or a command", nargs="?", metavar="COMMAND"),),
    ),
}}  # fmt: skip
"""The commands by the groups of ``benchbuild help all`` and of the documentation."""
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
MAIN_ROAD = ("new", "check", "build", "view", "review", "evaluate", "audit", "judge", "release", "export")
"""The commands of the first screen, in the order in which a benchmark is made."""
FORMER = {
    "compare": "compare-models",
    "replies": "save-replies",
    "report": "results",
    "salvage": "salvage-replies",
    "score": "score-private",
    "shapes": "stem-shapes",
    "trace": "why",
    "words": "word-list",
}
"""Former names of commands, with those that they have now."""
