"""Calls of the OpenAI client for Python, any version from 1.x on."""

import openai

from calls import BASE, KEY, MAX_TOKENS, MESSAGES, MODEL, NEVER, ONCE, SEED, UNKNOWN, UTF_8, call

same = {"temperature": 0, "seed": SEED}


def client(base=BASE):
    return openai.OpenAI(base_url=base + "/v1", api_key=KEY)


def chat(base=BASE, model=MODEL, messages=MESSAGES, **more):
    return client(base).chat.completions.create(
        model=model, messages=messages, max_tokens=MAX_TOKENS, **same, **more)


def text(**more):
    return client().completions.create(
        model=MODEL, prompt="The sea is", max_tokens=MAX_TOKENS, **same, **more)


def response(**more):
    return client().responses.create(
        model=MODEL, input="Name a colour.", max_output_tokens=MAX_TOKENS, temperature=0, **more)


call("models", lambda: list(client().models.list()))
call("model", lambda: client().models.retrieve(MODEL))
call("chat", chat)
call("stream", lambda: list(chat(stream=True)))
call("stream with usage", lambda: list(chat(stream=True, stream_options={"include_usage": True})))
call("UTF-8", lambda: chat(messages=UTF_8))
call("UTF-8 stream", lambda: list(chat(messages=UTF_8, stream=True)))
call("completions", text)
call("completions stream", lambda: list(text(stream=True)))
call("embeddings", lambda: client().embeddings.create(model=MODEL, input=["sea", "land"]))
call("responses", response)
call("responses stream", lambda: list(response(stream=True)))
call("responses store", lambda: response(store=True))
call("responses background", lambda: response(background=True))
call("unknown model", lambda: chat(model=UNKNOWN))
call("unknown model stream", lambda: list(chat(model=UNKNOWN, stream=True)))
call("wrong value", lambda: chat(extra_body={"messages": "none"}))
call("once 503", lambda: chat(ONCE))
call("never 503", lambda: chat(NEVER))
