"""HTTP client for endpoints; the only package that uses HTTP.

How a token gets from the socket to the session file:

1. `chunk_merging.JoiningStream.read` reads bytes; `ChunkJoiner` merges small HTTP chunks into one.
2. `transport.Transport.exchange` returns the response as a `Reply` to `request_attempts.Call.attempt`.
3. `client.Client.stream` feeds each chunk to `response_body.ResponseBody.feed` (no I/O in 3 to 6).
4. `sse.SseParser.feed` yields complete events: the payloads of their `data:` lines.
5. `dialect.read_fast` parses a payload's JSON, or `exact_dialect.read_exact` if its shape is unusual.
6. `alignment.align` aligns the text with the listed tokens; the result is sent as `events.Delta`.
7. `runner.execution.Recorder.take` appends each token to its `domain.choice.Choice`, with its time.
8. Widgets read new tokens from the columns of the choice; no message carries tokens.
9. `workspace.keeper.Keeper.tick` copies new tokens (`storage.journal.Increments`); its writer thread appends
   them to a sidecar file.
10. When the run ends, `storage.session_store.SessionStore.finish` appends it to the session file.
"""
