/** Made from the JSON Schema of `skillkit rpc --schema` by generate.py; not edited by hand. */

/** Questions to a person. */
export interface Survey {
  title: string;
  text: string;
  questions: {
    id: string;
    text: string;
    kind: "choice" | "choices" | "text" | "confirm" | "secret";
    required: boolean;
    options?: { label: string; description: string; value: string }[];
    default?: string | boolean | string[];
  }[];
}

/** Why. */
export interface AbortParams {
  reason?: string | null;
}

/** What was not said. */
export interface AbortResult {
  unsaid: QueuedMessage[];
}

/** An answer to a question: a decision about a call, or the answers of a survey. */
export interface AnswerParams {
  /** The id of the question. */
  question: string;
  decision?: "allow" | "deny" | "defer" | null;
  reason?: string;
  remember?: boolean | "session" | "project" | "ever";
  /** By id of the question; null declines a survey. */
  answers?: Record<string, unknown> | null;
}

/** Whether the answer counts. */
export interface AnswerResult {
  /** late: somebody was faster. */
  outcome: "taken" | "late" | "unknown";
  /** Who gave the answer that counts, if that is known. */
  by: Record<string, unknown> | null;
}

/** A call that guards ask about. */
export interface ApproveParams {
  tool_call_id: string;
  tool: string;
  args: Record<string, unknown>;
  questions: AskedBy[];
  agent_path: string[];
  /** The answer can be remembered; beyond the session where a question has a rule. */
  rememberable: boolean;
  /** What the call would do, such as a diff, where its tool says it. */
  preview?: string | null;
}

/** The decision. */
export interface ApproveResult {
  decision: "allow" | "deny" | "defer";
  reason?: string;
  /** How long it holds: false for this call, true or session, project, or ever. */
  remember?: boolean | "session" | "project" | "ever";
  answer?: Record<string, unknown> | null;
}

/** What a guard asks about a call. */
export interface AskedBy {
  text: string;
  plugin?: string | null;
  /** What the plugin keeps of an answer that is remembered beyond the session. */
  rule?: string | null;
}

/** From where on. */
export interface AttachParams {
  /** The id of the last message that the client got; none: a snapshot. */
  after?: string | null;
}

/** Where the session stands. */
export interface AttachResult {
  /** The id of the newest message. */
  last: string;
}

/** Which image or document. */
export interface BlobParams {
  /** What stands in a block in place of its data. */
  blob: string;
}

/** The bytes in base64. */
export interface BlobResult {
  data: string;
  media_type: string;
}

/** Which queued message. */
export interface CancelParams {
  item: string;
}

/** What became of it. */
export interface CancelResult {
  status: "cancelled" | "already_consumed" | "already_cleared";
}

/** A slash command. */
export interface CommandInfo {
  name: string;
  arguments: string;
  help: string;
  origin: string;
}

/** What a command said, or the run of what it asked. */
export interface CommandResult {
  text: string | null;
  run: RunResult | null;
}

/** The slash commands. */
export interface CommandsResult {
  commands: CommandInfo[];
}

/** Whether that freed something. */
export interface CompactResult {
  compacted: boolean;
}

/** What may stand in place of a line. */
export interface CompletionInfo {
  text: string;
  label: string;
  help: string;
}

/** Completions of a line. */
export interface CompletionsResult {
  completions: CompletionInfo[];
}

/** It was done. */
export interface Done {
}

/** The client reads too slowly, and is told no more messages until it attaches again. */
export interface DroppedParams {
  /** The id of the last message that was sent. */
  after: string;
}

/** The entries of all branches, in the order in which they were written. */
export interface EntriesResult {
  leaf: string | null;
  entries: Record<string, unknown>[];
}

/** Which entry. */
export interface EntryParams {
  /** The id of an entry; none: the start of the session (move), the leaf (fork). */
  entry?: string | null;
}

/** An image for the model. */
export interface Image {
  /** A file of the workspace. */
  path?: string | null;
  /** The bytes in base64. */
  data?: string | null;
  /** With data: for example image/png. */
  media_type?: string | null;
}

/** The questions of all sessions. */
export interface InboxResult {
  waiting: WaitingQuestion[];
}

/** What the client is and can do. */
export interface InitializeParams {
  /** The version of the protocol that the client speaks. */
  version?: number;
  /** The name of the client, for logs. */
  client?: string;
  /** The client decides about calls; where no client does, what would be asked is denied. */
  approvals?: boolean;
  /** The client answers surveys; where no client does, nobody is asked. */
  questions?: boolean;
}

/** What the server is. */
export interface InitializeResult {
  version: number;
  server: string;
  state: State;
}

/** A line that begins with a slash. */
export interface LineParams {
  line: string;
}

/** How many. */
export interface ListParams {
  limit?: number | null;
}

/** A message of the session; its other fields depend on ``type``. */
export interface MessageParams {
  /** EPOCH.N: N grows with every message, the epoch is new for each process. */
  id: string;
  type: "snapshot" | "event" | "question" | "question_answered" | "question_withdrawn" | "notice" | "state" | "closed";
}

/** The messages of the current branch, as the session keeps them. */
export interface MessagesResult {
  messages: Record<string, unknown>[];
}

/** Who answers from the next request on. */
export interface ModelParams {
  model: string;
  provider?: string | null;
}

/** Which models. */
export interface ModelsParams {
  /** Words or the start of a name. */
  query?: string | null;
}

/** The models of the catalog. */
export interface ModelsResult {
  models: Record<string, unknown>[];
}

/** No parameters. */
export interface Nothing {
}

/** A text for a person. */
export interface NotifyParams {
  text: string;
  level: "info" | "warning" | "error";
}

/** Which session. */
export interface OpenParams {
  /** An id, the start of one, or 'new'. */
  session: string;
}

/** What a person says. */
export interface PromptParams {
  text: string;
  images?: Image[];
}

/** A message that nobody has said to the model. */
export interface QueuedMessage {
  id: string;
  kind: "steer" | "follow_up" | "next_run";
  text: string;
}

/** A message that was queued. */
export interface QueuedResult {
  item: string;
}

/** Decisions by the id of the call. */
export interface ResumeParams {
  decisions?: Record<string, unknown>;
}

/** How a run ended. */
export interface RunResult {
  content: string;
  outcome: "completed" | "aborted" | "failed" | "limit" | "suspended";
  stop_reason: string | null;
  usage: Usage;
  cost: number | null;
  session_id: string | null;
  run_id: string | null;
  reason: string;
  waiting: WaitingCall[];
}

/** What a person says, now or in a moment. */
export interface SayParams {
  text: string;
  images?: Image[];
  /** auto begins a run, or steers the active one. */
  delivery?: "auto" | "steer" | "follow_up";
}

/** The sessions, newest first. */
export interface SessionsResult {
  sessions: Record<string, unknown>[];
}

/** Where the agent stands. */
export interface State {
  running: boolean;
  state: "idle" | "running" | "asking" | "suspended" | "closed";
  session: string | null;
  /** Where the session is kept, if that is a place. */
  session_path: string | null;
  /** The socket at which other processes attach to the session. */
  endpoint: string | null;
  messages: number;
  model: string | null;
  provider: string | null;
  cwd: string;
  tools: string[];
  waiting: WaitingCall[];
  /** Of the whole session. */
  usage: Usage;
  /** US dollars of the whole session, of what has a known price. */
  cost: number;
}

/** What a person says while a run is active. */
export interface TextParams {
  text: string;
}

/** Tokens, in disjoint buckets. */
export interface Usage {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  reasoning: number;
  total: number;
}

/** A tool call that waits for a decision. */
export interface WaitingCall {
  id: string;
  tool: string;
  args: Record<string, unknown>;
  questions: AskedBy[];
}

/** A question that waits for an answer. */
export interface WaitingQuestion {
  session: string;
  title: string | null;
  folder: string;
  /** The session is open in this process. */
  live: boolean;
  question: Record<string, unknown>;
}

/** A request of the server that needs no answer any more. */
export interface WithdrawnParams {
  id: string;
}

/** Status and headers have arrived, before the first stream event, also of a retry. ``latency`` in seconds. */
export interface AfterProviderResponseEvent {
  type: "after_provider_response";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  status?: number;
  headers?: Record<string, unknown>;
  latency?: number;
}

/** ``after_tool_result``: a tool answered, or a handler substituted the answer. ``duration`` is in seconds. */
export interface AfterToolResultEvent {
  type: "after_tool_result";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  args?: Record<string, unknown>;
  raw_args?: Record<string, unknown>;
  content?: unknown[];
  details?: unknown;
  is_error?: boolean;
  terminate?: boolean;
  usage?: unknown;
  outcome?: unknown;
  duration?: number;
}

/** A run is over. Emitted exactly once per ``agent_start``, whatever happened. */
export interface AgentEndEvent {
  type: "agent_end";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  outcome?: "completed" | "aborted" | "failed" | "limit" | "suspended";
  reason?: string;
  error?: unknown;
  messages?: unknown[];
  usage?: unknown;
  leaf_id?: string;
}

/** The agent has nothing left to do after ``agent_end``: no retry, no compaction, no queued message. */
export interface AgentSettledEvent {
  type: "agent_settled";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
}

/** A run starts, before its first request. */
export interface AgentStartEvent {
  type: "agent_start";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  model?: unknown;
  provider?: string;
  tools?: string[];
  limits?: Record<string, unknown>;
  parent_run_id?: string;
  parent_tool_call_id?: string;
}

/** Guards ask for the approval of a tool call, before the run's approver is asked. */
export interface ApprovalRequestEvent {
  type: "approval_request";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  id?: string;
  args?: Record<string, unknown>;
  questions?: string[];
  asked?: unknown[];
  rememberable?: boolean;
  deferrable?: boolean;
}

/** An approval is decided. Emitted once per ``approval_request``. */
export interface ApprovalResolvedEvent {
  type: "approval_resolved";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  id?: string;
  args?: Record<string, unknown>;
  questions?: string[];
  decision?: string;
  reason?: string;
  remember?: boolean | "session" | "project" | "ever";
  answers?: Record<string, unknown>;
  origin?: unknown;
}

/** A run would end normally. ``n_continues`` counts how often in a row handlers made the run go on. */
export interface BeforeAgentEndEvent {
  type: "before_agent_end";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  messages?: unknown[];
  stop_hook_active?: boolean;
  n_continues?: number;
}

/** A run is about to start. Emitted once per run. */
export interface BeforeAgentStartEvent {
  type: "before_agent_start";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  prompt?: string;
  images?: unknown[];
  resumed?: boolean;
  system_prompt?: string;
  parts?: Record<string, unknown>;
}

/** The history is about to be shortened. ``signal`` is set when the run is aborted meanwhile. */
export interface BeforeCompactEvent {
  type: "before_compact";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  reason?: "threshold" | "overflow" | "manual";
  preparation?: unknown;
  tokens?: number;
  signal?: unknown;
}

/** A request to a model is about to be made: of a turn, of a compaction, or of a plugin; also a retry. */
export interface BeforeModelRequestEvent {
  type: "before_model_request";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  request?: string;
  model?: unknown;
  provider?: string;
  purpose?: string;
  attempt?: number;
  first?: string;
  tokens?: number;
  max_output?: number;
  runs?: string[];
  sessions?: string[];
}

/** A request is about to be sent, with the adapter's final payload. Credentials in ``headers`` are redacted. */
export interface BeforeProviderRequestEvent {
  type: "before_provider_request";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  model?: unknown;
  options?: Record<string, unknown>;
  headers?: Record<string, unknown>;
  payload?: Record<string, unknown>;
}

/** ``before_tool_call``: the model calls a tool. ``args`` are the arguments that would run, ``raw_args`` the model's own. */
export interface BeforeToolCallEvent {
  type: "before_tool_call";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  args?: Record<string, unknown>;
  raw_args?: Record<string, unknown>;
  index?: number;
  batch_size?: number;
  attempt?: number;
  annotations?: Record<string, unknown>;
}

/** A compaction is over. Emitted once per ``compaction_start``. */
export interface CompactionEndEvent {
  type: "compaction_end";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  reason?: string;
  outcome?: string;
  before_tokens?: number;
  after_tokens?: number;
  entry_id?: string;
}

/** A compaction begins, after ``before_compact``. */
export interface CompactionStartEvent {
  type: "compaction_start";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  reason?: string;
  before_tokens?: number;
}

/** The messages of a request are ready, also of a retry. ``tokens`` is an estimate. */
export interface ContextTransformEvent {
  type: "context_transform";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  messages?: unknown[];
  tokens?: number;
  window?: number;
}

/** A handler failed, and its answer was discarded. Errors of handlers of this event only go to the log. */
export interface HandlerErrorEvent {
  type: "handler_error";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  event?: string;
  source?: string;
  plugin?: string;
  error?: string;
  traceback?: string;
}

/** A prompt, a steering message or a follow-up has come in, as raw text before anything is expanded. */
export interface InputEvent {
  type: "input";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  text?: string;
  images?: unknown[];
  origin?: unknown;
  delivery?: "prompt" | "steer" | "follow_up";
}

/** A message is complete and about to be persisted as ``entry_id``. */
export interface MessageEndEvent {
  type: "message_end";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  message?: unknown;
  entry_id?: string;
}

/** An assistant message begins to arrive, or a tool result is about to be persisted. */
export interface MessageStartEvent {
  type: "message_start";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  message?: unknown;
  role?: string;
}

/** One stream event of the assistant message that is arriving. */
export interface MessageUpdateEvent {
  type: "message_update";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  event?: unknown;
}

/** Another model or adapter will answer. ``reason``: why the one before failed, of a fallback. */
export interface ModelSelectEvent {
  type: "model_select";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  model?: unknown;
  provider?: string;
  reason?: string;
}

/** A tool has the answers of a person, or a person declined. */
export interface QuestionAnsweredEvent {
  type: "question_answered";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  id?: string;
  args?: Record<string, unknown>;
  by?: unknown;
  answers?: Record<string, unknown>;
}

/** A tool asks a person, before the user interface is asked or the run waits because nobody is there. */
export interface QuestionAskedEvent {
  type: "question_asked";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  id?: string;
  args?: Record<string, unknown>;
  survey?: Record<string, unknown>;
}

/** A message was queued, taken, cancelled or returned. The fields hold the ids of the waiting messages. */
export interface QueueUpdateEvent {
  type: "queue_update";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  steering?: string[];
  follow_up?: string[];
  next_run?: string[];
}

/** The retries of one request are over. Emitted once, after the last retry. */
export interface RetryEndEvent {
  type: "retry_end";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  attempt?: number;
  success?: boolean;
}

/** A request failed and will be sent again in ``delay`` seconds, for the ``attempt``-th time. */
export interface RetryScheduledEvent {
  type: "retry_scheduled";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  attempt?: number;
  delay?: number;
  error?: string;
}

/** The delay is over, and the request is sent again. */
export interface RetryStartEvent {
  type: "retry_start";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  attempt?: number;
}

/** The agent is about to go on in a copy of the session up to the entry ``target``, in an empty one for ``None``. */
export interface SessionBeforeForkEvent {
  type: "session_before_fork";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  target?: string;
  reason?: "fork";
}

/** The agent is about to leave its session for another one: ``target`` is the other's id, ``None`` for a new session. */
export interface SessionBeforeSwitchEvent {
  type: "session_before_switch";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  target?: string;
  reason?: "new" | "resume";
}

/** The agent is about to go on from the entry ``target`` of the same session, from the start for ``None``. */
export interface SessionBeforeTreeEvent {
  type: "session_before_tree";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  target?: string;
  reason?: "tree";
}

/** A session is about to be closed. Emitted once, also on SIGTERM and after ``run``. */
export interface SessionShutdownEvent {
  type: "session_shutdown";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  reason?: string;
}

/** A session was opened. */
export interface SessionStartEvent {
  type: "session_start";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  reason?: "startup" | "new" | "resume" | "fork" | "reload";
  previous?: string;
  path?: string;
}

/** The agent goes on from another entry of its session. The leaf has moved. */
export interface SessionTreeEvent {
  type: "session_tree";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  target?: string;
  previous?: string;
  summary_id?: string;
  label?: string;
}

/** A tool call has its final result. Emitted once per start, in the order of completion, with the ``args`` of the start. */
export interface ToolExecutionEndEvent {
  type: "tool_execution_end";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  args?: Record<string, unknown>;
  content?: unknown[];
  details?: unknown;
  is_error?: boolean;
  outcome?: unknown;
  duration?: number;
  guards?: Record<string, unknown>;
}

/** A tool call begins, also one that was blocked or skipped. Emitted once per call. */
export interface ToolExecutionStartEvent {
  type: "tool_execution_start";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  args?: Record<string, unknown>;
}

/** A running tool wrote output. ``n`` counts the updates of the call from 1. */
export interface ToolExecutionUpdateEvent {
  type: "tool_execution_update";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  tool_name?: string;
  tool_call_id?: string;
  output?: string;
  stream?: "stdout" | "stderr";
  partial_result?: unknown;
  n?: number;
}

/** A turn is over, and its results are persisted. ``message`` is ``None`` when there was no answer. */
export interface TurnEndEvent {
  type: "turn_end";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  turn_index?: number;
  message?: unknown;
  tool_results?: unknown[];
  usage?: unknown;
}

/** A turn begins, before its request. */
export interface TurnStartEvent {
  type: "turn_start";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  turn_index?: number;
  inputs?: unknown[];
  messages?: unknown[];
  tools?: unknown[];
  system_prompt?: string;
}

/** A request used tokens, also a failed one, and the usage ledger has them. */
export interface UsageEvent {
  type: "usage";
  session_id?: string;
  run_id?: string;
  agent_path?: string[];
  seq?: number;
  ts?: number;
  usage?: unknown;
  cost?: number;
  provider?: string;
  model?: string;
  purpose?: string;
  request?: string;
  tool_name?: string;
  estimated?: boolean;
  role?: string;
  error?: string;
}

/** An event that a plugin defines, or a later version. */
export interface OtherEvent {
  type: string;
  [field: string]: any;
}

export type SkillKitEvent =
  | OtherEvent
  | AfterProviderResponseEvent
  | AfterToolResultEvent
  | AgentEndEvent
  | AgentSettledEvent
  | AgentStartEvent
  | ApprovalRequestEvent
  | ApprovalResolvedEvent
  | BeforeAgentEndEvent
  | BeforeAgentStartEvent
  | BeforeCompactEvent
  | BeforeModelRequestEvent
  | BeforeProviderRequestEvent
  | BeforeToolCallEvent
  | CompactionEndEvent
  | CompactionStartEvent
  | ContextTransformEvent
  | HandlerErrorEvent
  | InputEvent
  | MessageEndEvent
  | MessageStartEvent
  | MessageUpdateEvent
  | ModelSelectEvent
  | QuestionAnsweredEvent
  | QuestionAskedEvent
  | QueueUpdateEvent
  | RetryEndEvent
  | RetryScheduledEvent
  | RetryStartEvent
  | SessionBeforeForkEvent
  | SessionBeforeSwitchEvent
  | SessionBeforeTreeEvent
  | SessionShutdownEvent
  | SessionStartEvent
  | SessionTreeEvent
  | ToolExecutionEndEvent
  | ToolExecutionStartEvent
  | ToolExecutionUpdateEvent
  | TurnEndEvent
  | TurnStartEvent
  | UsageEvent;
