"""A plugin that does in a hook what no plugin should: ``RUDE=kbd-turn_start`` says what, and in which hook."""

import asyncio
import logging
import os
import sys
from pathlib import Path

from skillkit_core import hookimpl

WHAT, _, WHERE = os.environ.get("RUDE", "").partition("-")


def rude(hook):
    if WHERE not in (hook, "all"):
        return
    if WHAT == "print":
        print(f"printed in {hook}")
    elif WHAT == "warn":
        logging.getLogger("rude").warning("warned in %s", hook)
    elif WHAT == "begin":
        print(f"begun in {hook}", end="", flush=True)
    elif WHAT == "write":
        os.write(1, f"written in {hook}\n".encode())
        print(f"printed in {hook}", file=sys.__stdout__, flush=True)
    elif WHAT == "kbd":
        raise KeyboardInterrupt
    elif WHAT == "leave":
        raise SystemExit(3)
    elif WHAT == "cancel":
        for task in asyncio.all_tasks():
            task.cancel()
    elif WHAT == "loop":
        Path("looping").touch()
        while True:
            pass


@hookimpl
def host_started(host):
    rude("host_started")


@hookimpl
def register_tools(register):
    rude("register_tools")


@hookimpl
def register_commands(register):
    rude("register_commands")


@hookimpl
def register_skill_sources(register):
    rude("register_skill_sources")


@hookimpl
def session_start(event):
    rude("session_start")


@hookimpl
def turn_start(event):
    rude("turn_start")


@hookimpl
def message_update(event):
    rude("message_update")


@hookimpl
def turn_end(event):
    rude("turn_end")


@hookimpl
async def agent_end(event):
    rude("agent_end")


@hookimpl
def host_shutdown(host):
    rude("host_shutdown")
