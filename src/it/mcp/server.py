"""A server of the Model Context Protocol for the comparison.

Arguments: port, file of the events of all servers, key of the state in requests for input. All
servers need the same key, since any of them may get the next request of a revision without sessions.
"""

import json
import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.server.request_state import RequestStateSecurity
from pydantic import BaseModel

port, events, key_of_state = int(sys.argv[1]), sys.argv[2], sys.argv[3]
server = MCPServer("tools", instructions="Tools «été à Ærø» 🌊 for a comparison.",
                   request_state_security=RequestStateSecurity(keys=[key_of_state]))


class Answer(BaseModel):
    yes: bool


class Sum(BaseModel):
    total: int
    terms: list[int]


def note(event, key):
    """Appends an event to the file that all servers share."""
    with open(events, "a") as file:
        file.write(json.dumps({"server": port, "event": event, "key": key}) + "\n")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def add_all(terms: list[int]) -> Sum:
    """Adds numbers; the result has a schema."""
    return Sum(total=sum(terms), terms=terms)


@server.tool()
def echo(text: str, times: int = 1) -> str:
    """Repeats a text."""
    return text * times


@server.tool()
def measure(text: str) -> int:
    """Returns the length of a text."""
    return len(text)


@server.tool()
def locate() -> int:
    """Returns the port of the server."""
    return port


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("failed «été»")


@server.tool()
async def search(key: str, steps: int, context: Context) -> str:
    """Takes a tenth of a second per step, and reports each."""
    note("start", key)
    try:
        for step in range(steps):
            await anyio.sleep(0.1)
            await context.report_progress(step + 1, steps, f"step {step + 1}")
    except anyio.get_cancelled_exc_class():
        note("cancelled", key)
        raise
    finally:
        note("end", key)
    return f"found {key}"


@server.tool()
async def quiet(key: str, seconds: float) -> str:
    """Takes its time, without a message."""
    await anyio.sleep(seconds)
    return f"found {key}"


@server.tool()
async def cancelled(key: str) -> bool:
    """Waits until a server has cancelled a search, at most three seconds."""
    for _ in range(30):
        with open(events) as file:
            if any(json.loads(line)["event"] == "cancelled" and json.loads(line)["key"] == key for line in file):
                return True
        await anyio.sleep(0.1)
    return False


@server.tool()
async def log(context: Context) -> str:
    """Sends two messages of its log."""
    await context.info("one «été»")
    await context.warning({"two": 2})
    return "logged"


@server.tool()
async def change(context: Context) -> str:
    """Notifies its client on the stream opened by GET, or the subscriptions at this server."""
    if context.protocol_version >= "2026":
        await anyio.sleep(0.2)  # so that parallel calls reach all servers
        await context.notify_tools_changed()
    else:
        await context.session.send_tool_list_changed()
    return "changed"


def confirmation(item: str):
    return Elicit(f"delete {item}?", Answer)


@server.tool()
async def delete(item: str, answer: Annotated[Answer, Resolve(confirmation)]) -> str:
    """Requests a confirmation from the user."""
    return f"{item} {'deleted' if answer.yes else 'remains'}"


@server.resource("note://été")
def greeting() -> str:
    """A text."""
    return "Grüße 🌊"


@server.resource("note://{name}/text")
def text(name: str) -> str:
    """A text by its name."""
    return f"text of {name}"


@server.prompt("grüße")
def prompt(name: str) -> str:
    """A prompt with a name beyond ASCII."""
    return f"Grüße {name}"


server.run("streamable-http", host="127.0.0.1", port=port)
