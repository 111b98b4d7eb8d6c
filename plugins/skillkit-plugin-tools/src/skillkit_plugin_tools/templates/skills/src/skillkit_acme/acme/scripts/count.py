"""count.py FILE: print one JSON object; an error is a line on stderr, and status 1."""

import json
import sys
from pathlib import Path

file = sys.argv[1]
try:
    words = len(Path(file).read_text(encoding="utf-8").split())
except (OSError, UnicodeDecodeError) as error:
    sys.exit(f"{file} cannot be read as text: {error}")
print(json.dumps({"answer": f"{file} has {words} words", "words": words}))
