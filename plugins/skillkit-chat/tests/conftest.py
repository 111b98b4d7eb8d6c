"""A skill folder of these tests' own, so that the command runs with nothing but its declared neighbours."""

import pytest

SKILL = """\
---
name: echoes
description: Repeats words and shows what an action was called with. Use it to repeat or echo words.
metadata:
  skillkit:
    keywords: [echo, repeat, words]
    examples: ["repeat the words 'good morning'", "echo the words 'a b'", "make sure that it was asked for"]
    actions:
      - name: say
        description: Repeat words
        script: scripts/say.py
        output: json
        idempotent: true
        confirm: never
        args:
          text: {type: string, required: true, position: 1, description: the words to repeat}
          times: {type: integer, default: 1, minimum: 1, description: how often}
          ratio: {type: number, maximum: 9.5, description: any number}
          mood: {type: string, enum: [calm, cheerful], description: how it sounds}
          to: {type: string, pattern: "^[A-Z]", description: who hears it}
          loud: {type: boolean, description: in capitals}
          tags: {type: array, description: any words}
          extra: {type: json, description: any JSON}
      - name: fail
        description: End with a message and status 3
        script: scripts/fail.py
        output: json
        confirm: never
      - name: sure
        description: Make sure that it was asked for
        script: scripts/sure.py
        output: text
        confirm: always
      - name: wait
        description: Say something at once and then wait for ever
        script: scripts/wait.py
        output: text
        confirm: never
---
Repeats what it is told.
"""
SAY = """\
import argparse, json
p = argparse.ArgumentParser()
p.add_argument("text")
p.add_argument("--times", type=int, default=1)
p.add_argument("--ratio", type=float)
p.add_argument("--loud", action="store_true")
p.add_argument("--tags", nargs="*")
p.add_argument("--extra")
a = p.parse_args()
text = " ".join([a.text] * a.times)
print(json.dumps({"answer": text.upper() if a.loud else text, "got": vars(a)}))
"""
FAIL = "import sys\nsys.exit('this cannot be done, ask for something else')\n"
SURE = "print('it was asked for')\n"
WAIT = "import sys, time\nprint('started', flush=True)\ntime.sleep(1000)\n"


@pytest.fixture
def echoes(skillkit_home):
    folder = skillkit_home.config_dir / "skills" / "echoes"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    for name, text in (("say", SAY), ("fail", FAIL), ("sure", SURE), ("wait", WAIT)):
        (folder / "scripts" / f"{name}.py").write_text(text)
    return folder
