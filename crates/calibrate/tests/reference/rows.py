"""Write rows.jsonl: rows with ties, groups, a cold start, a constant dimension and some labels.

    python3 crates/calibrate/tests/reference/rows.py

The same rows every time, with nothing but the standard library.
"""

import json
import math
import random
from pathlib import Path

ROWS = Path(__file__).with_name("rows.jsonl")
WEIGHTS = {
    "airline": (0.25, 0.35, 0.15, 0.25),
    "code": (0.2, 0.3, 0.3, 0.2),
    "finance": (0.2, 0.25, 0.1, 0.45),
}


def score(domain, dimensions, overrides):
    """The score as the specification has it."""
    value = sum(a * b for a, b in zip(dimensions, WEIGHTS[domain]))
    if "single-thought" in overrides:
        value = 0.1
    if "error-recovery" in overrides:
        value = min(1, value + 0.1)
    if "low-tool-diversity" in overrides:
        value = max(0, value - 0.1)
    return value


def row(number, chance, groups):
    """One row; the labels of a group are alike."""
    group = chance.randrange(len(groups))
    domain = ("code", "code", "airline", "finance")[group % 4]
    compared = number > 2
    success = chance.random() < 0.6
    confidence = chance.choice((0.7, 0.8, 0.9, 0.95))
    complexity = chance.choice((0.275, 0.4, 0.4, 0.525, 0.7))
    similarity = round(chance.betavariate(5, 3), 2) if compared else None
    # One domain has no tools.
    tools = 0.0 if domain == "finance" else chance.choice((0.1, 0.25, 0.5, 0.75))
    overrides = [
        name
        for name, share in (
            ("single-thought", 0.03),
            ("error-recovery", 0.1 * success),
            ("low-tool-diversity", 0.2 * (domain != "finance")),
        )
        if chance.random() < share
    ]
    novelty = 0.5 if similarity is None else 1 - similarity
    dimensions = (complexity, novelty, tools, confidence * (1 if success else 0.3))
    value = score(domain, dimensions, overrides)
    chosen = chance.random() < 1 / (1 + math.exp(-9 * (value - 0.45) - groups[group]))
    names = ("complexity", "novelty", "toolDiversity", "outcomeConfidence")
    return {
        "id": f"t{number}",
        "group": f"g{group}" if number % 25 else None,
        "domain": domain,
        "score": value,
        "dimensions": dict(zip(names, dimensions)),
        "overrides": overrides,
        "similarity": similarity,
        "noveltySource": "cache" if compared else "empty-cache",
        "success": success,
        "confidence": confidence,
        "isCut": chance.random() < 0.07,
        **({"label": chosen} if number % 10 else {}),
    }


def main():
    chance = random.Random(20260101)
    groups = [chance.gauss(0, 0.7) for _ in range(36)]
    lines = [json.dumps(row(number, chance, groups)) for number in range(1, 181)]
    ROWS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
