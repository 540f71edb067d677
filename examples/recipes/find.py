"""Finds earlier runs by words: python3 find.py SESSIONS WORD...

A passage is a prompt, or what follows it up to the next one. Keywords over passages find twice as many as similar() does.
"""

import json
import sqlite3
import subprocess
import sys
from itertools import groupby

sessions, *words = sys.argv[1:]
form = ["--as", "messages", "--no-redact", "--assume-success", "true"]
command = ["kp-score", "import", "--quiet", *form, "--", sessions]
index = sqlite3.connect(":memory:")
index.execute("CREATE VIRTUAL TABLE passages USING fts5(id UNINDEXED, text)")
with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as found:
    for run in map(json.loads, found.stdout):
        for _, passage in groupby(run["messages"], lambda message: message["role"] == "user"):
            text = "\n".join(message["content"] for message in passage)
            parts = [text[at : at + 900] for at in range(0, len(text), 900)]
            rows = [(run["metadata"]["id"], part) for part in parts]
            index.executemany("INSERT INTO passages VALUES (?, ?)", rows)
query = " OR ".join('"{}"'.format(word.replace('"', '""')) for word in words)
best = {}
for run, text in index.execute("SELECT * FROM passages(?) ORDER BY rank", [query]):
    best.setdefault(run, text)
for run, text in list(best.items())[:10]:
    print(run, " ".join(text.split())[:80])
