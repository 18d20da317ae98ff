"""Calls of LiteLLM as a client of a server with OpenAI's API."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no look-up of prices in the network
import litellm

from calls import BASE, KEY, MAX_TOKENS, MESSAGES, MODEL, NEVER, ONCE, SEED, UNKNOWN, call

litellm.suppress_debug_info = True


def of(model, base):
    return {"model": "openai/" + model, "api_base": base + "/v1", "api_key": KEY}


def chat(base=BASE, model=MODEL, **more):
    return litellm.completion(
        messages=MESSAGES, max_tokens=MAX_TOKENS, temperature=0, seed=SEED, **of(model, base), **more)


call("chat", chat)
call("stream", lambda: list(chat(stream=True)))
call("stream with usage", lambda: list(chat(stream=True, stream_options={"include_usage": True})))
call("embeddings", lambda: litellm.embedding(input=["sea"], **of(MODEL, BASE)))
call("unknown model", lambda: chat(model=UNKNOWN))
call("once 503", lambda: chat(ONCE))
call("once 503 num_retries", lambda: chat(ONCE + "/again", num_retries=2))
call("never 503", lambda: chat(NEVER, num_retries=2))
