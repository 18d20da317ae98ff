"""Calls of the Python SDK: one JSON line per call, with its result or its error."""

import asyncio
import json
import os

import httpx2
from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client

URL, MODE, TASK, RUN = (os.environ[name] for name in ("URL", "MODE", "TASK", "RUN"))


class Connection:
    """A client, with the HTTP statuses and messages that it received."""

    def __init__(self, action="accept"):
        self.statuses, self.messages, self.logs = [], [], []
        self.action, self.ended = action, None  # status of the DELETE

    async def __aenter__(self):
        http = httpx2.AsyncClient(timeout=httpx2.Timeout(30, read=300), event_hooks={"response": [self.received]})
        self.client = Client(
            streamable_http_client(URL, http_client=http), mode=MODE, log_level="debug", cache=None,
            elicitation_callback=self.elicited, logging_callback=self.logged, message_handler=self.message)
        return await self.client.__aenter__() and self

    async def __aexit__(self, *failure):
        return await self.client.__aexit__(*failure)

    async def received(self, response):
        if response.request.method == "POST" and response.status_code != 202:  # of requests only
            self.statuses.append(response.status_code)
        if response.request.method == "DELETE":
            self.ended = response.status_code

    async def elicited(self, _, params):
        content = {"yes": True} if self.action == "accept" else None
        return types.ElicitResult(action=self.action, content=content)

    async def logged(self, params):
        self.logs.append(plain(params))

    async def message(self, message):
        self.messages.append(getattr(message, "method", type(message).__name__))

    def tool(self, name, **arguments):
        return self.client.call_tool(name, arguments)


def plain(value):
    """Returns a value of the SDK's model classes as JSON values."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def failed(failure):
    error = getattr(failure, "error", None)
    code = getattr(error, "code", None)
    return {"type": type(failure).__name__, "status": code, "body": plain(error), "text": str(failure)[:400]}


def report(name, **fields):
    print(json.dumps({"call": name, **fields}), flush=True)


async def call(name, connection, action):
    del connection.statuses[:]
    try:
        result = {"result": plain(await action())}
    except Exception as failure:
        result = {"error": failed(failure)}
    report(name, http=sorted(connection.statuses), **result)


async def calls():
    async with Connection() as one:
        client = one.client
        report("connect", result={
            "version": client.protocol_version, "server": plain(client.server_info),
            "capabilities": plain(client.server_capabilities), "instructions": client.instructions})
        if client.protocol_version < "2026":
            await call("ping", one, client.send_ping)
        await call("list tools", one, client.list_tools)
        await call("list resources", one, client.list_resources)
        await call("list templates", one, client.list_resource_templates)
        await call("list prompts", one, client.list_prompts)
        await call("read resource", one, lambda: client.read_resource("note://été"))
        await call("read template", one, lambda: client.read_resource("note://a/text"))
        await call("unknown resource", one, lambda: client.read_resource("other://none"))
        await call("prompt", one, lambda: client.get_prompt("grüße", {"name": "Ærø 🌊"}))
        await call("unknown prompt", one, lambda: client.get_prompt("none", {}))
        await call("add", one, lambda: one.tool("add", a=1, b=2))
        await call("schema", one, lambda: one.tool("add_all", terms=[1, 2, 3]))
        await call("UTF-8", one, lambda: one.tool("echo", text="«été à Ærø» 🌊\u2028\r\n\"\\"))
        await call("300 kB", one, lambda: one.tool("echo", text="été🌊", times=30000))
        await call("3 MB argument", one, lambda: one.tool("measure", text="x" * 3_000_000))
        await call("5 MB argument", one, lambda: one.tool("measure", text="x" * 5_000_000))
        await call("wrong argument", one, lambda: one.tool("add", a="one", b=2))
        await call("unknown tool", one, lambda: one.tool("none"))
        await call("failing tool", one, lambda: one.tool("fail"))
        await call("quiet tool", one, lambda: one.tool("quiet", key="q", seconds=1.5))
        await call("progress", one, lambda: progress(one))
        await call("log", one, lambda: logged(one))
        await call("elicitation", one, lambda: one.tool("delete", item="all"))
        await call("parallel", one, lambda: asyncio.gather(*(one.tool("add", a=i, b=i) for i in range(8))))
        await call("time limit", one, lambda: client.call_tool(
            "search", {"key": RUN + "late", "steps": 30}, read_timeout_seconds=0.5))
        await call("cancelled", one, lambda: one.tool("cancelled", key=RUN + "late"))
        if client.protocol_version < "2026":
            await call("GET stream", one, lambda: streamed(one))
        else:
            await call("subscription", one, lambda: subscribed(one))
        await call("unknown method", one, lambda: client.session.send_request(
            types.Request(method="none/such", params=None), types.EmptyResult))
    for action in ("decline", "cancel"):
        async with Connection(action) as one:
            await call("elicitation " + action, one, lambda: one.tool("delete", item="all"))
    report("end of session", result={"http": one.ended})


async def progress(one):
    steps = []

    async def step(done, total, message):
        steps.append([done, total, message])

    result = await one.client.call_tool("search", {"key": "p", "steps": 4}, progress_callback=step)
    return {"result": plain(result), "steps": steps}


async def logged(one):
    result = await one.tool("log")
    return {"result": plain(result), "logs": one.logs}


async def streamed(one):
    del one.messages[:]
    result = await one.tool("change")
    for _ in range(30):
        if one.messages:
            break
        await asyncio.sleep(0.1)
    return {"result": plain(result), "messages": one.messages}


async def subscribed(one):
    """Changes the tools at all servers: the subscription has the events of its own server only.

    Six calls at the same time reach both servers, since Berth gives each of them four at most.
    """
    async with one.client.listen(tools_list_changed=True) as subscription:
        event = asyncio.ensure_future(anext(aiter(subscription)))
        await asyncio.gather(*(one.tool("change") for _ in range(6)))
        return {"honored": plain(subscription.honored), "event": type(await asyncio.wait_for(event, 3)).__name__}


def located(result):
    return int(result.content[0].text)


async def stay():
    """Locates the server of each of eight clients 20 times."""
    async def one_client(_):
        async with Connection() as one:
            return [located(await one.tool("locate")) for _ in range(20)]
    report("stay", result=list(await asyncio.gather(*map(one_client, range(8)))))


async def lose():
    """Reports the server, waits for a line of input (the server was killed), and calls again."""
    async with Connection() as one:
        report("at", result=located(await one.tool("locate")))
        await asyncio.to_thread(input)
        for _ in range(2):
            await call("lost", one, lambda: one.tool("locate"))
    async with Connection() as one:
        await call("again", one, lambda: one.tool("locate"))


async def busy():
    """Six clients call the limited tool at the same time."""
    async def one_client(number):
        async with Connection() as one:
            await call("busy", one, lambda: one.tool("search", key=RUN + str(number), steps=10))
    await asyncio.gather(*map(one_client, range(6)))


asyncio.run({"calls": calls, "stay": stay, "lose": lose, "busy": busy}[TASK]())
