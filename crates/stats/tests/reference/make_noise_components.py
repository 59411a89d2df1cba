"""Makes the components of noise that `cargo xtask bench judge` draws from.

    python make_noise_components.py H200_NOISE_FOLDER OUTPUT_FOLDER

Input: samples in milliseconds of identical kernels, as recorded on one NVIDIA H200: six rounds with a process a side,
eight gated rounds of both sides in one process. Output: one line per pairing and kernel with its latency and, in percent
(standard deviations of the log latency), what differs between processes, between blocks of 12 calls of a process,
between samples of a block, between positions in a block, and the effect's own scatter over rounds. Written with the
standard library only.
"""
import json
import math
import pathlib
import statistics
import sys

from make_noise_excerpts import interquartile_mean

BLOCK = 12
# The first calls of a case still fill caches; calls twice as slow or fast as the middle one are no scatter.
FIRST = 4
OUTLIER = 0.5


def components(blocks):
    """Variances within blocks, between their means beyond that, and between positions."""
    columns = [[sample for sample in column if sample is not None] for column in zip(*blocks)]
    positions = [statistics.fmean(column) if column else 0.0 for column in columns]
    rest = [[sample - positions[place] for place, sample in enumerate(block) if sample is not None] for block in blocks]
    rest = [block for block in rest if len(block) > 1]
    within = statistics.fmean(statistics.variance(block) for block in rest)
    between = statistics.variance([statistics.fmean(block) for block in rest])
    sizes = statistics.fmean(len(block) for block in rest)
    return within, max(0.0, between - within / sizes), statistics.pvariance(positions)


def line(pairing, case, latencies, parts, effects):
    """`latencies` and `effects` are logarithms, a side and round each, and a round each."""
    process = statistics.fmean(statistics.variance(side) for side in latencies)
    within, between, position = (statistics.fmean(part) for part in zip(*parts))
    deviations = [process, between, within, position, statistics.variance(effects)]
    latency = math.exp(statistics.fmean(latencies[0] + latencies[1]))
    return "\t".join([pairing, case, f"{latency:.3f}"] + [f"{100 * math.sqrt(value):.4f}" for value in deviations])


def process(root):
    rounds = range(1, 7)
    read = {(number, side): json.loads((root / f"plain/p_{number}_{side}.json").read_text())["s"]
            for number in rounds for side in "AB"}
    for case in read[1, "A"]:
        latencies, parts = [[], []], []
        for place, side in enumerate("AB"):
            for number in rounds:
                logs = [math.log(1000.0 * sample) for sample in read[number, side][case][FIRST:]]
                middle = statistics.median(logs)
                logs = [log for log in logs if abs(log - middle) < OUTLIER]
                latencies[place].append(math.log(interquartile_mean([math.exp(log) for log in logs])))
                blocks = [logs[start:start + BLOCK] for start in range(0, len(logs) - BLOCK + 1, BLOCK)]
                within = statistics.fmean(statistics.variance(block) for block in blocks)
                between = statistics.variance([statistics.fmean(block) for block in blocks])
                parts.append((within, max(0.0, between - within / BLOCK), 0.0))
        effects = [a - b for a, b in zip(*latencies)]
        yield line("process", case, latencies, parts, effects)


def gated(root):
    rounds = range(1, 9)
    read = {number: json.loads((root / f"plain-gated/g_{number}.json").read_text())["s"] for number in rounds}
    for case in read[1]:
        latencies, parts = [[], []], []
        for place, side in enumerate("AB"):
            for number in rounds:
                sides = read[number][case]
                blocks = [[math.log(1000.0 * sample) if held else None for sample, held in zip(block, kept)]
                          for block, kept in zip(sides[side], sides["ok" + side])]
                columns = [[math.exp(log) for log in column if log is not None] for column in zip(*blocks)]
                means = [interquartile_mean(column) for column in columns if column]
                latencies[place].append(math.log(statistics.fmean(means)))
                parts.append(components(blocks))
        effects = [a - b for a, b in zip(*latencies)]
        yield line("duet", case, latencies, parts, effects)


def main():
    root, output = (pathlib.Path(argument) for argument in sys.argv[1:3])
    header = "pairing\tcase\tlatency_us\tprocess_pct\tblock_pct\tsample_pct\tposition_pct\teffect_pct"
    # The switch changes the matmuls: what they read is no noise.
    lines = [it for source in (process(root), gated(root)) for it in source if "\tmm/" not in it]
    (output / "h200-noise-components.tsv").write_text("\n".join([header] + lines) + "\n")


if __name__ == "__main__":
    main()
