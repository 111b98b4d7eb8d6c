"""The server as others see it: card, keys and scopes, limits, push notifications, and who hands tasks on in a ring."""

import asyncio
import hmac
import json
from hashlib import sha256

import httpx
import pytest
from a2a_callers import free_port, said

CARD = "/.well-known/agent-card.json"
BINDINGS = ("JSONRPC", "HTTP+JSON")


def plain(task):
    """Return a task as JSON, without what no two have in common."""
    from google.protobuf.json_format import MessageToDict

    told = json.dumps(MessageToDict(task))
    for name in (task.id, task.context_id, *(message.message_id for message in task.history)):
        told = told.replace(name, "-")
    read = json.loads(told)
    del read["status"]["timestamp"]
    return read


# --- the card -------------------------------------------------------------------------------------------------------


def test_s12_1_the_card_has_every_skill_that_is_served_and_changes_with_them(serving, write_skill, monkeypatch):
    from skillkit_a2a.serving import served as module

    monkeypatch.setattr(module, "_AGAIN", 0)
    write_skill("one", "It does one thing.")
    write_skill("inner", internal=True)

    async def main():
        async with serving({"extended": True, "public": ["one", "new"]}) as served, httpx.AsyncClient() as http:
            url = f"{served.url}{CARD}"
            first = await http.get(url)
            same = await http.get(url, headers={"If-None-Match": first.headers["ETag"]})
            write_skill("new")
            write_skill("hidden")
            return first, same, await http.get(url), await served.caller().rpc("GetExtendedAgentCard", {})

    first, same, later, extended = asyncio.run(main())
    (skill,) = first.json()["skills"]
    assert (skill["id"], skill["description"], skill["examples"]) == ("one", "It does one thing.", ["do one"])
    assert skill["tags"] == ["one"] and first.json()["capabilities"]["streaming"]
    assert {i["protocolVersion"] for i in first.json()["supportedInterfaces"]} == {"1.0"}  # none of 0.3
    assert first.headers["Cache-Control"] and first.headers["Last-Modified"]
    assert same.status_code == 304
    assert [one["id"] for one in later.json()["skills"]] == ["new", "one"]
    assert later.headers["ETag"] != first.headers["ETag"]
    assert [one["id"] for one in extended.json()["result"]["skills"]] == ["hidden", "new", "one"]


def test_agents_use_what_is_served_and_nothing_else(serving, write_skill):
    for name in ("one", "two", "three"):
        write_skill(name)

    async def main():
        from skillkit_a2a.serving.keys import Keys

        async with serving(skills=["one", "two"], open_=False) as served:
            keys = Keys(served.host.data_dir)
            every, some = served.caller(keys.add("every")), served.caller(keys.add("some", ["two"]))
            return await every.say("skills"), await some.say("skills")

    every, some = (task.artifacts[0].parts[0].text for task in asyncio.run(main()))
    assert ("one" in every, "three" in every, "activate_skill" in every) == (True, False, True)
    assert "Instructions of two." in some and "Instructions of one." not in some  # the only one: active from the start


@pytest.mark.parametrize("text", ["say 3", "leave", "journey", "fail"])
def test_s12_3_every_binding_gives_the_same(serving, write_skill, text):
    write_skill("one")

    async def main():
        async with serving() as served:
            tasks = [await served.caller(binding=binding).say(text) for binding in BINDINGS]
            again = await served.caller(binding=BINDINGS[0]).task(tasks[1].id)
            message = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message}
            http = served.caller().http
            slash = await http.post(f"{served.url}/a2a/jsonrpc/", json=body, headers={"A2A-Version": "1.0"})
            return tasks, again, slash

    (first, second), again, slash = asyncio.run(main())
    if text == "journey":  # each question has a name of its own
        for task in (first, second, again):
            task.status.message.parts[1].data.struct_value.fields["question"].string_value = ""
    for task in (first, second, again):
        for number, artifact in enumerate(task.artifacts):
            artifact.artifact_id = str(number)
        task.status.message.message_id = ""
    assert plain(first) == plain(second) == plain(again)
    assert slash.json()["result"]["task"]["status"]["state"]


# --- who may call ---------------------------------------------------------------------------------------------------


def test_s12_8_a_key_is_needed_and_tasks_belong_to_who_began_them(serving, write_skill):
    from a2a.client.errors import A2AClientError
    from a2a.types import ListTasksRequest
    from a2a.utils.errors import InvalidParamsError, TaskNotFoundError

    write_skill("one")
    write_skill("two")

    async def main():
        from skillkit_a2a.serving.keys import Keys

        async with serving(open_=False) as served:
            keys = Keys(served.host.data_dir)
            anna, bert = served.caller(keys.add("anna")), served.caller(key := keys.add("bert", ["two"]))
            nobody = await served.caller().rpc("GetTask", {"id": "x"})
            wrong = await served.caller("ska2a_wrong").rpc("GetTask", {"id": "x"})
            header = await served.caller().rpc("GetTask", {"id": "x"}, **{"X-API-Key": key})
            task = await anna.say("hello")
            with pytest.raises(TaskNotFoundError):
                await bert.task(task.id)
            with pytest.raises(TaskNotFoundError):
                await bert.cancel(task.id)
            with pytest.raises(TaskNotFoundError):
                await bert.say("more", task=task.id)
            listed = [await (await c.client()).list_tasks(ListTasksRequest()) for c in (anna, bert)]
            own = await bert.say("hello", context=task.context_id)  # a context of its own, whatever it is called
            forbidden = []
            for binding in BINDINGS:
                caller = served.caller(key, binding=binding)
                with pytest.raises(A2AClientError, match=r"403|not for the skill"):
                    await caller.say("hello", metadata={"skillkit.skill": "one"})
                forbidden.append(await caller.say("hello", metadata={"skillkit.skill": "two"}))
            with pytest.raises(InvalidParamsError, match="no skill"):
                await bert.say("hello", metadata={"skillkit.skill": "three"})
            keys.revoke("bert")
            return nobody, wrong, header, await bert.rpc("GetTask", {"id": "x"}), listed, task, own, forbidden

    nobody, wrong, header, revoked, listed, task, own, allowed = asyncio.run(main())
    for refused in (nobody, wrong, revoked):
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, 'Bearer realm="a2a"')
    assert header.json()["error"]["code"] == -32001
    assert [[one.id for one in found.tasks] for found in listed] == [[task.id], []]
    assert own.id.partition(".")[0] != task.id.partition(".")[0] and len(allowed) == 2


def test_another_host_a_web_page_another_kind_and_too_much_are_refused(serving, write_skill):
    write_skill("one")

    async def main():
        async with serving({"message": 2_000, "rate": 10}) as served:
            caller = served.caller()
            codes = [
                (await caller.rpc("GetTask", {"id": "x"}, Host="evil.example")).status_code,
                (await caller.rpc("GetTask", {"id": "x"}, Origin="https://evil.example")).status_code,
                (await caller.rpc("GetTask", {"id": "x" * 3_000})).status_code,
                (await caller.http.post(f"{served.url}/a2a/rest/message:send", content=b"x")).status_code,
            ]

            async def pieces():
                for _ in range(3):
                    yield b" " * 1_000

            kind = {"Content-Type": "application/json"}
            codes.append(
                (await caller.http.post(f"{served.url}/a2a/jsonrpc", content=pieces(), headers=kind)).status_code
            )
            text = await caller.http.post(
                f"{served.url}/a2a/jsonrpc", content=b"{}", headers={"Content-Type": "text/plain"}
            )
            while (limited := await caller.rpc("GetTask", {"id": "x"})).status_code == 200:
                pass
            return codes, text, limited

    codes, text, limited = asyncio.run(main())
    assert codes == [421, 403, 413, 415, 413] and text.json()["error"]["code"] == -32005
    assert limited.status_code == 429 and 1 <= int(limited.headers["Retry-After"]) <= 7


def test_s12_9_a_caller_has_so_many_tasks_at_once_and_each_has_a_budget(serving, write_skill):
    from a2a.utils.errors import UnsupportedOperationError

    write_skill("one")

    async def main():
        async with serving({"tasks": 1, "budget.turns": 1}) as served:
            caller = served.caller()
            spent = await caller.say("journey")
            over = await caller.say("Rome", task=spent.id)
            stream = (await caller.client()).send_message(said("hang"))
            works = (await anext(stream)).task
            with pytest.raises(UnsupportedOperationError, match="1 tasks of this key work already"):
                await caller.say("hello")
            with pytest.raises(UnsupportedOperationError, match="the task works"):
                await caller.say("hello", task=works.id)
            await caller.cancel(works.id)
            await stream.aclose()
            return over, await caller.say("hello")

    over, after = asyncio.run(main())
    assert "limit of 1 turns" in over.status.message.parts[0].text
    assert after.artifacts[0].parts[0].text == "You said: hello"


def test_a_task_that_comes_back_or_was_handed_on_too_often_is_refused(serving, write_skill):
    write_skill("one")

    async def main():
        from skillkit_a2a.chain import CHAIN, HOPS, own_id

        async with serving() as served:
            message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
            ways = [{HOPS: 1, CHAIN: [own_id(served.host)]}, {HOPS: 6, CHAIN: ["a"]}, {HOPS: 5, CHAIN: ["a"]}]
            asked = [{"message": {**message, "metadata": way}} for way in ways]
            return [(await served.caller().rpc("SendMessage", one)).json() for one in asked]

    ring, deep, fine = asyncio.run(main())
    codes = [answer["error"]["data"][0]["metadata"]["skillkit.error"] for answer in (ring, deep)]
    assert codes == ["ring", "depth"] and "task" in fine["result"]


# --- push -----------------------------------------------------------------------------------------------------------


class Webhook:
    """Takes what it is sent; its first answers are failures."""

    def __init__(self, failures=0):
        self.got, self.failures = [], failures

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/told"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def _serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = await reader.readexactly(int(headers["Content-Length"]))
        self.failures -= 1
        status = b"503 no" if self.failures >= 0 else b"204 yes"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        if self.failures < 0:
            self.got.append((headers, body))


def test_s12_12_who_wants_to_be_told_is_told_signed_in_order_and_again_after_a_failure(
    serving, write_skill, monkeypatch
):
    from skillkit_a2a.serving import push as module

    write_skill("one")
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    made = module.Pusher.__init__
    monkeypatch.setattr(module.Pusher, "__init__", lambda self, configs, allow: made(self, configs, allow, sleep))

    async def main():
        async with Webhook(failures=2) as hook, serving({"push.allow": ["127.0.0.1"]}) as served:
            caller = served.caller()
            request = said("say 2")
            request.configuration.task_push_notification_config.url = hook.url
            request.configuration.task_push_notification_config.token = "shared"
            request.configuration.task_push_notification_config.authentication.scheme = "Bearer"
            request.configuration.task_push_notification_config.authentication.credentials = "theirs"
            client = await caller.client(streaming=False)
            (task,) = [event.task async for event in client.send_message(request)]
            while len(hook.got) < 5:
                await asyncio.sleep(0.01)
            hook.failures = 4  # too often: it is told no more
            waits = await caller.say("journey")
            config = {"taskId": waits.id, "id": "mine", "url": hook.url}
            await caller.rpc("CreateTaskPushNotificationConfig", config)
            await caller.say("Rome", task=waits.id)
            while (left := await caller.rpc("ListTaskPushNotificationConfigs", {"taskId": waits.id})).json()["result"]:
                await asyncio.sleep(0.01)
            return hook.got, task, left.json()

    got, task, left = asyncio.run(main())
    kinds = [next(iter(json.loads(body))) for _, body in got]
    assert kinds == ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]
    headers, body = got[0]
    when, _, signed = headers["X-A2A-Signature"].partition(",sha256=")
    expected = hmac.new(b"shared", when.removeprefix("t=").encode() + b"." + body, sha256).hexdigest()
    assert (signed, headers["Authorization"], headers["X-A2A-Notification-Token"]) == (
        expected,
        "Bearer theirs",
        "shared",
    )
    assert slept == [1, 5, 1, 5, 30] and left["result"] == {} and task.id in body.decode()


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/x", "https://10.0.0.1/x", "https://[::1]/x", "https://169.254.169.254/latest", "https://localhost/x",
        "http://example.com/x", "https://2130706433/x", "https://0x7f.1/x", "https://[::ffff:10.0.0.1]/x", "ftp://example.com/x",
        "https://user@example.com/x", "not a url",
    ],
)  # fmt: skip
def test_a_private_address_is_not_told_unless_it_is_allowed(make_host, url):
    from skillkit_a2a.serving.push import PushConfigs

    async def main():
        return await PushConfigs(None, ()).may_be_told(url), await PushConfigs(None, ()).may_be_told(
            "https://example.com/x"
        )

    assert asyncio.run(main()) == (False, True)


def test_addresses_of_a_task_are_kept_with_it_and_those_of_others_are_not_there(serving, write_skill):
    write_skill("one")

    async def main():
        from skillkit_a2a.serving.keys import Keys

        async with serving(open_=False) as served:
            keys = Keys(served.host.data_dir)
            anna, bert = served.caller(keys.add("anna")), served.caller(keys.add("bert"))
            task = await anna.say("hello")
            config = {"taskId": task.id, "id": "c", "url": "https://example.com/x"}
            asked = {"taskId": task.id, "id": "c"}
            made = await anna.rpc("CreateTaskPushNotificationConfig", config)
            private = await anna.rpc("CreateTaskPushNotificationConfig", {**config, "url": "https://127.0.0.1/x"})
            foreign = await bert.rpc("GetTaskPushNotificationConfig", asked)
            got = await anna.rpc("GetTaskPushNotificationConfig", asked)
            gone = [await anna.rpc("DeleteTaskPushNotificationConfig", asked) for _ in range(2)]
            return [one.json() for one in (made, private, foreign, got, *gone)]

    made, private, foreign, got, *gone = asyncio.run(main())
    assert made["result"] == got["result"] and got["result"]["url"] == "https://example.com/x"
    assert private["error"]["code"] == -32602 and foreign["error"]["code"] == -32001
    assert all("error" not in one for one in gone)


# --- the command ----------------------------------------------------------------------------------------------------


def test_keys_are_made_listed_and_revoked_and_their_file_holds_hashes(skillkit_cli, skillkit_home, write_skill):
    none = skillkit_cli("a2a", "keys", "list")
    unserved = skillkit_cli("a2a", "serve", "--port", "0")
    made = skillkit_cli("a2a", "keys", "add", "anna", "--skill", "one", "--approve")
    twice = skillkit_cli("a2a", "keys", "add", "anna")
    listed = skillkit_cli("a2a", "keys", "list")
    rows = skillkit_cli("a2a", "keys", "list", "--json").json
    file = skillkit_home.data_dir / "a2a-keys" / "keys.json"
    kept, mode = file.read_text(), file.stat().st_mode & 0o777
    gone = skillkit_cli("a2a", "keys", "revoke", "anna")
    again = skillkit_cli("a2a", "keys", "revoke", "anna")

    key = made.stdout.strip()
    assert "There is no key." in none.stdout and "keys add NAME" in unserved.stderr and unserved.exit_code == 2
    assert key.startswith("ska2a_") and key not in kept and sha256(key.encode()).hexdigest() in kept and mode == 0o600
    assert twice.exit_code == 2 and "already" in twice.stderr
    assert "skill:one approve" in listed.stdout and rows[0]["scopes"] == ["skill:one", "approve"]
    assert (gone.exit_code, again.exit_code) == (0, 2)


def test_a_project_opens_nothing_and_the_card_is_printed(skillkit_cli, skillkit_home, write_skill):
    write_skill("one")
    (skillkit_home.cwd / ".skillkit").mkdir()
    (skillkit_home.cwd / ".skillkit" / "config.yaml").write_text("a2a:\n  name: Theirs\n")
    skillkit_home.write_config("a2a:\n  description: Mine.\n")
    skillkit_cli("config", "trust", "--yes")

    card = skillkit_cli("a2a", "card", "--skill", "one").json
    unknown = skillkit_cli("a2a", "card", "--skill", "onne")
    private = skillkit_cli("a2a", "card", "http://127.0.0.1:9")

    assert (card["name"], card["description"]) == ("SkillKit", "Mine.") and [one["id"] for one in card["skills"]] == [
        "one"
    ]
    assert unknown.exit_code == 2 and "'one'" in unknown.stderr
    assert private.exit_code == 1 and "a2a.client.allow" in private.stderr


# --- other bindings, and an older version ---------------------------------------------------------------------------


def test_grpc_gives_the_same_behind_the_same_keys(serving, write_skill):
    grpc = pytest.importorskip("grpc", reason="gRPC is an extra")
    from a2a.types import SendMessageResponse
    from a2a.types.a2a_pb2_grpc import A2AServiceStub

    write_skill("one")
    port = free_port()

    async def main():
        from skillkit_a2a.serving.keys import Keys

        async with serving(open_=False, grpc=port) as served, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            key = Keys(served.host.data_dir).add("anna")
            stub, metadata = A2AServiceStub(channel), (("authorization", f"Bearer {key}"), ("a2a-version", "1.0"))
            codes = []
            for wrong in (metadata[1:], (metadata[0],)):
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await stub.SendMessage(said("say 2"), metadata=wrong)
                codes.append(refused.value.code())
            sent: SendMessageResponse = await stub.SendMessage(said("say 2"), metadata=metadata)
            streamed = [event async for event in stub.SendStreamingMessage(said("say 2"), metadata=metadata)]
            card = (await served.caller().http.get(f"{served.url}{CARD}")).json()
            return codes, sent.task, streamed, await served.caller(key).say("say 2"), card

    codes, task, streamed, other, card = asyncio.run(main())
    assert codes == [grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.FAILED_PRECONDITION]
    for one in (task, other):
        one.artifacts[0].artifact_id = ""
    assert plain(task) == plain(other)
    assert streamed[0].WhichOneof("payload") == "task"
    assert {"url": f"127.0.0.1:{port}", "protocolBinding": "GRPC", "protocolVersion": "1.0"} in card[
        "supportedInterfaces"
    ]


def test_s12_13_callers_of_the_version_before_are_served_where_that_is_wanted(serving, write_skill):
    write_skill("one")
    message = {"messageId": "m", "kind": "message", "role": "user", "parts": [{"kind": "text", "text": "say 2"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}

    async def main(on):
        async with serving({"compat_0_3": on}) as served:
            http = served.caller().http
            answer = await http.post(f"{served.url}/a2a/jsonrpc", json=body)
            return answer.json(), (await http.get(f"{served.url}{CARD}")).json()

    refused, _ = asyncio.run(main(False))
    answer, card = asyncio.run(main(True))
    assert refused["error"]["code"] == -32601
    assert (answer["result"]["kind"], answer["result"]["status"]["state"]) == ("task", "completed")
    assert {i["protocolVersion"] for i in card["supportedInterfaces"]} == {"1.0", "0.3"}
