"""Regression checks: compare recorded runs with an endpoint's current answers.

Cases are read on demand, and at most as many as the endpoint's concurrency limit run at once.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from workbench.domain.agreement import Agreement, Tolerances
from workbench.domain.display import sentences
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, EndpointError, StorageError
from workbench.domain.regression_case import (
    AnswerComparison,
    CaseResult,
    CaseVerdict,
    compare_passages,
    compare_runs,
    is_deterministic,
    is_scored,
    judge,
)
from workbench.domain.run import Parent, Run
from workbench.runner.connections import Connections
from workbench.runner.score_text import score_answer
from workbench.storage.session_file import iterate_runs

DEFAULT_TOLERANCES = Tolerances(divergence=0.1)
BLESSED = "blessed"
"""Parent kind of a run whose answer replaces that of its parent in later checks."""
_MOST_FAILURES = 100
"""Number of consecutive failed cases after which the check stops."""


@dataclass(frozen=True, slots=True)
class Case:
    """A recorded run whose answer is checked."""

    number: int
    """Index among all cases, from 0."""
    path: Path
    recorded: Run
    """The run with the expected answer: the newest blessed one, else the original."""
    root: str
    """Id of the original run."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The cases found in session files."""

    paths: tuple[Path, ...]
    """Session files, in order."""
    newest: Mapping[tuple[Path, str], str]
    """Id of the newest run of each case, by file and id of the original run."""

    @property
    def count(self) -> int:
        """Number of cases."""
        return len(self.newest)

    def cases(self) -> Iterator[Case]:
        """Read the cases one by one. Raises StorageError for an invalid file."""
        number = 0
        for path in self.paths:
            for run in iterate_runs(path):
                if self.newest.get((path, root := _root(run))) == run.id:
                    yield Case(number, path, run, root)
                    number += 1


def survey(names: Sequence[Path], on_case: Callable[[Path, str, Run], None] = lambda *_: None) -> Survey:
    """Find the cases in session files and in folders of them.

    `on_case` receives the file, the id of the original run and the recorded run of each case, and again for
    a newer blessed run. Raises StorageError for files that are missing or cannot be read.
    """
    newest: dict[tuple[Path, str], str] = {}
    paths = tuple(dict.fromkeys(path for name in names for path in _session_files(name)))
    for path in paths:
        for run in iterate_runs(path, with_tokens=False):
            if run.is_answered and run.choices:
                newest[path, _root(run)] = run.id
                on_case(path, _root(run), run)
    return Survey(paths, newest)


def _root(run: Run) -> str:
    """Return the id of the original run of a run's case."""
    return run.parent.run if run.parent is not None and run.parent.kind == BLESSED else run.id


def _session_files(name: Path) -> list[Path]:
    if not name.is_dir():
        return [name]
    found = sorted(path for path in name.rglob("*.toml") if not path.name.startswith("."))
    if not found:
        raise StorageError(f"{name} has no session files", hint="Name a session file or a folder of them.")
    return found


@dataclass(frozen=True, slots=True)
class RegressionCheck:
    """The settings of a regression check."""

    connections: Connections
    endpoint: Endpoint
    tolerances: Tolerances
    model: str = ""
    """Model that replaces the recorded one; empty keeps the recorded model."""
    is_forced: bool = False
    """Whether to score the recorded tokens instead of sending the request again."""
    times: int = 1
    batch: str = field(default_factory=lambda: uuid.uuid4().hex)

    async def run(
        self,
        found: Survey,
        done: Collection[tuple[str, str]],
        on_result: Callable[[CaseResult, Case, Run | None], None],
    ) -> bool:
        """Check all cases except those `done` (file and id of the original run).

        Returns False if the check stopped after too many consecutive failures. `on_result` receives each
        result, and the last answer if there is one. Raises StorageError for an invalid file.
        """
        waiting = (case for case in found.cases() if (str(case.path), case.root) not in done)
        failures = 0

        async def work() -> None:
            nonlocal failures
            for case in waiting:
                result, answer = await self._check(case)
                failures = failures + 1 if result.verdict is CaseVerdict.FAILED else 0
                on_result(result, case, answer)
                if failures >= _MOST_FAILURES:
                    return

        workers = [asyncio.create_task(work()) for _ in range(min(self.endpoint.concurrency, found.count))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return failures < _MOST_FAILURES

    async def _check(self, case: Case) -> tuple[CaseResult, Run | None]:
        """Check one case; endpoint errors are stored in the result."""
        result = CaseResult(case.number, str(case.path), case.root, case.recorded.name, CaseVerdict.SKIPPED)
        if why := self._nothing_to_compare(case.recorded):
            return replace(result, why=(why,)), None
        comparisons = []
        answer = None
        for _ in range(self.times):
            if self.is_forced:
                compared = await self._score(case.recorded)
            else:
                answer, compared = await self._resend(case)
            comparisons.append(compared)
            if compared.error:
                return replace(result, verdict=CaseVerdict.FAILED, why=(compared.error,)), None
        verdict, differing = judge(comparisons)
        agreement = sum((comparison.agreement for comparison in comparisons), Agreement())
        is_compared = bool(agreement.positions) or self._compares_texts(case.recorded)
        if verdict is CaseVerdict.SAME and not is_compared:
            why = "no position could be compared: the endpoint sent no logprobs"
            return replace(result, why=(why,)), None
        first = next((comparison for comparison in comparisons if comparison.why), AnswerComparison())
        result = replace(result, verdict=verdict, repeats=len(comparisons), differing=differing)
        return replace(result, agreement=agreement, why=first.why, difference=first.difference), answer

    def _compares_texts(self, recorded: Run) -> bool:
        return not self.is_forced and is_deterministic(recorded)

    def _nothing_to_compare(self, recorded: Run) -> str:
        """Return why a case cannot be compared; empty if it can."""
        if is_scored(recorded) or self._compares_texts(recorded):
            return ""
        return "recorded without logprobs" + ("" if self.is_forced else ", and sampled without a seed")

    async def _resend(self, case: Case) -> tuple[Run, AnswerComparison]:
        recorded = case.recorded
        request = recorded.request._replace(model=self.model or recorded.request.model)
        now = Run(
            request,
            self.endpoint.name,
            parent=Parent(case.root, kind=BLESSED),
            added=recorded.added,
            split=recorded.split,
        )
        await self.connections.send(self.endpoint, now, batch=self.batch)
        if now.error is not None or not now.is_answered:
            return now, AnswerComparison(error=_why_failed(now))
        return now, compare_runs(recorded, now, self.tolerances)

    async def _score(self, recorded: Run) -> AnswerComparison:
        try:
            model = self.model or recorded.request.model
            pairs = [
                await score_answer(
                    self.connections, self.endpoint, recorded, choice, model=model, batch=self.batch
                )
                for choice in recorded.ordered
            ]
        except (EndpointError, BadValueError) as error:
            return AnswerComparison(error=error.paragraph)
        return compare_passages(pairs, self.tolerances)


def _why_failed(run: Run) -> str:
    if (error := run.error) is not None:
        return sentences(error.title, error.message, error.hint)
    return f"the answer is {run.outcome}" if run.outcome else "no answer received"
