"""Plays the script of the conformance kit: what a request wants is in the id of its message, not in its words."""

import asyncio

from skillkit_core import (
    Handled,
    ModelDefinition,
    Provider,
    Survey,
    SurveyQuestion,
    Tool,
    ToolError,
    ToolOutput,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

FILE = {"name": "output.txt", "media_type": "text/plain"}
ARTIFACTS = {
    "tck-artifact-file-url": {"url": "https://example.com/output.txt", **FILE},
    "tck-artifact-file": {"path": "output.txt", **FILE},
    "tck-stream-artifact-file": {"path": "output.txt", **FILE},
    "tck-artifact-data": {"data": {"key": "value", "count": 42}},
}
TEXTS = {
    "tck-artifact-text": "Generated text content",
    "tck-complete-task": "Hello from TCK",
    "tck-stream-001": "Stream hello from TCK",
    "tck-stream-003": "Stream task lifecycle",
    "tck-stream-ordering-001": "Ordered output",
    "tck-stream-artifact-text": "Streamed text content",
    "tck-stream-artifact-chunked": ["chunk-1 ", "chunk-2"],
}
TEXT = {"type": "object", "properties": {"wanted": {"type": "string"}}}
_answered: dict[str, str] = {}  # by session: the id of the message that answered last


def script(message_id):
    """Return the entry of the script for the id of a message."""
    known = (*ARTIFACTS, *TEXTS, "tck-input-required", "test-resubscribe-message-id")
    return max((name for name in known if message_id.startswith(name)), key=len, default="")


def answer(request):
    """Return what the model says."""
    said = [m for m in request.messages if m.role == "user"][-1]
    results = [m for m in request.messages[list(request.messages).index(said) + 1 :] if m.role == "tool_result"]
    wanted = script((said.origin.id if said.origin else "") or "")
    if wanted == "tck-input-required":
        if not results:
            return Reply("", calls=[Call("ask", {})])
        if results[-1].text.startswith("tck-input-required"):
            return Reply("", calls=[Call("ask", {}, id=f"again-{len(results)}")])
        return "Thank you."
    if (wanted in ARTIFACTS or wanted == "test-resubscribe-message-id") and not results:
        return Reply("", calls=[Call("make", {"wanted": wanted})])
    return Reply(TEXTS.get(wanted, f"echo: {said.text}"))


class Model(ScriptedModel):
    """The model."""

    api, provider = "kit", "kit"

    def __init__(self, *given, **options):
        super().__init__([answer], repeat=True)


async def make(args, ctx):
    """Make what the kit wants to get."""
    if args["wanted"] == "test-resubscribe-message-id":
        await asyncio.sleep(4)
        return "slept"
    (ctx.cwd / "output.txt").write_text("tck")
    return ToolOutput("made", {"artifacts": [ARTIFACTS[args["wanted"]]]})


async def ask(args, ctx):
    """Ask for more; return the id of the message that answered."""
    answers = await ctx.ask(Survey("More input", "", (SurveyQuestion("more", "What else?"),)))
    return "nobody answered" if answers is None else _answered.get(ctx.session_id, "answered")


@hookimpl
def question_answered(event, ctx):
    """Remember who answered."""
    if event.by is not None:
        _answered[event.session_id] = event.by.id or ""


@hookimpl(phase="guard")
def input(event):
    """Answer without a run, or refuse."""
    message_id = (event.origin.id if event.origin else "") or ""
    if message_id.startswith("tck-message-response"):
        return Handled("Direct message response")
    if message_id.startswith("tck-reject-task"):
        raise ToolError("rejected")
    return None


@hookimpl
def register_adapters(register):
    """Offer the model."""
    register(Provider("kit", {"kit": Model}, default_model="kit"))


@hookimpl
def register_models(register):
    """Describe it."""
    register(ModelDefinition("kit", "kit", "kit", context_window=100_000, capabilities={"text", "image", "tool_use"}))


@hookimpl
def register_tools(register):
    """Offer the tools."""
    quiet = {"mutates": "none"}
    register(Tool("make", "Make something.", make, TEXT, annotations=quiet))
    register(Tool("ask", "Ask for more.", ask, TEXT, annotations={**quiet, "asks": True}))
