"""Benchmark classes of FlagGems that write their inputs into the class, and how a shape of a file becomes an input.

An entry names the class and the fields of a shape; the inputs themselves are made by the benchmark's own code, which is
given one shape in the place of its list. A shape is a list in the order of the fields, later ones may be left out; or a
mapping with the fields' names. Classes that keep their list in `self.shapes` need no entry, whatever fills it.
"""

import dataclasses
import itertools
import sys


class Registered:
    """A class and how its inputs are made: `make(bench, shape, dtype)` gives the inputs of one shape."""

    def __init__(self, name, fields, make):
        self.name = name
        self.fields = fields
        self._make = make

    def make(self, bench, shape, dtype):
        """Inputs of one shape.

        Raises `ValueError` for a shape that is not of the class's form.
        """
        return self._make(self, bench, shape, dtype)

    def named(self, shape):
        """A shape as a mapping of its fields."""
        if not isinstance(shape, dict):
            values = shape if isinstance(shape, tuple) else (shape,)
            if len(values) > len(self.fields):
                raise ValueError(f"`{self.name}` takes a shape of {self._form()}, got {len(values)} values")
            shape = dict(zip(self.fields, values))
        unknown = [name for name in shape if name not in self.fields]
        if unknown:
            raise ValueError(f"`{self.name}` takes a shape of {self._form()}, not `{unknown[0]}`")
        return shape

    def listed(self, shape, least=None):
        """A shape as a tuple in the order of the fields, with at least so many of them."""
        named = self.named(shape)
        present = [name for name in self.fields if name in named]
        if len(present) < (len(self.fields) if least is None else least) or present != list(
            self.fields[: len(present)]
        ):
            raise ValueError(f"`{self.name}` takes a shape of {self._form()}, got `{shape}`")
        return tuple(named[name] for name in present)

    def _form(self):
        return "`" + ", ".join(self.fields) + "`"


def of(found, base):
    """The entry of a class or of its nearest registered ancestor; None without one."""
    for one in found.__mro__:
        if one is base:
            return None
        if one.__name__ in REGISTRY:
            return REGISTRY[one.__name__]
    return None


# Ways in which a class can be given a shape.


def through_input_fn(entry, bench, shape, dtype):
    """A list within `get_input_iter`, whose shapes go to the input function that the test handed over."""
    return bench.input_fn(entry.listed(shape), dtype, bench.device)


def any_rank_through_input_fn(entry, bench, shape, dtype):
    """The same where shapes have no fixed number of fields."""
    return bench.input_fn(shape, dtype, bench.device)


def through_attribute(name, value):
    """A list that is an attribute of the benchmark: `value(entry, shape)` takes its place for the time."""

    def make(entry, bench, shape, dtype):
        return replaced(bench, name, [value(entry, shape)], bench, dtype)

    return make


def through_global(name, value):
    """A name of the benchmark's module, replaced by `value(entry, shape)` for the time."""

    def make(entry, bench, shape, dtype):
        return replaced(module_of(bench), name, value(entry, shape), bench, dtype)

    return make


def through_parameters(method, settle):
    """A dataclass `TestParam` that a static method turns into inputs; `settle(fields)` adds what a shape implies."""

    def make(entry, bench, shape, dtype):
        parameter = module_of(bench).TestParam
        known = {field.name for field in dataclasses.fields(parameter)}
        found = {name: value for name, value in settle(entry.named(shape)).items() if name in known}
        return getattr(bench, method)(parameter(**found))

    return make


def replaced(owner, name, value, bench, dtype):
    """The benchmark's own inputs while one name of an object has another value."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield from bench.get_input_iter(dtype)
    finally:
        setattr(owner, name, before)


def module_of(bench):
    """The module that defines the benchmark's class."""
    return sys.modules[type(bench).__module__]


# What follows from a shape where a class's own list says more than sizes.


def resampled(entry, shape):
    """Sizes in and out, whether corners are aligned, and the label that the class gives each."""
    shape = entry.listed(shape, least=6)
    corners = shape[6] if len(shape) > 6 else False
    return (*shape[:6], corners, "of the shape file")


def product_of_one(entry, shape):
    """`itertools.product` with one shape in the place of its first argument."""
    shape = entry.listed(shape)
    return lambda _shapes, *others: itertools.product([shape], *others)


def sparse_attention(found):
    """The class's own cases all have an attention sink."""
    return {"have_attn_sink": True, **found}


def cached_attention(found):
    """Sparse decoding reads an 8-bit cache, of two kinds by its width; without `topk` it is dense."""
    if not found.get("topk"):
        return {"is_fp8": False, **found}
    settled = {"is_fp8": True, "have_attn_sink": True}
    if found.get("d_qk") == 512:
        settled.update(num_pages=512, have_topk_length=True, use_out=True)
    return {**settled, **found}


def inserted_tokens(found):
    """Every token is inserted, into blocks of the class's own size."""
    settled = {"num_tokens_insert": found.get("num_tokens"), "block_size": 64, "max_pos": 4096, "eps": 1e-6}
    return {**settled, **found}


SCALES = {
    "scalar_only": ("scalar", "scalar"),
    "vector_only": ("vector", "vector"),
    "scalar_and_vector": ("scalar", "vector"),
    "block": ("matrix", "matrix"),
}
"""Kinds of both scales by what the class calls its dtypes."""


def scaled_product(entry, bench, shape, dtype):
    """One product, with the scales that the class's dtype stands for; the class itself draws its cases at random."""
    found = {"use_bias": False, "in_dtype": "float8_e4m3fn", **entry.named(shape)}
    missing = [name for name in ("M", "N", "K") if name not in found]
    if missing:
        raise ValueError(f"`{entry.name}` takes a shape of `M, N, K`, without `{missing[0]}` there is none")
    if dtype == "block" and (found["M"] % 4 or found["use_bias"]):
        raise ValueError(f"`{entry.name}` scales blocks of M in multiples of 4 without a bias, got `{shape}`")
    torch = sys.modules["torch"]
    found["in_dtype"] = getattr(torch, str(found["in_dtype"]))
    found["out_dtype"] = torch.float16 if found["in_dtype"] is torch.int8 else torch.bfloat16
    found["a_scale_category"], found["b_scale_category"] = SCALES[dtype]
    return replaced(bench.kit, f"{dtype}_params", [found], bench, dtype)


def _registry():
    one = ("N", "C", "L")
    two = ("N", "C", "H", "W")
    three = ("N", "C", "D", "H", "W")
    conv = ("C_out", "K_h", "K_w", "stride", "padding")
    resample = ("N", "C", "H", "W", "H_out", "W_out", "align_corners")
    factored = through_global("LINALG_LU_FACTOR_SHAPE", lambda _, shape: [list(shape)])
    entries = [
        ("AdaptiveAvgPool1dBenchmark", one, through_input_fn),
        ("AdaptiveAvgPool2dBenchmark", two, through_input_fn),
        ("AvgPool1dBenchmark", one, through_input_fn),
        ("AvgPool2dBenchmark", two, through_input_fn),
        ("AvgPool3dBenchmark", three, through_input_fn),
        ("MaxPool2dBenchmark", two, through_input_fn),
        ("MaxPool3dBenchmark", three, through_input_fn),
        ("MaxPool3dBackwardBenchmark", three, through_input_fn),
        ("Conv1DPaddingBenchmark", (*one, "C_out", "K", "stride", "padding", "groups"), through_input_fn),
        ("Conv2DPaddingBenchmark", (*two, *conv, "groups"), through_input_fn),
        (
            "Conv3DPaddingBenchmark",
            (*three, "C_out", "K_d", "K_h", "K_w", "stride", "padding", "groups"),
            through_input_fn,
        ),
        ("ConvTranspose1dBenchmark", (*one, "C_out", "K", "stride", "padding", "groups"), through_input_fn),
        ("ConvolutionModeBenchmark", (*two, *conv, "dilation", "groups"), through_input_fn),
        ("CudnnConv2dBenchmark", (*two, *conv, "groups"), through_input_fn),
        ("NLLLossNDBenchmark", (), any_rank_through_input_fn),
        ("RnnReluBenchmark", ("sequence", "batch", "size"), through_input_fn),
        ("ScaledSoftmaxBenchmark", ("batch", "heads", "queries", "keys"), through_input_fn),
        ("UpsampleBicubic2dAaBackwardBenchmark", resample, through_attribute("_cfgs", resampled)),
        ("UpsampleBilinear2dAaBackwardBenchmark", resample, through_attribute("_cfgs", resampled)),
        ("LinalgLuFactorBenchmark", (), factored),
        ("LinalgLuFactorOutBenchmark", (), factored),
        (
            "FP8PagedMQACompareBenchmark",
            ("batch", "next_n", "heads", "head_dim", "average_kv"),
            through_global("product", product_of_one),
        ),
        (
            "FlashmlaSparseBenchmark",
            ("s_q", "s_kv", "topk", "h_q", "d_qk", "h_kv", "d_v", "have_attn_sink", "have_topk_length"),
            through_parameters("make_input_flashmla", sparse_attention),
        ),
        (
            "FlashMLAWithKVCacheBenchmark",
            (
                *("batch", "topk", "seqlen", "h_q", "d_qk", "h_kv", "d_v", "page_block_size", "num_pages", "is_fp8"),
                *("have_attn_sink", "have_topk_length", "extra_topk", "extra_page_block_size", "extra_num_pages"),
                *("use_out", "causal"),
            ),
            through_parameters("make_input", cached_attention),
        ),
        (
            "FusedDeepseekV4QnormRopeKVRopeQuantInsertBenchmark",
            ("num_tokens", "num_heads", "block_size", "max_pos", "eps", "num_tokens_insert"),
            through_parameters("make_input", inserted_tokens),
        ),
        ("CutlassScaledMMBenchmark", ("M", "N", "K", "use_bias", "in_dtype"), scaled_product),
    ]
    return {name: Registered(name, fields, make) for name, fields, make in entries}


REGISTRY = _registry()
"""Entries by the class's name."""
