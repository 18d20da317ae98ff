"""Calls of Anthropic's client for Python."""

import anthropic

from calls import BASE, KEY, MAX_TOKENS, MESSAGES, MODEL, NEVER, ONCE, UNKNOWN, UTF_8, call


def client(base=BASE):
    return anthropic.Anthropic(base_url=base, api_key=KEY)


def message(base=BASE, model=MODEL, messages=MESSAGES, body=None, **more):
    return client(base).messages.create(
        model=model, messages=messages, max_tokens=MAX_TOKENS,
        extra_body={"temperature": 0, **(body or {})}, **more)


def streamed():
    """Returns the events of the client's own helper for streams, and the message that it builds."""
    with client().messages.stream(
        model=MODEL, messages=MESSAGES, max_tokens=MAX_TOKENS, extra_body={"temperature": 0}
    ) as stream:
        return [*stream, stream.get_final_message()]


call("models", lambda: list(client().models.list()))
call("model", lambda: client().models.retrieve(MODEL))
call("messages", message)
call("messages with system", lambda: message(system="Answer in one word."))
call("messages stream", lambda: list(message(stream=True)))
call("UTF-8 stream", lambda: list(message(messages=UTF_8, stream=True)))
call("messages stream helper", streamed)
call("count tokens", lambda: client().messages.count_tokens(model=MODEL, messages=MESSAGES))
call("unknown model", lambda: message(model=UNKNOWN))
call("unknown model stream", lambda: list(message(model=UNKNOWN, stream=True)))
call("wrong value", lambda: message(body={"messages": [7]}))
call("once 503", lambda: message(ONCE))
call("never 503", lambda: message(NEVER))
