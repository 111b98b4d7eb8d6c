"""The SDKs of providers are imported as far as a request needs them, and are whole for everybody else."""

import subprocess
import sys

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")

LIGHT = """
import sys
from skillkit_transport.light import import_light
package, client = sys.argv[1:]
sdk = import_light(package)
asked = getattr(sdk, client)(api_key="x", http_client=sdk.DefaultAioHttpClient())
errors = [sdk.APIStatusError, sdk.APIConnectionError]
few = sum(name.startswith(f"{package}.types") for name in sys.modules)
assert type(sdk.types.__getattr__).__name__ == "method", "its types are whole already"
values = {name: getattr(sdk, name) for name in sdk.__all__}
assert values[client] is type(asked) and [values["APIStatusError"], values["APIConnectionError"]] == errors
kinds = sdk.types.Message if package == "anthropic" else sdk.types.chat.ChatCompletion
assert set(kinds.model_fields) >= {"id", "model"} and asked.models is not None
from importlib import import_module
assert import_module(package) is sdk and type(sdk).__name__ == "module"
print(few, sum(name.startswith(f"{package}.types") for name in sys.modules))
"""


@pytest.mark.parametrize(
    ("package", "client", "most"), [("openai", "AsyncOpenAI", 100), ("anthropic", "AsyncAnthropic", 900)]
)
def test_an_sdk_is_imported_without_most_of_its_types_and_whole_once_somebody_asks(package, client, most):
    done = subprocess.run([sys.executable, "-c", LIGHT, package, client], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    few, whole = map(int, done.stdout.split())
    assert few <= most and few < whole / 2
