"""The names of the GenAI conventions, all in one place, because two states of them are in use.

``released``: those of the package opentelemetry-semantic-conventions 0.66b2 (schema 1.44).
``latest``: https://github.com/open-telemetry/semantic-conventions-genai. The address of the schema in the scope of each span says
which of them a span follows. Both are "Development": they may change.
"""

from __future__ import annotations

from typing import Final, NamedTuple

AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
ERROR: Final = "error.type"
FINISH: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT: Final = "gen_ai.usage.input_tokens"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
MODEL: Final = "gen_ai.request.model"
OPERATION: Final = "gen_ai.operation.name"
OUTPUT: Final = "gen_ai.usage.output_tokens"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
PROVIDER: Final = "gen_ai.provider.name"
RESPONSE_ID: Final = "gen_ai.response.id"
SKILL: Final = "gen_ai.skill.name"
SYSTEM: Final = "gen_ai.system_instructions"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - no secret
TOOL: Final = "gen_ai.tool.name"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL: Final = "gen_ai.tool.call.id"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
TOOL_TYPE: Final = "gen_ai.tool.type"

SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


class Convention(NamedTuple):
    """What differs between the two states.

    Attributes:
        schema: address of the schema.
        cache_write: tokens that were put into the provider's cache.
        workflow: name of a workflow.
    """

    schema: str
    cache_write: str
    workflow: str


RELEASED: Final = Convention(
    "https://opentelemetry.io/schemas/1.44.0", "gen_ai.usage.cache_creation.input_tokens", "gen_ai.workflow.name"
)
LATEST: Final = Convention(
    "https://opentelemetry.io/schemas/gen-ai/1.42.0", "gen_ai.usage.cache_write.input_tokens", AGENT
)
