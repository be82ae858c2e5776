"""Every shape of an error says what happened, in whose words, and what to do next."""

from __future__ import annotations

import json

import pytest

from workbench.client.error_responses import ErrorResponse, error_of, error_within, no_completion
from workbench.client.exact_dialect import parse
from workbench.client.urls import normalise
from workbench.domain.errors import EndpointError
from workbench.local.refusal import Refusal
from workbench.local.request_validation import check_fits

OTHERS = (520, 524, 530, 418, 599)
URLS = normalise("https://api.example.com/v1")


def error(status: int, body: bytes | object, headers: dict[str, str] | None = None) -> EndpointError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = ErrorResponse(status, "Reason", headers or {}, raw)
    return error_of(answer, URLS, URLS.completions, lambda text: text.replace("sk_key", "•••"))


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": {"message": "no", "type": "t", "param": "p", "code": "c"}}, "no", "c"),
        ({"error": {"message": "no", "type": "BadRequestError", "code": 400}}, "no", "BadRequestError"),
        (
            {"object": "error", "message": "no", "type": "BadRequestError", "code": 400},
            "no",
            "BadRequestError",
        ),
        ({"code": 400, "reason": "INVALID_REQUEST_BODY", "message": "no"}, "no", "INVALID_REQUEST_BODY"),
        ({"error": "no"}, "no", ""),
        ({"error": "no", "error_type": "overloaded"}, "no", "overloaded"),
        ({"detail": "no"}, "no", ""),
        (
            {"detail": [{"loc": ["body", "n"], "msg": "too big"}, {"loc": ["body", "stop", 0], "msg": "x"}]},
            "n: too big; stop.0: x",
            "",
        ),
        ({"detail": {"msg": "busy", "type": "service_unavailable"}}, "busy", "service_unavailable"),
        (
            {"error": {"code": 429, "message": "no", "metadata": {"raw": '{"error":{"message":"why"}}'}}},
            "no: why",
            "",
        ),
        ({"error_msg": "no"}, "no", ""),
        ({"msg": "no"}, "no", ""),
        (b"Internal  Server\nError", "Internal Server Error", ""),
        (b"", "Reason", ""),
        (b"\xff\x00", "\ufffd\\0", ""),
        ([1], "[1]", ""),
    ],
)
def test_every_body_shape_gives_the_providers_words(body: object, message: str, code: str) -> None:
    found = error(400, body)
    assert (found.message, found.code) == (message, code)
    assert found.title
    assert found.hint
    assert found.status == 400


@pytest.mark.parametrize(
    "status",
    [
        400,
        401,
        402,
        403,
        404,
        405,
        408,
        409,
        411,
        413,
        415,
        422,
        424,
        429,
        498,
        499,
        500,
        501,
        502,
        503,
        504,
        *OTHERS,
    ],
)
def test_every_status_has_a_sentence_and_a_hint(status: int) -> None:
    found = error(status, b"")
    assert f"HTTP {status}" in found.title
    assert found.hint


def test_a_balance_refusal_names_the_rate_limit_too() -> None:
    found = error(403, {"code": 403, "reason": "NOT_ENOUGH_BALANCE", "message": "not enough balance"})
    assert "Balance" in found.title
    assert "rate limit" in found.title
    assert found.message == "not enough balance"
    unnamed = error(403, {"error": {"message": "Your balance is insufficient"}})
    assert unnamed.title == found.title


@pytest.mark.parametrize(
    "body",
    [
        {
            "error": {
                "code": 400,
                "message": "request (9001 tokens) exceeds the available context size (2048 tokens)",
            }
        },
        {"error": {"message": "too long", "n_prompt_tokens": 9001, "n_ctx": 2048}},
        {
            "error": {
                "message": "This model's maximum context length is 2048 tokens. However, you requested "
                "9001 tokens (8000 in the messages, 1001 in the completion)."
            }
        },
        {"error": {"message": "Requested tokens (9001) exceed context window of 2048"}},
    ],
)
def test_a_context_overflow_states_both_numbers(body: object) -> None:
    assert "9,001 tokens of 2,048" in error(400, body).title


@pytest.mark.parametrize(
    ("prompt", "most", "hint"),
    [
        (19_696, 16, "Shorten the prompt."),
        (4_000, 200, "Shorten the prompt, or set max_tokens to 96 at most."),
    ],
)
def test_the_local_server_s_overflow_names_prompt_and_max_tokens(prompt: int, most: int, hint: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_fits(prompt, most, 4096)
    found = error(400, caught.value.body())
    message = f"The prompt of {prompt:,} tokens and max_tokens {most} exceed the context of 4,096 (HTTP 400)"
    assert (found.title, found.hint) == (message, hint)


def test_a_prompt_too_long_to_be_counted_is_named_as_such() -> None:
    found = error(400, {"error": {"message": "prompt is longer than the context of 4096 tokens"}})
    assert found.title == "The prompt is longer than the context of 4,096 tokens (HTTP 400)"
    assert found.hint == "Shorten the prompt."


def test_a_page_of_a_proxy_is_one_plain_line_without_the_visitors_address() -> None:
    page = (
        b"<!DOCTYPE html><html><head><style>p{color:red}</style><title>api | 502: Bad gateway</title></head>"
        b"<body onload='x'><script>evil()</script><p>Error&nbsp;502</p>\nYour IP: 203.0.113.7 "
        b"and 2001:db8::1:2:3</body></html>"
    )
    found = error(502, page)
    assert found.message == "api | 502: Bad gateway Error 502 and"


def test_a_404_says_which_address_was_tried_and_the_other_form() -> None:
    found = error(404, b"404 page not found")
    assert "https://api.example.com/v1/completions" in found.hint
    assert found.hint.endswith("https://api.example.com.")


def test_the_key_and_control_characters_are_taken_out() -> None:
    found = error(401, {"error": {"message": "bad \u001b[31m sk_key\u0007", "code": "sk_key"}})
    assert "sk_key" not in repr(found)
    assert "\x1b" not in found.message


def test_request_ids_come_from_headers_or_the_body() -> None:
    assert error(500, b"", {"x-request-id": "r1"}).request_id == "r1"
    assert error(500, b"", {"x-trace-id": "t1"}).request_id == "t1"
    assert error(500, {"message": "x", "code": 1, "trace_id": "t2"}).request_id == "t2"


def test_a_wait_that_is_asked_for_is_said() -> None:
    found = error(429, b"", {"retry-after": "7"})
    assert found.retry_after == 7
    assert "Wait 7 s" in found.hint


def test_a_redirect_shows_its_target() -> None:
    found = error(307, b"", {"location": "https://other.example/"})
    assert "https://other.example/" in found.message


def test_an_error_within_a_stream_has_its_status_where_it_names_one() -> None:
    assert error_within({"message": "died", "code": 500}, str).status == 500
    found = error_within("CUDA out of memory [address=0.0.0.0:1]", str)
    assert found.status is None
    assert found.message == "CUDA out of memory [address=0.0.0.0:1]"


def test_an_answer_that_is_no_completion_says_what_it_is() -> None:
    assert no_completion(b"<html><title>Log in</title></html>", str).message == "Log in"


def test_json_that_is_nested_endlessly_is_no_json() -> None:
    with pytest.raises(ValueError, match="deep"):
        parse(b"[" * 100_000)
