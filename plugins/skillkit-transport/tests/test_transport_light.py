"""A plugin of a stranger finds an SDK that was imported light as Python would have imported it."""

import subprocess
import sys

SDK = {
    "__init__.py": """
import time
time.sleep(0.1)
from . import types
from ._client import Client
runs = globals().get("runs", 0) + 1
time.sleep(0.1)
key, Patched = None, Client
__all__ = ["Client", "Patched", "key", "last"]
last = runs
""",
    "_client.py": "from . import types\nclass Client: pass",
    "types/__init__.py": "from .big_thing import BigThing",
    "types/big_thing.py": "class BigThing: pass",
}
START = "from skillkit_transport.light import import_light; sdk = import_light('tiny_sdk')\n"


def run(folder, source, start=START):
    for name, text in SDK.items():
        (folder / "tiny_sdk" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tiny_sdk" / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", start + source], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_what_a_stranger_sets_in_a_package_is_not_lost_when_its_init_runs(tmp_path):
    source = """
from unittest import mock
sdk.key = "mine"
sdk.types.BigThing = None
print(sdk.key, sdk.last, sdk.types.BigThing)
with mock.patch("tiny_sdk.Client") as patched:
    print(sdk.Client is patched, sdk.Patched is not patched)
"""
    assert run(tmp_path, source) == ["mine", "1", "None", "True", "True"]


def test_threads_that_ask_at_once_run_the_init_once_and_find_all_of_it(tmp_path):
    source = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
together = Barrier(4)
def ask(name):
    together.wait()
    return getattr(sdk, name)
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(ask, ["last", "Patched", "__all__", "key"]))
print(found[0], found[1] is sdk.Client, len(found[2]), found[3], sdk.runs)
"""
    assert run(tmp_path, source) == ["1", "True", "4", "None", "1"]


def test_a_thread_that_imports_the_sdk_already_is_waited_for(tmp_path):
    start = """
import time
from concurrent.futures import ThreadPoolExecutor
from skillkit_transport.light import import_light
def plain():
    import tiny_sdk
    return tiny_sdk.Patched
def light():
    time.sleep(0.05)
    return import_light("tiny_sdk").Client
"""
    source = """
with ThreadPoolExecutor(2) as pool:
    found = [one.result() for one in [pool.submit(plain), pool.submit(light)]]
print(found[0] is found[1])
"""
    assert run(tmp_path, source, start) == ["True"]


def test_a_package_lists_all_of_its_names(tmp_path):
    source = "print({'key', 'Client'} <= set(dir(sdk)), 'BigThing' in dir(sdk.types), hasattr(sdk, 'nothing'))"
    assert run(tmp_path, source) == ["True", "True", "False"]
