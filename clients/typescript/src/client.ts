/** A client of a live session in another process: one that it starts (`skillkit rpc`), or one that has the session open. */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

import type {
  AnswerParams, AnswerResult, ApproveParams, ApproveResult, CommandInfo, CommandResult, CompletionInfo, EntriesResult, Image, InitializeResult,
  MessageParams, QueuedMessage, RunResult, SkillKitEvent, State, Survey, WaitingQuestion,
} from "./protocol.js";

export type * from "./protocol.js";

/** The version of the protocol that this client speaks. */
export const VERSION = 2;

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
  /** The socket of a process that has the session open (`state().endpoint`); no server is started then. */
  endpoint?: string;
  /** The id of the last message that an earlier client of this session got. */
  after?: string;
  /** Called with each message of the session, by number. Questions among them are answered by `answer`, if not below. */
  onMessage?: (message: MessageParams & Record<string, any>) => void;
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

/** An agent in another process. */
export class RpcClient {
  private readonly waiting = new Map<string, Waiting>();
  private readonly asking = new Set<string>();
  private asked = 0;
  private gone = false;
  private readonly process?: ChildProcessWithoutNullStreams;
  private readonly socket?: Socket;
  private readonly input: Writable;
  private readonly left: Promise<void>;
  /** The id of the last message of the session: where another client goes on. */
  after?: string;

  private constructor(private readonly options: ClientOptions) {
    const [program, ...first] = options.argv ?? ["skillkit", "rpc"];
    let output: Readable;
    if (options.endpoint !== undefined) {
      this.socket = createConnection(options.endpoint);
      this.input = output = this.socket;
    } else {
      this.process = spawn(program!, [...first, ...(options.options ?? [])], {
        cwd: options.cwd, env: options.env, stdio: ["pipe", "pipe", "inherit"],
      }) as unknown as ChildProcessWithoutNullStreams;
      this.input = this.process.stdin;
      output = this.process.stdout;
      this.input.on("error", () => {}); // the server is gone; `close` tells it
    }
    const side = this.process ?? this.socket!;
    this.left = new Promise((resolve) => {
      side.once("error", (error: Error) => {
        this.end(this.process ? explained(error, program!, options.cwd) : error);
        resolve();
      });
      side.once("close", () => { this.end(new Error("the server is gone")); resolve(); });
    });
    createInterface({ input: output }).on("line", (line) => this.received(line));
  }

  /** Start a server, or attach to the one at `endpoint`, greet it, and be told what happens. */
  static async start(options: ClientOptions = {}): Promise<RpcClient> {
    const client = new RpcClient(options);
    const itself = !!options.onMessage;
    await client.call<InitializeResult>("initialize", {
      version: VERSION, client: "skillkit-rpc-client", approvals: itself || !!options.onApprove, questions: itself || !!options.onAsk,
    });
    await client.attach(options.after);
    return client;
  }

  /** Be told what happened after a message, else a snapshot, and then what happens. */
  async attach(after?: string): Promise<void> {
    await this.call("attach", { after: after ?? null });
  }

  /** Say something without waiting for the answer; gives the id of the queued message, empty where a run began. */
  async say(text: string, delivery: "auto" | "steer" | "follow_up" = "auto"): Promise<string> {
    return (await this.call<{ item: string }>("say", { text, delivery })).item;
  }

  /** Answer a question of a message; the first answer counts. */
  answer(question: string, given: Omit<Partial<AnswerParams>, "question">): Promise<AnswerResult> {
    return this.call("answer", { question, ...given });
  }

  /** The questions that wait, of all sessions. */
  async inbox(): Promise<WaitingQuestion[]> {
    return (await this.call<{ waiting: WaitingQuestion[] }>("inbox", {})).waiting;
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

  /** Leave the session; end the server that was started here, within 15 seconds, else it is killed. */
  async close(): Promise<void> {
    const late = setTimeout(() => this.process?.kill("SIGKILL"), 15_000);
    await this.call("shutdown", {}).catch(() => {}); // a server that is gone needs none
    this.input.end();
    await this.left;
    clearTimeout(late);
  }

  private call<T>(method: string, params: object): Promise<T> {
    if (this.gone || (this.process && this.process.exitCode !== null)) return Promise.reject(new Error("the server is gone"));
    const id = String(++this.asked);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.input.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    });
  }

  private end(error: Error): void {
    this.gone = true;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  private received(line: string): void {
    const message = JSON.parse(line);
    if (message.method === "message") this.got(message.params);
    if (message.method === "dropped") void this.attach(message.params.after).catch(() => {});
    if (message.method !== undefined) return;
    const waiting = this.waiting.get(String(message.id));
    this.waiting.delete(String(message.id));
    if (message.error) waiting?.reject(new RpcError(message.error.code, message.error.message, message.error.data));
    else waiting?.resolve(message.result);
  }

  /** Take in a message of the session. */
  private got(message: MessageParams & Record<string, any>): void {
    const { onMessage, onEvent, onNotify } = this.options;
    this.after = message.id;
    onMessage?.(message);
    if (message.type === "event") onEvent?.(message.event);
    if (message.type === "notice") onNotify?.(message.text, message.level);
    if (message.type === "question") void this.decide(message.question);
    if (message.type === "snapshot") for (const one of message.questions) if (!one.suspended) void this.decide(one);
    if (message.type === "question_answered" || message.type === "question_withdrawn") this.asking.delete(message.question);
  }

  /** Answer a question by the functions of the options; a failure of one is a denial, and wrong answers are asked for again. */
  private async decide(question: any): Promise<void> {
    const { onApprove, onAsk } = this.options;
    if (this.asking.has(question.id) || !(question.kind === "approval" ? onApprove : onAsk)) return;
    this.asking.add(question.id);
    let survey: Survey = question.survey;
    while (this.asking.has(question.id)) {
      try {
        if (question.kind === "approval") {
          const { answer, ...decision } = await Promise.resolve(onApprove!(question)).catch((error): ApproveResult => (
            { decision: "deny", reason: `the client gave no decision: ${error}` }));
          await this.answer(question.id, { ...decision, answers: answer ?? null });
        } else await this.answer(question.id, { answers: await onAsk!(survey) });
        return;
      } catch (error) {
        if (!(error instanceof RpcError) || !survey) return;
        survey = { ...survey, text: `${question.survey.text}\n${error.message}`.trim() };
      }
    }
  }
}
