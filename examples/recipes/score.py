"""Scores traces from another language: they go to kp-score as lines of JSON, and rows come back."""

import json
import subprocess
import sys


def scores(traces):
    """Returns a row for each trace, in order."""
    lines = "".join(json.dumps(trace) + "\n" for trace in traces)
    command = ["kp-score", "score", "-", "--from", "reasoning-trace", "--json", "--quiet"]
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=True)
    # A text may have other line breaks, such as U+2028, at which splitlines() splits.
    return [json.loads(line) for line in done.stdout.split("\n") if line]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        for row in scores(json.loads(line) for line in file):
            print(f"{row['score']:.3f} {row['objective']}")
