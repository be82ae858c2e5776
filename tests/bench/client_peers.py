"""Other clients taking the same stream in; run as a script in an environment of their own."""

# mypy: ignore-errors
import asyncio
import sys
import time


async def openai(port: int) -> float:
    """The `openai` client's own loop."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="x")
    kept = []
    began = time.perf_counter()
    answer = await client.completions.create(
        model="m", prompt="Hi", stream=True, logprobs=5, max_tokens=20_000
    )
    async for event in answer:
        for choice in event.choices:
            kept.append((choice.text, choice.logprobs.token_logprobs, choice.logprobs.top_logprobs))
    return time.perf_counter() - began


async def httpx(port: int) -> float:
    """The wall: httpx's raw bytes, not parsed at all."""
    from httpx import AsyncClient

    async with AsyncClient() as client:
        began = time.perf_counter()
        async with client.stream("POST", f"http://127.0.0.1:{port}/v1/completions", content=b"{}") as answer:
            size = 0
            async for chunk in answer.aiter_raw():
                size += len(chunk)
        return time.perf_counter() - began


if __name__ == "__main__":
    print(asyncio.run({"openai": openai, "httpx": httpx}[sys.argv[1]](int(sys.argv[2]))))
