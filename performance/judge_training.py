"""How fast neural judges learn and score, and what they need: the kinds `encoder` and `decoder` on random weights.

    python performance/judge_training.py [--quick] [--ways encoder decoder] [--steps 20]

Without --quick the shapes are those of real models, 350 million parameters (all trained) and 7 billion (adapters
trained), and a GPU is needed. Each way has a process of its own. See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.core import registry
from benchbuilder.evaluation.judges.base import Case, Example, TrainedJudge

ROOT = Path(__file__).parents[1]
WAYS = ("encoder", "encoder-long", "decoder")
LETTERS = "".join(map(chr, range(0x4E00, 0x4E00 + 2000))) + "0123456789.?[]：，。？\n"


@dataclass(frozen=True)
class Shape:
    """The size of a network and of what it is shown."""

    config: dict[str, int]
    length: int
    batch: int
    together: int


ENCODER = {"vocab_size": 21128, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
           "intermediate_size": 4096}  # fmt: skip
LLAMA = {"vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
         "intermediate_size": 11008}  # fmt: skip
THIN = {"vocab_size": 2100, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 128}  # fmt: skip
REAL = {
    "encoder": Shape(ENCODER, 512, 32, 32), "encoder-long": Shape(ENCODER, 4096, 32, 4),
    "decoder": Shape(LLAMA, 2048, 64, 8),
}  # fmt: skip
QUICK = {
    "encoder": Shape(THIN, 128, 8, 8), "encoder-long": Shape(THIN, 512, 8, 4), "decoder": Shape(THIN, 256, 8, 8),
}  # fmt: skip


def tokenizer(pair: bool) -> Any:
    """A tokenizer of single characters."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = {token: at for at, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS])}
    inner = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    if pair:
        inner.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        eos_token="[SEP]", model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def base(way: str, shape: Shape, device: str, folder: Path) -> Path:
    """A model of that shape with random weights, in a folder."""
    import torch
    import transformers

    positions = {"max_position_embeddings": shape.length}
    with torch.device(device):
        if way == "decoder":
            torch.set_default_dtype(torch.bfloat16 if device == "cuda" else torch.float32)
            model: Any = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape.config, **positions))
            torch.set_default_dtype(torch.float32)
        else:
            config = transformers.BertConfig(**shape.config, **positions)
            model = transformers.BertForSequenceClassification(config)
    model.save_pretrained(folder)
    tokenizer(pair=way != "decoder").save_pretrained(folder)
    del model
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return folder


def examples(count: int, length: int) -> list[Example]:
    """Examples with more paragraphs than there is room for, so that every row is full."""
    made: list[Example] = []
    for number in range(count):
        turn = LETTERS[number % 1000 : number % 1000 + 40]
        case = Case(f"{turn[:20]}？", f"{turn}。", (turn * (length // 40 + 1),))
        made.append(Example(case, (number % 11) / 10, 1.0, f"item-{number}", f"fact-{number}", "model", "bench"))
    return made


class Utilisation:
    """What nvidia-smi says of the GPU's use, twice a second, while the block runs; None where there is no such tool."""

    def __init__(self) -> None:
        self._values: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Utilisation:
        if shutil.which("nvidia-smi"):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        asked = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        while not self._done.wait(0.5):
            said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip().splitlines()
            self._values += [float(said[0])] if said and said[0].isdigit() else []

    @property
    def mean(self) -> float | None:
        """Percent, while it was watched."""
        return round(sum(self._values) / len(self._values), 1) if self._values else None


def judge(way: str, shape: Shape, model: Path, device: str) -> TrainedJudge:
    """The judge as its bundled recipe has it, with the sizes of the benchmark."""
    kind = way.partition("-")[0]
    said = yaml.safe_load((ROOT / "recipes" / "judge" / f"{kind}.yaml").read_text(encoding="utf-8"))
    said |= {
        "path": str(model), "device": device, "epochs": 2, "batch_size": shape.batch, "choose": "last",
        "device_batch_size": shape.together, "max_length": shape.length,
    }  # fmt: skip
    if kind == "decoder":
        said["prompt"] = {"path": said["prompt"], "resolved_path": str(ROOT / "prompts" / said["prompt"])}
    return registry.create_from_spec("judge", registry.find_kind("judge", kind).load().spec_class(**said))


def measure(way: str, *, quick: bool, steps: int, peak: float) -> dict[str, Any]:
    """Train for two epochs of `steps` steps, of which the second is timed, then load and score."""
    import torch

    device = "cpu" if quick else "cuda"
    shape = (QUICK if quick else REAL)[way]
    times: list[float] = []

    def note(line: str) -> None:
        if line.startswith("epoch"):
            times.append(time.perf_counter())
        print(f"  {line}", file=sys.stderr)

    with tempfile.TemporaryDirectory() as folder:
        model = base(way, shape, device, Path(folder) / "base")
        one = judge(way, shape, model, device)
        shown = examples(steps * shape.batch, shape.length)
        with Utilisation() as training:
            facts = one.train(shown, [], Path(folder) / "judge", 1, note)
        seconds = times[1] - times[0]
        trained_peak = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None
        again = judge(way, shape, model, device)
        start = time.perf_counter()
        again.open(Path(folder) / "judge")
        loaded = time.perf_counter() - start
        cases = [example.case for example in shown[: max(shape.together, len(shown) // 2)]]
        again.score(cases[: shape.together])
        start = time.perf_counter()
        with Utilisation() as scoring:
            again.score(cases)
        scored = time.perf_counter() - start
    tokens = facts["tokens_learned"] / 2
    operations = (4 if way == "decoder" else 6) * facts["parameters"] * tokens / seconds / 1e12
    return {
        "way": way, "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "computed_in": facts["computed_in"], "parameters": facts["parameters"], "trained": facts["trained"],
        "length": shape.length, "batch_size": shape.batch, "device_batch_size": shape.together, "steps": steps,
        "seconds": round(seconds, 2), "tokens_per_second": round(tokens / seconds),
        "teraflops": round(operations, 3), "share_of_peak": None if quick else round(operations / peak, 3),
        "peak_memory_gib": None if trained_peak is None else round(trained_peak, 1), "utilisation": training.mean,
        "load_seconds": round(loaded, 1), "cases_scored_per_second": round(len(cases) / scored, 1),
        "utilisation_scoring": scoring.mean, "versions": facts["versions"],
    }  # fmt: skip


def main() -> int:
    """Print one JSON object a way; 2 if there is no GPU and --quick is not given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="thin shapes on the processor: whether it runs, no more")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--steps", type=int, default=None, help="steps an epoch; 20, with --quick 3")
    parser.add_argument("--peak", type=float, default=989.0, help="teraflops of the GPU in bfloat16 (H100, H200: 989)")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    steps = given.steps or (3 if given.quick else 20)
    if not given.here:
        argv = [*(["--quick"] if given.quick else []), "--steps", str(steps), "--peak", str(given.peak), "--here"]
        return max(subprocess.call([sys.executable, __file__, "--ways", way, *argv]) for way in given.ways)
    if find_spec("torch") is None:
        print("pip install 'benchbuilder[judge-hf]'", file=sys.stderr)
        return 2
    import torch

    if not given.quick and not torch.cuda.is_available():
        print("there is no GPU here; --quick runs thin shapes on the processor", file=sys.stderr)
        return 2
    for way in given.ways:
        print(json.dumps(measure(way, quick=given.quick, steps=steps, peak=given.peak)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
