"""Operators of the triton suite with their dtypes and shapes; imports nothing, so that listing needs no card.

Shapes reach from launch-bound (some microseconds) to bandwidth- or compute-bound on one card; none needs more than
half a gigabyte.
"""

FLOATS = ("float16", "float32")
SIZES = ((1 << 14,), (1 << 18,), (1 << 22,), (1 << 26,))
ROWS = ((128, 256), (1024, 1024), (4096, 4096))
SQUARES = ((256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048))


class Operator:
    """One operator of the suite."""

    def __init__(self, name, dtypes, shapes, detail, module=None):
        self.name = name
        self.module = module or name
        self.dtypes = dtypes
        self.shapes = shapes
        self.detail = detail


OPERATORS = (
    Operator("add", FLOATS, SIZES, "elementwise, bound by memory"),
    Operator("add_autotuned", FLOATS, SIZES[1:], "the same, block and warps chosen by the tuner"),
    Operator("gelu", ("float16", "bfloat16", "float32"), SIZES, "elementwise with the error function"),
    Operator("softmax", FLOATS, ROWS, "one row a program"),
    Operator("layer_norm", FLOATS, ROWS, "one row a program, two reductions"),
    Operator("matmul", FLOATS, SQUARES, "tiles through `tl.dot`, chosen by the tuner"),
    Operator("matmul_default", FLOATS[1:], SQUARES, "the same, float32 as precise as the compiler's default"),
    Operator("sort", FLOATS, ((64, 64), (1024, 256), (1024, 1024)), "bitonic, one row a program"),
    Operator("topk", FLOATS, ((128, 256), (1024, 512), (1024, 1024)), "the 16 largest of a row, in order"),
    Operator("cumsum", FLOATS, ((128, 256), (1024, 1024), (4096, 2048)), "scan along rows"),
    Operator("dropout", FLOATS, SIZES, "Philox random numbers with a fixed seed"),
)


def operator(name):
    """An operator by name, None if there is no such."""
    return next((one for one in OPERATORS if one.name == name), None)
