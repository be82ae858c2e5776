"""`python -m tests.judge`: three lm-eval tasks from local files against `workbench serve`.

lm-eval runs in an environment of its own (600 MB, made once in `.bench/`), with its API extra, no torch, and
its default tokenizer backend. Ends with status 1 where a number differs from direct computation by more than
1e-3 of it, or a generated text at all.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.environments import environment
from tests.judge.texts import ANSWER_TOKENS, CHOICES, QUESTIONS, TEXTS
from workbench.local.llama_model import BATCH, LlamaModel
from workbench.local.model_file import find_model, model_name

JUDGE = "lm_eval[api]==0.4.13"
TOLERANCE = 1e-3
_KEY = "a-key-for-the-judge"


class Direct:
    """The same numbers, computed from the engine without the server."""

    def __init__(self) -> None:
        self._model = LlamaModel(find_model(), 1, 2048)

    def logprobs(self, ids: Sequence[int]) -> tuple[list[float], list[bool]]:
        """Of each token but the first: its logprob in nats, and whether it is the likeliest."""
        self._model.forget(0)
        values: list[float] = []
        are_best: list[bool] = []
        for start in range(0, len(ids), BATCH):
            logits = self._model.evaluate_prompt(0, start, ids[start : start + BATCH], every=True)
            for row, token in zip(
                logits.astype(np.float64), ids[start + 1 : start + 1 + BATCH], strict=False
            ):
                values.append(float(row[token] - np.log(np.exp(row - row.max()).sum()) - row.max()))
                are_best.append(int(row.argmax()) == token)
        return values, are_best

    def continuation(self, context: str, continuation: str) -> tuple[float, bool]:
        """The logprob of a continuation, and whether each of its tokens is the likeliest."""
        start = len(self._model.tokenize(context, add_special=False))
        whole = self._model.tokenize(context + continuation, add_special=False)
        values, are_best = self.logprobs(whole)
        return math.fsum(values[start - 1 :]), all(are_best[start - 1 :])

    def text(self, text: str) -> float:
        """The logprob of a whole text after the token that begins texts."""
        first = self._model.tokenize(self._model.facts.bos_token, add_special=False)[0]
        return math.fsum(self.logprobs([first, *self._model.tokenize(text, add_special=False)])[0])

    def answer(self, question: str) -> str:
        """The greedy answer up to the end of its line."""
        ids = self._model.tokenize(question, add_special=False)
        self._model.forget(0)
        data = b""
        token = int(self._model.evaluate_prompt(0, 0, ids, every=False)[-1].argmax())
        for position in range(len(ids), len(ids) + ANSWER_TOKENS):
            data += self._model.token_bytes(token, special=False)
            if token in self._model.end_tokens or b"\n" in data:
                break
            token = int(self._model.evaluate_tokens([(0, position, token)])[0].argmax())
        return data.partition(b"\n")[0].decode(errors="ignore")


def main() -> int:
    """Run the judge and compare; returns the exit status."""
    python = environment("judge", JUDGE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_tasks(folder / "tasks")
        with _server() as url:
            arguments = f"model={model_name(find_model())},base_url={url}/v1/completions,max_retries=1"
            subprocess.run(
                [
                    *(python, "-m", "lm_eval", "run", "--model", "local-completions"),
                    *("--model_args", f"{arguments},auth_token={_KEY},max_length=2048"),
                    *("--tasks", "judge_choices", "judge_texts", "judge_answers"),
                    *("--include_path", folder / "tasks", "--log_samples", "--output_path", folder / "out"),
                ],
                check=True,
                env={**os.environ, "OPENAI_API_KEY": _KEY, "HF_HOME": name, "HF_HUB_OFFLINE": "1"},
            )
        differences = list(_compare(folder / "out"))
    print(f"\n{'task':16}{'lm-eval':>16}{'directly':>16}  relative difference")
    is_equal = True
    for task, judged, direct, difference in differences:
        is_equal &= difference <= TOLERANCE
        print(f"{task:16}{judged!s:>16.15}{direct!s:>16.15}  {difference:.1e}")
    print("all equal" if is_equal else "NOT EQUAL")
    return 0 if is_equal else 1


def _write_tasks(folder: Path) -> None:
    folder.mkdir()
    texts: list[Mapping[str, object]] = [{"text": text} for text in TEXTS]
    rows: dict[str, Sequence[Mapping[str, object]]] = {
        "choices": CHOICES,
        "texts": texts,
        "answers": QUESTIONS,
    }
    kinds: dict[str, dict[str, Any]] = {
        "choices": {
            "output_type": "multiple_choice",
            "doc_to_text": "{{question}}",
            "doc_to_choice": "{{choices}}",
            "doc_to_target": "{{answer}}",
        },
        "texts": {"output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}"},
        "answers": {
            "output_type": "generate_until",
            "doc_to_text": "{{question}}",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {
                "until": ["\n"],
                "max_gen_toks": ANSWER_TOKENS,
                "temperature": 0,
                "include_stop_str_in_output": False,
            },
        },
    }
    for name, fields in kinds.items():
        data = folder / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows[name]))
        task: dict[str, Any] = {
            "task": f"judge_{name}",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(data)}},
            "test_split": "test",
            **fields,
        }
        # JSON is YAML too.
        (folder / f"judge_{name}.yaml").write_text(json.dumps(task))


@contextmanager
def _server() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "workbench.local", "--api-key-env", "JUDGE_KEY"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "JUDGE_KEY": _KEY},
    ) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()


def _samples(folder: Path, task: str) -> list[list[Any]]:
    """What lm-eval was answered, in the order of the file."""
    (file,) = folder.rglob(f"samples_{task}_*.jsonl")
    samples = sorted(map(json.loads, file.read_text().splitlines()), key=lambda sample: int(sample["doc_id"]))
    return [sample["resps"] for sample in samples]


def _compare(folder: Path) -> Iterator[tuple[str, Any, Any, float]]:
    """Task, what lm-eval found, what direct computation finds, and their relative difference."""
    direct = Direct()
    for row, answers in zip(CHOICES, _samples(folder, "judge_choices"), strict=True):
        question, choices = str(row["question"]), row["choices"]
        assert isinstance(choices, list)
        for choice, ((judged, is_greedy),) in zip(choices, answers, strict=True):
            # lm-eval moves spaces from the end of a context to the continuation, and puts one between both.
            context = question.rstrip()
            value, is_best = direct.continuation(context, question[len(context) :] + f" {choice}")
            difference = abs(float(judged) - value) / abs(value)
            yield "choices", float(judged), value, difference if str(is_greedy) == str(is_best) else math.inf
    for text, ((judged,),) in zip(TEXTS, _samples(folder, "judge_texts"), strict=True):
        value = direct.text(text)
        found = float(judged[0] if isinstance(judged, list) else judged)
        yield "texts", found, value, abs(found - value) / abs(value)
    for posed, ((judged,),) in zip(QUESTIONS, _samples(folder, "judge_answers"), strict=True):
        expected = direct.answer(posed["question"])
        yield "answers", repr(judged), repr(expected), 0.0 if judged == expected else math.inf


if __name__ == "__main__":
    sys.exit(main())
