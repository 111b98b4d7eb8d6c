"""The suite of runtimes starts real processes; below it stands what is this runtime's own."""

import pytest
import skillkit_bash.plugin
from skillkit_testkit.conformance import RuntimeConformance

import skillkit_acme


@pytest.fixture
def runtime(make_host):
    return make_host(("bash", skillkit_bash.plugin), skillkit_acme).runtimes.get("acme")


class TestRuntime(RuntimeConformance):
    @pytest.fixture
    def runtime(self, runtime):
        return runtime


async def test_commands_have_a_low_priority(runtime):
    plain, low = await runtime._bash.execute("nice"), await runtime.execute("nice")
    assert int(low.stdout) == min(int(plain.stdout) + 10, 19)  # 19 is the lowest that there is
