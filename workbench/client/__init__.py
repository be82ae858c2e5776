"""Talking to endpoints: the only place that knows HTTP.

The way of a token from the socket to its file, hop by hop:

1. `network.JoiningStream.read` reads bytes; `ChunkJoiner` makes one HTTP chunk of many.
2. `transport.Transport.exchange` makes a `Reply` of the response for `request_attempts.Call.attempt`.
3. `client.Client.stream` feeds each piece of the body to `assembly.Assembly.feed` (pure from here to 6).
4. `sse.SseParser.feed` completes events: the payloads of their `data:` lines.
5. `dialect.read_fast` reads a payload's JSON, `exact_dialect.read_exact` where its shape is rare.
6. `alignment.align` joins the text and the tokens listed for it to pieces, which leave in `events.Delta`.
7. `runner.execution.Recorder.take` appends each piece to its `domain.choice.Choice`, with its time.
8. Widgets pull what is new from the choice's columns; no token travels in a message.
9. `workspace.keeper.Keeper.tick` copies what is new (`storage.journal.Increments`), its thread writes it to a
   sidecar.
10. Once the run has ended, `storage.session_store.SessionStore.finish` appends it to the session's file.
"""
