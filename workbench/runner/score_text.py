"""Score a text: get its tokens' logprobs from an echoed prompt or by one-token requests."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from math import isnan

from workbench.domain.choice import Alternative, Choice, ReceivedToken, token_bytes
from workbench.domain.display import plural, sentences
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, EndpointError
from workbench.domain.figures import unlisted_tokens
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import Prompt, TextPrompt, TokenListsPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.retokenisation import REPLACED
from workbench.domain.run import Outcome, Run
from workbench.domain.scoring import Passage, align_scorings
from workbench.domain.split import Split
from workbench.runner.branching import branch_from, end_of
from workbench.runner.connections import Connections
from workbench.runner.echo import ECHO, NEEDS_ECHO, NO_PROMPT_LOGPROBS

MOST_TOKENS = 2000
"""Maximum tokens of a text scored by one-token requests, whose total size grows quadratically."""

NO_TOKENIZER = "The endpoint did not tokenise the text"
_NOT_THERE = (404, 405, 501)
_NEEDS = "One-token requests need an endpoint that answers /tokenize, and token ids as a prompt."


@dataclass(frozen=True, slots=True)
class OneTokenScoring:
    """A tokenised text, and the one-token requests for the logprobs of its tokens."""

    prompt: TextPrompt
    before: tuple[int, ...]
    """Ids of special tokens before the text, such as the beginning-of-text token."""
    ids: tuple[int, ...]
    """Ids of the text's tokens."""
    raws: tuple[bytes, ...]
    """Bytes of each token as reported; the first token may begin with bytes that are not in the text."""

    @property
    def _first(self) -> int:
        """Index of the first token that can be scored, as another token precedes it."""
        return 0 if self.before else 1

    def run(self, endpoint: Endpoint, model: str, top: int) -> Run:
        """Return the requests as one run with a choice per token.

        At temperature 1, logprobs are those of the model even if the endpoint reports them post-sampling.
        """
        prefixes = tuple((*self.before, *self.ids[:end]) for end in range(self._first, len(self.ids)))
        parameters = Parameters({"temperature": 1.0, "max_tokens": 1, "logprobs": top})
        return Run(Request(TokenListsPrompt(prefixes), model, parameters), endpoint.name, split=Split(True))

    def scored(self, sent: Run) -> Run:
        """Return the text and its logprobs as a run with an echoed prompt.

        Raises EndpointError if a request failed, or if no answer has alternatives.
        """
        if sent.error is not None:
            raise sent.error.as_error()
        top = sent.request.parameters.number("logprobs", 0)
        choice = Choice(0, int(top))
        decoder, skipped = codecs.getincrementaldecoder("utf-8")("replace"), self._lead
        for index, (id, raw) in enumerate(zip(self.ids, self.raws, strict=True)):
            own, skipped = raw[skipped:], max(skipped - len(raw), 0)
            text = decoder.decode(own, final=index == len(self.ids) - 1)
            answer = sent.choices.get(index - self._first)
            listed = answer.alternatives_of(0) if answer is not None and len(answer) else ()
            odd_bytes = None if text.encode() == own else own
            choice.append(ReceivedToken(text, _logprob(raw, id, listed), listed, id, odd_bytes), 0.0)
        if not any(choice.alternatives_of(index) for index in range(len(choice))):
            raise EndpointError(
                "The endpoint listed no alternatives", hint="One-token requests need logprobs of at least 1."
            )
        choice.echoed, choice.finish_reason = len(choice), "length"
        request = Request(self.prompt, sent.request.model, sent.request.parameters)
        run = Run(request, sent.endpoint, choices={0: choice}, model=sent.model, outcome=sent.outcome)
        run.note(self._note(choice, int(top)))
        return run

    @property
    def _lead(self) -> int:
        """Number of bytes at the start of the tokens that are not part of the text."""
        return sum(map(len, self.raws)) - len(token_bytes(self.prompt.text, None))

    def _note(self, choice: Choice, top: int) -> str:
        text = range(self._first, len(choice))
        answered = sum(choice.alternatives_of(index) != () for index in text)
        count = plural(len(text), "one-token request")
        scored = f"Scored by {count}" if answered == len(text) else f"Scored by {answered} of {count}"
        if not (unlisted := unlisted_tokens(choice, text)):
            return f"{scored}."
        return (
            f"{scored}: {unlisted} of {plural(answered, 'token')} not among the {top} listed. "
            "Their logprobs are unknown; the figures take the most that they can be."
        )


async def plan_one_token_scoring(
    connections: Connections, endpoint: Endpoint, prompt: Prompt
) -> OneTokenScoring:
    """Tokenise a text at an endpoint, and plan the one-token requests.

    Raises BadValueError for token ids, several texts and texts that are too long; EndpointError, also if the
    endpoint has no tokenizer, or EngineError.
    """
    if not isinstance(prompt, TextPrompt):
        raise BadValueError("Only one text can be scored by one-token requests", field="prompt")
    text = token_bytes(prompt.text, None)
    try:
        # The person requested this scoring, so try /tokenize even if the profile does not list a tokenizer.
        tried = endpoint._replace(tokenizer=True)
        tokens = await connections.tokenize(tried, prompt.text, as_prompt=True)
    except EndpointError as error:
        if error.status not in _NOT_THERE:
            raise
        raise EndpointError(NO_TOKENIZER, sentences(error.title, error.message), _NEEDS) from None
    if len(tokens) > MOST_TOKENS:
        raise BadValueError(
            f"The text has {len(tokens)} tokens; one-token requests score at most {MOST_TOKENS}",
            hint="Score a part of it, or use an endpoint that answers echo: true together with logprobs.",
            field="prompt",
        )
    own, size = list(tokens), sum(len(raw) for _, raw in tokens)
    while own and size - len(own[0][1]) >= len(text):
        size -= len(own.pop(0)[1])
    if not b"".join(raw for _, raw in own).endswith(text):
        raise EndpointError("The tokenizer's tokens do not join to the text, so it cannot be scored by them")
    before = tuple(id for id, _ in tokens[: len(tokens) - len(own)])
    if len(own) < (1 if before else 2):
        raise EndpointError("A text of one token has no logprob", "No token precedes it.")
    return OneTokenScoring(prompt, before, tuple(id for id, _ in own), tuple(raw for _, raw in own))


def _logprob(raw: bytes, id: int, listed: tuple[Alternative, ...]) -> float | None:
    """Return a token's logprob (in nats) from the alternatives; None if it is not listed or ambiguous."""
    found = [other for other in listed if (_is_named(other, raw) if other.id is None else other.id == id)]
    return found[0].logprob if len(found) == 1 else None


def _is_named(alternative: Alternative, raw: bytes) -> bool:
    """Whether an alternative has these bytes; without raw bytes, U+FFFD in its text never matches."""
    named = token_bytes(alternative.text, alternative.raw)
    return named == raw and (alternative.raw is not None or REPLACED not in named)


def scoring_request(prompt: Prompt, model: str = "", top: int = 5) -> Request:
    """Return a request that echoes the prompt with its logprobs and the `top` likeliest tokens per position.

    It generates one token, as many endpoints do not accept 0.
    """
    parameters = {"temperature": 0.0, "max_tokens": 1, "logprobs": top, "stream": False}
    return Request(prompt, model, Parameters(parameters, ECHO))


def scored(run: Run, origin: int = 0) -> Passage:
    """Return the prompt's tokens of a finished scoring run; offsets count from character `origin`.

    Raises EndpointError if the run failed, or if the prompt has no logprobs.
    """
    if run.error is not None:
        raise run.error.as_error()
    for choice in run.ordered:
        if choice.echoed and not all(isnan(logprob) for logprob in choice.logprobs[1 : choice.echoed]):
            return Passage.prompt_of(choice, origin)
        if choice.echoed == 1:
            raise EndpointError("A text of one token has no logprob", "No token precedes it.")
    raise EndpointError(NO_PROMPT_LOGPROBS, hint=NEEDS_ECHO)


async def score_answer(
    connections: Connections,
    endpoint: Endpoint,
    run: Run,
    choice: Choice,
    *,
    model: str = "",
    batch: str = "",
) -> tuple[Passage, Passage]:
    """Return a recorded answer, and the answer as scored by an endpoint.

    The answer is sent in the form of its prompt, as text or token ids. Raises EndpointError, or BadValueError
    if the prompt is token ids and an id of the answer is unknown.
    """
    origin = end_of(run, choice)
    prompt = branch_from(origin).prompt
    now = Run(scoring_request(prompt, model, max(choice.listed_top, 1)), endpoint.name)
    await connections.send(endpoint, now, batch=batch)
    scoring = scored(now, len(origin.prompt.text) if isinstance(origin.prompt, TextPrompt) else 0)
    if isinstance(prompt, TokensPrompt):
        # The text of a token prompt is unknown, so find the answer's start by counting tokens.
        first = len(prompt.ids) - (len(choice) - choice.echoed)
        scoring = scoring._replace(origin=scoring.choice.start_of(first))
    return Passage.answer_of(choice), scoring


def aligned_runs(run: Run, first: Passage, second: Passage) -> tuple[Run, Run]:
    """Return an answer scored by two models as two runs, whose tokens are the spans that both have in common.

    Each span has the total surprisal of its tokens, and alternatives if it is a single token.
    """
    spans = list(align_scorings(first, second))
    found = []
    for passage, side in ((first, 0), (second, 1)):
        aligned = Choice(first.choice.index, passage.choice.top_logprobs)
        for span in spans:
            tokens = (span.first, span.second)[side]
            surprisal = span.surprisals[side]
            alternatives = passage.choice.alternatives_of(tokens.start) if len(tokens) == 1 else ()
            text = first.text[span.start : span.end]
            aligned.append(ReceivedToken(text, None if surprisal is None else -surprisal, alternatives), 0.0)
        aligned.finish_reason = first.choice.finish_reason
        found.append(
            Run(run.request, run.endpoint, choices={aligned.index: aligned}, outcome=Outcome.COMPLETE)
        )
    return found[0], found[1]
