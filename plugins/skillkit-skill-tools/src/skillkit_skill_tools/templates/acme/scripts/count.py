"""count.py TEXT: print one JSON object; an error is a line on stderr, and status 1."""

import json
import sys

words = len(sys.argv[1].split())
if not words:
    sys.exit("the text has no words")
print(json.dumps({"answer": f"{words} words", "words": words}))
