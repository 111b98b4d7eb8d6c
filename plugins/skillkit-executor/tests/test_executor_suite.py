"""Every transport behaves as this process does."""

import os
import signal

import pytest
from skillkit_executor.executor import RemoteExecutor
from skillkit_testkit.conformance import ExecutorConformance

from skillkit_core.agent.tool_call import InProcessExecutor


class _Elsewhere(ExecutorConformance):
    @pytest.fixture
    def crash(self):
        return lambda executor: os.kill(executor.pid, signal.SIGKILL)


class TestThisProcessWithoutTheWire(ExecutorConformance):
    @pytest.fixture
    def make_executor(self):
        return lambda host: InProcessExecutor()


class TestThisProcess(ExecutorConformance):
    @pytest.fixture
    def make_executor(self):
        return lambda host: RemoteExecutor(host, "local")


class TestAChildOverStdio(_Elsewhere):
    @pytest.fixture
    def make_executor(self):
        return lambda host: RemoteExecutor(host, "stdio")


@pytest.mark.sample(2)  # what it has in common with the child is proved there
class TestAServerOnLoopback(_Elsewhere):
    @pytest.fixture
    def make_executor(self):
        return lambda host: RemoteExecutor(host, "http")
