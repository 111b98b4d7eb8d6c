/** A client of `skillkit rpc`: steers an agent in another process. JSON-RPC 2.0, a message a line. */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";

import type {
  ApproveParams, ApproveResult, CommandInfo, CommandResult, CompletionInfo, EntriesResult, Image, InitializeResult,
  QueuedMessage, RunResult, SkillKitEvent, State, Survey,
} from "./protocol.js";

export type * from "./protocol.js";

/** The version of the protocol that this client speaks. */
export const VERSION = 1;

/** What the server answered instead of a result. A failed run has its response in `data.response`. */
export class RpcError extends Error {
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
    this.name = "RpcError";
  }
}

export interface ClientOptions {
  /** How the server is started; default: `skillkit rpc`. */
  argv?: string[];
  /** Options of `skillkit rpc`, for example `["--model", "claude-sonnet-4-5"]`. */
  options?: string[];
  /** The agent's workspace; default: that of this process. */
  cwd?: string;
  /** The server's whole environment; default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Called with each event of the agent, in their order. */
  onEvent?: (event: SkillKitEvent) => void;
  /** Decides calls that guards ask about; without it they are denied. */
  onApprove?: (call: ApproveParams) => Promise<ApproveResult> | ApproveResult;
  /** Answers a survey by the id of the question, null declines; without it nobody can be asked. */
  onAsk?: (survey: Survey) => Promise<Record<string, unknown> | null> | Record<string, unknown> | null;
  /** Called with texts for the person. */
  onNotify?: (text: string, level: "info" | "warning" | "error") => void;
}

interface Waiting {
  resolve: (value: any) => void;
  reject: (error: Error) => void;
}

/** Say in one line why the server could not be started, and what to do. */
function explained(error: NodeJS.ErrnoException, program: string, cwd?: string): Error {
  if (error.code !== "ENOENT") return error;
  if (cwd !== undefined && !existsSync(cwd)) return new Error(`there is no folder ${cwd}; see the option cwd`, { cause: error });
  const way = 'name it in the option argv, for example ["/path/of/venv/bin/skillkit", "rpc"]';
  return new Error(`there is no program ${program}; install it (pip install skillkit-default), or ${way}`, { cause: error });
}

/** An agent in a process of its own. */
export class RpcClient {
  private readonly waiting = new Map<string, Waiting>();
  private asked = 0;
  private readonly process: ChildProcessWithoutNullStreams;
  private readonly left: Promise<void>;

  private constructor(private readonly options: ClientOptions) {
    const [program, ...first] = options.argv ?? ["skillkit", "rpc"];
    this.process = spawn(program!, [...first, ...(options.options ?? [])], {
      cwd: options.cwd, env: options.env, stdio: ["pipe", "pipe", "inherit"],
    }) as unknown as ChildProcessWithoutNullStreams;
    this.left = new Promise((resolve) => {
      this.process.once("error", (error) => { this.end(explained(error, program!, options.cwd)); resolve(); });
      this.process.once("close", () => { this.end(new Error("the server is gone")); resolve(); });
    });
    this.process.stdin.on("error", () => {}); // the server is gone; `close` tells it
    createInterface({ input: this.process.stdout }).on("line", (line) => this.received(line));
  }

  /** Start a server and greet it. */
  static async start(options: ClientOptions = {}): Promise<RpcClient> {
    const client = new RpcClient(options);
    await client.call<InitializeResult>("initialize", {
      version: VERSION, client: "skillkit-rpc-client", approvals: !!options.onApprove, questions: !!options.onAsk,
    });
    return client;
  }

  /** Say something, and wait for the end of the run. */
  prompt(text: string, images: Image[] = []): Promise<RunResult> {
    return this.call("prompt", { text, images });
  }

  /** Tell the active run something now; gives the id of the queued message. */
  async steer(text: string): Promise<string> {
    return (await this.call<{ item: string }>("steer", { text })).item;
  }

  /** Say something when the active run would end; gives the id of the queued message. */
  async followUp(text: string): Promise<string> {
    return (await this.call<{ item: string }>("follow_up", { text })).item;
  }

  /** Take a queued message back. */
  async cancel(item: string): Promise<"cancelled" | "already_consumed" | "already_cleared"> {
    return (await this.call<{ status: "cancelled" | "already_consumed" | "already_cleared" }>("cancel", { item })).status;
  }

  /** End the active run; gives the messages that were not said. */
  async abort(reason?: string): Promise<QueuedMessage[]> {
    return (await this.call<{ unsaid: QueuedMessage[] }>("abort", { reason: reason ?? null })).unsaid;
  }

  /** Decide calls that wait, by their ids, and go on. */
  resume(decisions: Record<string, "allow" | "deny"> = {}): Promise<RunResult> {
    return this.call("resume", { decisions });
  }

  /** Where the agent stands. */
  state(): Promise<State> {
    return this.call("state", {});
  }

  /** The conversation. */
  async messages(): Promise<Record<string, unknown>[]> {
    return (await this.call<{ messages: Record<string, unknown>[] }>("messages", {})).messages;
  }

  /** The whole session, all branches. */
  entries(): Promise<EntriesResult> {
    return this.call("entries", {});
  }

  /** The sessions, newest first. */
  async sessions(limit?: number): Promise<Record<string, unknown>[]> {
    return (await this.call<{ sessions: Record<string, unknown>[] }>("sessions", { limit: limit ?? null })).sessions;
  }

  /** Go on in another session: its id, the start of one, or `new`. */
  open(session: string): Promise<State> {
    return this.call("open", { session });
  }

  /** Go on in a copy of this session, up to an entry. */
  fork(entry?: string): Promise<State> {
    return this.call("fork", { entry: entry ?? null });
  }

  /** Go on from another entry of this session; null: its start. */
  move(entry: string | null): Promise<State> {
    return this.call("move", { entry });
  }

  /** The models of the catalog. */
  async models(query?: string): Promise<Record<string, unknown>[]> {
    return (await this.call<{ models: Record<string, unknown>[] }>("models", { query: query ?? null })).models;
  }

  /** Choose who answers from the next request on. */
  setModel(model: string, provider?: string): Promise<State> {
    return this.call("set_model", { model, provider: provider ?? null });
  }

  /** The slash commands. */
  async commands(): Promise<CommandInfo[]> {
    return (await this.call<{ commands: CommandInfo[] }>("commands", {})).commands;
  }

  /** What may stand in place of a line that begins with a slash. */
  async complete(line: string): Promise<CompletionInfo[]> {
    return (await this.call<{ completions: CompletionInfo[] }>("complete", { line })).completions;
  }

  /** Run a slash command; a prompt that it makes is asked. */
  command(line: string): Promise<CommandResult> {
    return this.call("command", { line });
  }

  /** Shorten the conversation now; gives whether that freed something. */
  async compact(): Promise<boolean> {
    return (await this.call<{ compacted: boolean }>("compact", {})).compacted;
  }

  /** End the run and the server; one that does not end within 15 seconds is killed. */
  async close(): Promise<void> {
    const late = setTimeout(() => this.process.kill("SIGKILL"), 15_000);
    await this.call("shutdown", {}).catch(() => {}); // a server that is gone needs none
    this.process.stdin.end();
    await this.left;
    clearTimeout(late);
  }

  private call<T>(method: string, params: object): Promise<T> {
    if (this.process.exitCode !== null) return Promise.reject(new Error("the server is gone"));
    const id = String(++this.asked);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }

  private send(message: object): void {
    this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  private end(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  private received(line: string): void {
    const message = JSON.parse(line);
    if (message.method !== undefined) {
      void this.serve(message.id, message.method, message.params);
      return;
    }
    const waiting = this.waiting.get(String(message.id));
    this.waiting.delete(String(message.id));
    if (message.error) waiting?.reject(new RpcError(message.error.code, message.error.message, message.error.data));
    else waiting?.resolve(message.result);
  }

  private async serve(id: unknown, method: string, params: any): Promise<void> {
    const { onEvent, onApprove, onAsk, onNotify } = this.options;
    if (method === "event") onEvent?.(params);
    if (method === "notify") onNotify?.(params.text, params.level);
    if (id === undefined) return;
    try {
      if (method === "approve" && onApprove) this.send({ id, result: await onApprove(params) });
      else if (method === "ask" && onAsk) this.send({ id, result: { answers: await onAsk(params.survey) } });
      else this.send({ id, error: { code: -32601, message: `there is no method ${method}` } });
    } catch (error) {
      this.send({ id, error: { code: -32603, message: String(error) } });
    }
  }
}
