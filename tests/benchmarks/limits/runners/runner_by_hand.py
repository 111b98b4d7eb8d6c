"""The least that a host on OpenAI's SDK can do: its low-level ``post`` over its aiohttp transport, the history kept serialised.

No events, no hooks, no error handling, no cancellation, no books, no validation, nothing written.
"""

import json

from bench_peer import BASE_URL, PROMPT, SDK_KW, SYSTEM, TOOL, BasePeer


class Peer(BasePeer):
    DIST = "openai"
    NOTE = "no host: SDK's post over aiohttp"

    async def setup(self):
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient

        http = DefaultAioHttpClient(**SDK_KW)
        self.sdk = AsyncOpenAI(base_url=BASE_URL, api_key="x", max_retries=0, http_client=http, **SDK_KW)
        self.response = httpx2.Response
        self.tools = json.dumps([TOOL])

    async def close(self):
        await self.sdk.close()

    @staticmethod
    def begun():
        """A history: JSON of its messages."""
        return [json.dumps({"role": "system", "content": SYSTEM}), json.dumps({"role": "user", "content": PROMPT})]

    async def ask(self, model, history, *, tools=False):
        more = f',"tools":{self.tools}' if tools else ""
        body = f'{{"model":{json.dumps(model)},"messages":[{",".join(history)}]{more}}}'
        options = {"headers": {"content-type": "application/json"}}
        answer = await self.sdk.post("/chat/completions", cast_to=self.response, content=body.encode(), options=options)
        return json.loads(answer.content)["choices"][0]["message"]

    async def turn(self, model):
        return (await self.ask(model, self.begun()))["content"]

    async def session(self, model):
        history = self.begun()
        while True:
            answer = await self.ask(model, history, tools=True)
            history.append(json.dumps(answer))
            if not answer.get("tool_calls"):
                return history
            for call in answer["tool_calls"]:
                history.append(json.dumps(self.result(call)))

    def result(self, call):
        total = self.add(**json.loads(call["function"]["arguments"]))
        return {"role": "tool", "tool_call_id": call["id"], "content": str(total)}

    async def loop(self, model, steps):
        await self.session(model)
