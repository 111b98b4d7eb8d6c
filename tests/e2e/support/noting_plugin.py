"""A plugin of these tests' own: writes down every event of every agent, in whichever front end.

``NOTED`` names the file, ``SETTLED`` a pipe whose reader is told that the run is over.
"""

import json
import os

from skillkit_core import event_to_dict, hookimpl


@hookimpl
def event(event):
    with open(os.environ["NOTED"], "a") as file:
        file.write(json.dumps(event_to_dict(event)) + "\n")
    if event.type == "agent_settled" and "SETTLED" in os.environ:
        with open(os.environ["SETTLED"], "w") as pipe:
            pipe.write("settled")
