"""What holds for all tests of the checkout."""

import functools
import gc
import os
import shutil
import signal
import ssl
import sys
import tempfile
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

import pytest

# Hundreds of tests start a Python. Where bytecode is switched off, each start would compile every module that it imports again,
# which is half of the time of the whole suite, so that bytecode goes to a folder of the environment instead.
if sys.dont_write_bytecode and sys.pycache_prefix is None:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(sys.prefix) / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    shutil.rmtree(sys.pycache_prefix + tempfile.gettempdir(), ignore_errors=True)  # that of earlier tests' own modules

# Nothing that is made while tests are collected is garbage; to look for some would be a tenth of that time.
gc.disable()

# What runs in the background of a shell may ignore interrupts, and under nohup hang-ups, and hands that on to the processes
# that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Reading the certificates of the system is most of what making a client of an SDK costs, and tests make thousands.
ssl.create_default_context = functools.cache(ssl.create_default_context)


# A plain run of everything takes of the tests that start commands those that fit in five minutes; .ci/run lets no package take
# more CPU than it may.
sys.path.append(str(Path(__file__).parent / ".ci"))
pytest_plugins = ["by_day", *(["cost"] if "TEST_CPU_LIMITS" in os.environ else [])]

# What authors' tools copy, with tests of its own: a test makes each, and runs those.
collect_ignore_glob = ["plugins/*/src/*/templates/*"]

# Its skills would take the requests of every other test, so that it is not in the development environment and is tested alone.
collect_ignore = [] if find_spec("skillkit_simple_skills") else ["plugins/skillkit-simple-skills/tests"]


@pytest.hookimpl(tryfirst=True)
def pytest_configure():
    """Add the profiles of Hypothesis, which is imported here because bytecode has its folder only now."""
    from hypothesis import settings

    settings.register_profile("full", max_examples=10 * settings.default.max_examples)
    settings.register_profile("quick", max_examples=settings.default.max_examples // 4)
    settings.load_profile("quick")  # one that the command line names takes its place


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Run one worker more than there are cores, which is busy while others wait for processes."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_collection_modifyitems(items):
    """Refuse a name that differs from process to process: ``pytest -n`` would run nothing."""
    if wrong := next((item.nodeid for item in items if " at 0x" in item.nodeid), None):
        raise pytest.UsageError(f"{wrong}: the name holds an address; give the parameters ids")


def pytest_collection_finish():
    """Keep modules and thousands of tests out of later collections of garbage: each would take a quarter of a second."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Keep out, too, what the tests of a file leave: the SDKs that they imported, what is cached of terminals and styles."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


# What no command imports.
RARE = ("skillkit_testkit",)


# The tests of a run from which on it pays to import what their processes would: six seconds, once.
MANY = 8


@pytest.fixture(scope="session")
def skillkit_preload(request):
    """What the processes of ``skillkit_cli`` need not import again, which is most of their time: the modules of the plugins."""
    if len(request.session.items) < MANY:
        return ()
    packages = {"skillkit_core", *(e.module.partition(".")[0] for e in entry_points(group="skillkit.plugins"))}
    specs = [spec for name in sorted(packages) if (spec := find_spec(name))]
    modules = [m.name for s in specs for m in walk_packages(s.submodule_search_locations, f"{s.name}.")]
    return ("anthropic", "openai", *(m for m in modules if not m.startswith(RARE) and not m.endswith("__main__")))
