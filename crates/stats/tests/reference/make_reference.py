"""Makes tests/data/reference.json: what scipy, numpy and R's limma say about random inputs.

    python make_reference.py OUTPUT          (needs numpy, scipy, Rscript with the Bioconductor package limma)

Nothing here is translated from the Rust code: distributions are scipy's, variances' priors limma's, adjustments
scipy's and a textbook Holm, and the campaign at the end is judged by a second implementation of docs/statistics.md.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy
import scipy
import scipy.optimize
from scipy import special, stats

HERE = pathlib.Path(__file__).parent
RANDOM = numpy.random.default_rng(20260910)


def limma(sets):
    """Runs limma's squeezeVar on {name: (variances, dfs, covariates or None)}."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "in.txt"), pathlib.Path(folder, "out.txt")
        with source.open("w") as file:
            print("set id variance df covariate", file=file)
            for name, (variances, dfs, covariates) in sets.items():
                for idx, (variance, df) in enumerate(zip(variances, dfs)):
                    covariate = "NA" if covariates is None else repr(float(covariates[idx]))
                    print(name, idx, repr(float(variance)), repr(float(df)), covariate, file=file)
        subprocess.run(["Rscript", HERE / "limma_reference.R", source, target], check=True)
        found = {name: {"prior_df": None, "prior": [], "posterior": []} for name in sets}
        for line in target.read_text().splitlines():
            name, _, prior_df, prior, posterior = line.split()
            found[name]["prior_df"] = None if prior_df == "Inf" else float(prior_df)
            found[name]["prior"].append(float(prior))
            found[name]["posterior"].append(float(posterior))
    return found


def student():
    cases = []
    for df in [0.5, 1, 1.7, 2, 3, 4.4, 7, 11, 29.3, 100, 640, 2500, 9999, 10001, 1e5, 1e6, math.inf]:
        for t in [1e-4, 0.03, 0.7, 1.5, 1.74, 2.2, 4.0, 9.0, 35.0]:
            tail = stats.norm.sf(t) if math.isinf(df) else stats.t.sf(t, df)
            cases.append({"df": None if math.isinf(df) else df, "t": t, "two_sided": 2 * tail})
    quantiles = []
    for df in [0.5, 1, 2, 3.3, 6, 15, 47.2, 300, 5e3, 1e6, math.inf]:
        for tail in [0.45, 0.05, 0.025, 0.05 / 48, 1e-6, 1e-10]:
            t = stats.norm.isf(tail) if math.isinf(df) else stats.t.isf(tail, df)
            quantiles.append({"df": None if math.isinf(df) else df, "tail": tail, "t": t})
    return {"tails": cases, "quantiles": quantiles}


def paired():
    cases = []
    for n in [2, 3, 4, 6, 12]:
        a = RANDOM.lognormal(3, 0.5, n)
        b = a * RANDOM.lognormal(0.02, 0.03, n)
        test = stats.ttest_rel(numpy.log(a), numpy.log(b))
        cases.append({
            "a": a.tolist(), "b": b.tolist(), "p": test.pvalue,
            "ci95": list(test.confidence_interval(0.95)), "ci90": list(test.confidence_interval(0.90)),
        })
    return cases


def moderated():
    sets, cases = {}, []
    shapes = [(3, None), (12, None), (60, None), (4, "trend"), (9, "trend"), (24, "trend"), (240, "trend")]
    for scatter in ["wide", "none"]:
        for n, trend in shapes:
            dfs = RANDOM.integers(1, 8, n).astype(float)
            covariate = RANDOM.normal(4, 2, n) if trend else None
            scale = 1e-6 * (numpy.exp(-0.5 * covariate + 0.05 * covariate**2) if trend else 1)
            if scatter == "wide":
                scale = scale * 5 / RANDOM.chisquare(5, n)
            variances = scale * RANDOM.chisquare(dfs) / dfs if scatter == "wide" else scale * RANDOM.uniform(0.9, 1.1, n)
            sets[f"{scatter}{n}{trend}"] = (variances, dfs, covariate)
    found = limma(sets)
    for name, (variances, dfs, covariate) in sets.items():
        cases.append({
            "name": name, "variances": variances.tolist(), "df": dfs.tolist(),
            "covariate": None if covariate is None else covariate.tolist(), **found[name],
        })
    return cases


def holm(p_values):
    n = len(p_values)
    order = sorted(range(n), key=lambda idx: p_values[idx])
    return [
        max(min(1.0, (n - rank) * p_values[other]) for rank, other in enumerate(order) if rank <= order.index(idx))
        for idx in range(n)
    ]


def adjusted():
    cases = []
    for n in [1, 2, 7, 40]:
        p_values = RANDOM.uniform(0, 1, n) ** 3
        cases.append({
            "p": p_values.tolist(), "holm": holm(p_values.tolist()),
            "benjamini_hochberg": stats.false_discovery_control(p_values, method="bh").tolist(),
        })
    return cases


def middle_mean(values):
    """Interquartile mean: with every value four times, a quarter is a whole number of values."""
    return stats.trim_mean(numpy.repeat(values, 4), 0.25)


def summaries():
    cases = []
    for n, length in [(1, 1), (7, 1), (480, 12), (475, 12), (30, 4)]:
        samples = RANDOM.lognormal(2, 0.2, n) + 0.3 * (numpy.arange(n) % length)
        means = [middle_mean(samples[position::length]) for position in range(min(n, length))]
        cases.append({"samples": samples.tolist(), "length": length, "latency": float(numpy.mean(means)),
                      "median": float(numpy.median(samples))})
    return cases


def gamma_derivatives():
    points = numpy.concatenate([RANDOM.uniform(0.01, 40, 30), [1e-3, 250.0, 1e5]])
    return [{"x": x, "trigamma": float(special.polygamma(1, x)), "tetragamma": float(special.polygamma(2, x))}
            for x in points.tolist()]


def bounds():
    return [{"hits": hits, "trials": trials,
             "upper": stats.binomtest(hits, trials, alternative="less").proportion_ci(0.95, "exact").high}
            for hits, trials in [(0, 12), (0, 40), (1, 40), (5, 40), (39, 40), (3, 500)]]


class Estimate:
    def __init__(self, effects, quantisation):
        self.effects, self.n = numpy.array(effects), len(effects)
        self.effect, self.quantisation = float(self.effects.mean()), quantisation
        self.variance, self.df, self.tau, self.controls = float(self.effects.var(ddof=1)), self.n - 1.0, 0.0, 0
        self.control_square = 0.0

    def error(self):
        return math.sqrt(self.variance / self.n + self.quantisation + self.tau)

    def total_df(self):
        parts = (self.variance / self.n) ** 2 / self.df
        if self.controls:
            # The variance of a mean of n squares, halved; see docs/statistics.md for the two bounds.
            unknown = min(self.control_square, self.error() ** 2) ** 2 / max(self.controls, 8)
            parts += max(unknown, self.tau * self.control_square / self.controls)
        return self.error() ** 4 / parts

    def p(self):
        return 2 * stats.t.sf(abs(self.effect) / self.error(), self.total_df())

    def ci(self):
        half = stats.t.isf(0.025, self.total_df()) * self.error()
        return [self.effect - half, self.effect + half]


def squeeze(estimates, prior, prior_df):
    total = sum(estimate.df for estimate in estimates)
    prior_df = min(math.inf if prior_df is None else prior_df, total) / 2
    for estimate, variance in zip(estimates, prior):
        estimate.variance = (prior_df * variance + estimate.df * estimate.variance) / (prior_df + estimate.df)
        estimate.df += prior_df


def linear_prior(estimates, x):
    """Smyth's moment estimates around a straight line in x, by numpy's least squares."""
    df = numpy.array([estimate.df for estimate in estimates])
    z = numpy.log([estimate.variance for estimate in estimates]) - special.digamma(df / 2) + numpy.log(df / 2)
    design = numpy.column_stack([numpy.ones_like(x), x])
    line = design @ numpy.linalg.lstsq(design, z, rcond=None)[0]
    excess = ((z - line) ** 2).sum() / (len(x) - 2) - special.polygamma(1, df / 2).mean()
    if excess <= 0:
        return numpy.exp(line), None
    # scipy's bracketing solver, on the logarithm of the unknown.
    solve = lambda log_y: float(special.polygamma(1, math.exp(log_y))) - excess
    half_df = math.exp(scipy.optimize.brentq(solve, -20, 25, xtol=1e-15, rtol=1e-15))
    return numpy.exp(line + special.digamma(half_df) - math.log(half_df)), 2 * half_df


def tau(controls, chosen):
    squares = [controls[idx].effect ** 2 - controls[idx].variance / controls[idx].n - controls[idx].quantisation
               for idx in chosen]
    found = max(0.0, sum(squares) / len(squares))
    mean_square = sum(controls[idx].effect ** 2 for idx in chosen) / len(squares)
    return found, mean_square, len(squares)


def campaign(bias):
    """A campaign with controls, judged a second way: all operators complete, one pairing, one timer, one band."""
    step = 0.032
    operators, case_estimates, unit_estimates = [], [], []
    for number in range(14):
        identical = number >= 8
        truth = 0.0 if identical else [0.0, 0.03, -0.02, 0.001, 0.0, 0.2, 0.0, -0.01][number]
        n_cases, n_rounds = int(RANDOM.integers(1, 6)), 4
        level = RANDOM.uniform(12, 95, n_cases)
        shared = RANDOM.normal(0, 1.5e-3, n_rounds)
        persistent = RANDOM.normal(0, bias)
        cases, own = [], []
        for place in range(n_cases):
            noise = RANDOM.normal(0, 0.02 / level[place], n_rounds)
            a = level[place] * RANDOM.lognormal(0, 0.01, n_rounds)
            b = a * numpy.exp(-(truth + persistent + shared + noise))
            cases.append({"case": f"case {place}", "a": a.tolist(), "b": b.tolist()})
            geometric = [stats.gmean(a), stats.gmean(b)]
            estimate = Estimate(numpy.log(a / b), step**2 * (geometric[0] ** -2 + geometric[1] ** -2) / 12)
            estimate.log_latency, estimate.identical = math.log(math.sqrt(geometric[0] * geometric[1])), identical
            own.append(estimate)
        case_estimates += own
        unit = Estimate(numpy.mean([estimate.effects for estimate in own], axis=0),
                        sum(estimate.quantisation for estimate in own) / n_cases**2)
        unit.cases, unit.identical = own, identical
        unit_estimates.append(unit)
        operators.append({"operator": f"op {number}", "identical": identical, "cases": cases})

    prior = limma({"cases": ([e.variance for e in case_estimates], [e.df for e in case_estimates],
                             [e.log_latency for e in case_estimates])})["cases"]
    for estimate, variance in zip(case_estimates, prior["prior"]):
        estimate.prior_variance = variance
    squeeze(case_estimates, prior["prior"], prior["prior_df"])
    x = numpy.array([math.log(sum(c.prior_variance for c in u.cases) / len(u.cases) ** 2) for u in unit_estimates])
    squeeze(unit_estimates, *linear_prior(unit_estimates, x))
    for estimates in (case_estimates, unit_estimates):
        controls = [estimate for estimate in estimates if estimate.identical]
        bias_found, square, count = tau(controls, range(len(controls)))
        for estimate in estimates:
            estimate.tau, estimate.control_square, estimate.controls = bias_found, square, count

    tested = [idx for idx, unit in enumerate(unit_estimates) if not unit.identical]
    adjusted_p = dict(zip(tested, holm([unit_estimates[idx].p() for idx in tested])))
    touched = [idx for idx, estimate in enumerate(case_estimates) if not estimate.identical]
    q = dict(zip(touched, stats.false_discovery_control([case_estimates[idx].p() for idx in touched]).tolist()))
    position = 0
    for number, (operator, unit) in enumerate(zip(operators, unit_estimates)):
        operator.update(effect=unit.effect, ci=unit.ci(), p=unit.p(), p_adjusted=adjusted_p.get(number))
        for case in operator["cases"]:
            estimate = case_estimates[position]
            case.update(effect=estimate.effect, ci=estimate.ci(), p=estimate.p(), q=q.get(position))
            position += 1
    # Sizes are compared as they are printed, in percent: -50 % is smaller than +60 %.
    control_cases = [abs(math.expm1(e.effect)) for e in case_estimates if e.identical]
    return {"resolution_us": step, "operators": operators, "tau": math.sqrt(unit_estimates[0].tau),
            "floor": math.log1p(float(numpy.quantile(control_cases, 0.95)))}


def main():
    reference = {
        "made_with": f"numpy {numpy.__version__}, scipy {scipy.__version__}, limma by R",
        "student": student(), "paired": paired(), "moderated": moderated(), "adjusted": adjusted(),
        "summaries": summaries(), "gamma_derivatives": gamma_derivatives(), "bounds": bounds(),
        "campaigns": [campaign(0.0), campaign(3e-3)],
    }
    pathlib.Path(sys.argv[1]).write_text(json.dumps(reference, indent=0) + "\n")


if __name__ == "__main__":
    main()
