/** Against a real server with the plugin of the Python tests: SKILLKIT_ARGV is its command line, SKILLKIT_CWD its folder. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { RpcClient, RpcError } from "../dist/client.js";

const argv = JSON.parse(process.env.SKILLKIT_ARGV);
const start = (more = {}) => RpcClient.start({ argv, cwd: process.env.SKILLKIT_CWD, ...more });

test("a prompt is answered, and events are told", async () => {
  const events = [];
  const client = await start({ onEvent: (event) => events.push(event.type) });
  const answer = await client.prompt("hello there");
  assert.equal(answer.content, "You said: hello there");
  assert.equal((await client.state()).messages, 2);
  assert.ok(events.includes("agent_end"));
  await client.close();
});

test("the client decides what guards ask", async () => {
  const client = await start({
    onApprove: (call) => ({ decision: call.args.amount === 5 ? "allow" : "deny", reason: "too much" }),
  });
  const answer = await client.prompt("pay 5 7");
  assert.match(answer.content, /paid 5/);
  assert.match(answer.content, /too much/);
  await client.close();
});

test("questions reach the person", async () => {
  const notices = [];
  const client = await start({ onAsk: () => ({ city: "Oslo" }), onNotify: (text) => notices.push(text) });
  assert.equal((await client.prompt("question 1")).content, "going to Oslo");
  assert.deepEqual(notices, ["off to Oslo"]);
  await client.close();
});

test("a run is aborted while it goes on", async () => {
  let started;
  const running = new Promise((resolve) => { started = resolve; });
  const client = await start({ onEvent: (event) => event.type === "tool_execution_update" && started() });
  const run = client.prompt("linger 1");
  await running;
  const unsaid = client.steer("stop it").then(() => client.abort("enough"));
  await assert.rejects(run, (error) => error instanceof RpcError && error.code === -32001);
  assert.deepEqual((await unsaid).map((m) => m.text), ["stop it"]);
  await client.close();
});

test("a second client attaches to the session, and the first decision counts", async () => {
  let asked;
  const question = new Promise((resolve) => { asked = resolve; });
  const first = await start({ onMessage: (message) => message.type === "question" && asked(message.question.id) });
  const { endpoint } = await first.state();
  const numbers = [];
  const second = await RpcClient.start({ endpoint, onMessage: (message) => numbers.push(message.id) });
  const run = first.prompt("pay 5");
  assert.equal((await second.answer(await question, { decision: "allow" })).outcome, "taken");
  assert.equal((await first.answer(await question, { decision: "deny" })).outcome, "late");
  assert.match((await run).content, /paid 5/);
  await second.close();
  await first.prompt("and now?");
  const third = await RpcClient.start({ endpoint, after: second.after, onMessage: (message) => numbers.push(message.id) });
  await third.close();
  assert.equal(new Set(numbers).size, numbers.length, "no message comes twice");
  await first.close();
});

test("a program that is not there is an error that says what to do", async () => {
  await assert.rejects(RpcClient.start({ argv: ["skillkit-that-is-not-there"] }), {
    message: "there is no program skillkit-that-is-not-there; install it (pip install skillkit-default), or name it in the "
      + 'option argv, for example ["/path/of/venv/bin/skillkit", "rpc"]',
  });
});

test("a workspace that is not there is an error that names it", async () => {
  await assert.rejects(start({ cwd: "/folder/that/is/not/there" }), {
    message: "there is no folder /folder/that/is/not/there; see the option cwd",
  });
});
