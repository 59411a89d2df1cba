"""Makes the excerpts of real measurements that the tests of switchback-stats judge.

    python make_noise_excerpts.py H200_NOISE_FOLDER OUTPUT_FOLDER

Input: samples in milliseconds, as recorded on one NVIDIA H200. Output: one line per case and round with the latency of
either side in microseconds. Written with the standard library only.

Latency of a gated row: interquartile mean at each position in the block, then the mean over positions. FlagGems rows
and plain events have no recorded position: interquartile mean of all samples.
"""
import json
import pathlib
import sys


def interquartile_mean(values):
    values = sorted(values)
    n = len(values)
    total = 0.0
    for idx, value in enumerate(values):
        total += value * max(0.0, min(idx + 1, 0.75 * n) - max(idx, 0.25 * n))
    return total / (0.5 * n)


def by_position(blocks):
    """Blocks of equal length, `None` where a sample was dropped."""
    columns = [[sample for sample in column if sample is not None] for column in zip(*blocks)]
    means = [interquartile_mean(column) for column in columns if column]
    return sum(means) / len(means)


def microseconds(milliseconds):
    return repr(1000.0 * milliseconds)


def plain_process(root):
    for round_number in range(1, 7):
        sides = [json.loads((root / f"plain/p_{round_number}_{side}.json").read_text())["s"] for side in "AB"]
        for case in sides[0]:
            yield "plain-process", case.split("/")[0], case, round_number, *[
                interquartile_mean(side[case]) for side in sides
            ]


def flatten(value):
    if isinstance(value, list):
        for item in value:
            yield from flatten(item)
    else:
        yield value


def plain_duet(root):
    for round_number in range(1, 7):
        cases = json.loads((root / f"plain/d_{round_number}.json").read_text())["s"]
        for case, sides in cases.items():
            yield "plain-duet", case.split("/")[0], case, round_number, *[
                interquartile_mean(list(flatten(sides[side]))) for side in "AB"
            ]


def plain_gated(root):
    for round_number in range(1, 9):
        cases = json.loads((root / f"plain-gated/g_{round_number}.json").read_text())["s"]
        for case, sides in cases.items():
            kept = []
            for side in "AB":
                blocks = []
                for block, held in zip(sides[side], sides["ok" + side]):
                    blocks.append([sample if ok else None for sample, ok in zip(block, held)])
                kept.append(blocks)
            yield "plain-gated", case.split("/")[0], case, round_number, *[by_position(side) for side in kept]


def rows(path):
    """Rows of the last run in a file: an earlier one that was cut off may stand before it."""
    runs = [[]]
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if event["ev"] == "import":
            runs.append([])
        if event["ev"] == "row":
            runs[-1].append(event)
    return {event["row"]: event["s"] for event in runs[-1]}


def flaggems(root, operator, kind, campaign, name):
    for round_number in range(1, 4):
        path = root / f"flaggems/{kind}/{operator}_{name}_{round_number}.jsonl"
        for row, sides in rows(path).items():
            yield campaign, operator, f"row {row}", round_number, *[interquartile_mean(sides[side]) for side in "AB"]


def flaggems_process(root, operator, rounds):
    for round_number in rounds:
        sides = [rows(root / f"flaggems/direct/{operator}_{side}_{round_number}.jsonl") for side in "AB"]
        for row in sides[0]:
            if row in sides[1]:
                yield "flaggems-process", operator, f"row {row}", round_number, *[
                    interquartile_mean(one[row][name]) for one, name in zip(sides, "AB")
                ]


def main():
    root, output = (pathlib.Path(argument) for argument in sys.argv[1:3])
    lines = ["campaign\toperator\tcase\tround\ta_us\tb_us"]
    for source in (
        plain_process(root),
        plain_duet(root),
        plain_gated(root),
        flaggems(root, "sort", "gated", "flaggems-gated", "gate"),
        flaggems(root, "mm", "gated", "flaggems-gated", "gate"),
        flaggems(root, "sort", "direct", "flaggems-duet", "D"),
        flaggems_process(root, "sort", (1, 2, 3)),
        flaggems_process(root, "mm", (2, 3)),
    ):
        for campaign, operator, case, round_number, a, b in source:
            lines.append("\t".join([campaign, operator, case, str(round_number), microseconds(a), microseconds(b)]))
    (output / "h200-noise-excerpts.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
