"""Outputs on the host: one digest by every way, no bit passed over, and the driver asked for what is right."""

import hashlib
import math

import libcuda
import pytest
import torch
import triton
from torch import card

from switchback_probe import compare, distance, driver_memory, host_parts
from switchback_probe.host_parts import HostParts

PART = 1 << 12
"""A small one, so that the stand-in's numbers have many."""
SHARED_CACHE = True


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(host_parts, "PART_BYTES", PART)
    monkeypatch.setattr(distance, "PART", PART // 16)


class Card:
    """The driver's library as the probe loads it, and what was told."""

    def __init__(self, monkeypatch, failing=None, after=0):
        self.library, self.told = libcuda.Library(failing, after), []
        monkeypatch.setattr(driver_memory.ctypes, "CDLL", lambda name: self.library)
        monkeypatch.setattr(driver_memory.compat, "target_backend", lambda triton: "cuda:90")
        self.memory = driver_memory.DriverMemory(triton, torch.cuda)

    def parts(self, threads=None):
        return HostParts(lambda: self.memory, lambda *told: self.told.append(told), threads)


def filled(count, dtype=torch.float16, seed=0):
    torch.manual_seed(seed)
    return torch.randn(count, dtype=dtype)


def flip(tensor, place):
    address = tensor.data_ptr() + place
    host_parts.ctypes.c_ubyte.from_address(address).value ^= 1 << place % 8


def bits(tensor):
    return host_parts.ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def by_definition(tensors):
    total = hashlib.sha256()
    for tensor in tensors:
        total.update(f"{tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found = bits(tensor)
        for start in range(0, len(found), PART):
            total.update(hashlib.sha256(found[start : start + PART]).digest())
    return f"sha256-tree:{total.hexdigest()}"


COUNTS = [0, 1, PART // 2, PART // 2 + 1, 7 * PART // 4, 20 * PART // 2 - 1]


def test_the_digest_is_one_by_every_way_and_any_number_of_threads(monkeypatch):
    tensors = [filled(count, seed=count) for count in COUNTS] + [filled((3, PART), torch.complex64)]
    for chosen in [[tensor] for tensor in tensors] + [tensors, []]:
        wanted = by_definition(chosen)
        for threads in (None, 1, 2, 5, 8):
            assert HostParts(threads=threads).digest(chosen) == wanted
            assert Card(monkeypatch).parts(threads).digest(chosen) == wanted


def test_shape_and_dtype_are_part_of_the_digest():
    parts, one = HostParts(), filled(64)
    other = torch.Tensor((8, 8), torch.float16, one._memory)
    third = torch.Tensor((64,), torch.int16, one._memory)
    assert bits(one) == bits(other) == bits(third)
    assert len({parts.digest([tensor]) for tensor in (one, other, third)}) == 3
    assert parts.equal([one], [one]) and not parts.equal([one], [other]) and not parts.equal([one], [third])
    assert not parts.equal([one], [one, one])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_one_changed_bit_in_any_part_is_seen(monkeypatch, threads):
    one, other = filled(COUNTS[-1]), filled(COUNTS[-1])
    for parts in (HostParts(threads=threads), Card(monkeypatch).parts(threads)):
        whole = parts.digest([one])
        assert parts.equal([one], [other]) and parts.digest([other]) == whole
        last = one.numel() * 2 - 1
        for place in [*range(0, last, PART), *range(PART - 1, last, PART), last]:
            flip(other, place)
            assert not parts.equal([one], [other]) and parts.digest([other]) != whole, place
            flip(other, place)


def test_the_driver_is_asked_for_each_part_into_memory_that_is_given_back(monkeypatch):
    there, tensor, threads = Card(monkeypatch), filled(COUNTS[-1]), 3
    parts = there.parts(threads)
    parts.digest([tensor])
    length = tensor.numel() * 2
    reads = there.library.asked("cuMemcpyDtoH_v2")
    assert [(source - tensor.data_ptr(), size) for _, source, size in reads] == [
        (start, min(PART, length - start)) for start in range(0, length, PART)
    ]
    allocated = there.library.asked("cuMemHostAlloc")
    assert {(size, flags) for _, size, flags in allocated} == {(PART, 0)}
    assert {to for to, *_ in reads} == set(there.library.given) and len(allocated) <= threads + 1
    parts.equal([tensor], [tensor])
    for _ in range(20):
        parts.digest([tensor])
    # Allocated once and kept.
    assert len(there.library.asked("cuMemHostAlloc")) <= 2 * (threads + 1)
    parts.release()
    assert not there.library.given and len(there.library.asked("cuMemFreeHost")) <= 2 * (threads + 1)
    (told,) = there.told
    assert told[0] and "`cuMemcpyDtoH`" in told[1] and "3 threads" in told[1]


def test_a_copy_waits_for_what_is_queued(monkeypatch):
    there, tensor = Card(monkeypatch), filled(64)
    card.enqueue(1e6)
    assert there.parts().digest([tensor]) == by_definition([tensor])
    assert "argtypes" in vars(there.library.cuMemcpyDtoH_v2)


@pytest.mark.parametrize("failing", ["cuMemcpyDtoH_v2", "cuMemHostAlloc"])
@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_copy_that_fails_is_torchs_and_said(monkeypatch, failing, after):
    there, tensor = Card(monkeypatch, failing, after), filled(COUNTS[-1])
    parts = there.parts(8)
    assert parts.digest([tensor, tensor]) == by_definition([tensor, tensor])
    assert parts.equal([tensor], [tensor]) and distance.largest_of([tensor], [tensor], parts) == 0.0
    if len(there.library.asked(failing)) > after:
        name = failing.removesuffix("_v2")
        assert [available for available, _ in there.told] == [True, False]
        assert f"by torch from here on: RuntimeError: `{name}` gave status 1" in there.told[1][1]
    else:
        assert failing == "cuMemHostAlloc" and len(there.told) == 1, "few buffers were enough"
    parts.release()
    assert not there.library.given


def test_a_back_end_without_a_way_past_torch_says_so(monkeypatch):
    there, tensor = Card(monkeypatch), filled(COUNTS[-1])
    there.memory.fault = "no way past torch is known for `musa`"
    assert there.parts(2).digest([tensor]) == by_definition([tensor])
    assert there.told == [(True, "by torch, for 2 threads; not past torch: no way past torch is known for `musa`")]
    assert not there.library.calls


def strided(shape, strides, seed=1):
    found = torch.empty_strided(shape, strides, dtype=torch.float16)
    reach = 1 + sum((size - 1) * step for size, step in zip(shape, strides))
    host_parts.ctypes.memmove(found.data_ptr(), filled(reach, seed=seed).data_ptr(), 2 * reach)
    return found


def test_another_order_in_memory_is_the_same_tensor(monkeypatch):
    for shape, strides in [((70, 90), (1, 70)), ((70, 90), (100, 1)), ((5, 64, 40), (40, 200, 1)), ((64, 40), (0, 1))]:
        there, tensor = Card(monkeypatch), strided(shape, strides)
        wanted = by_definition([tensor.contiguous()])
        del card.launched[:]
        assert there.parts().digest([tensor]) == wanted
        assert not card.launched, "gathered on the host, where nobody stands in"
        assert HostParts().digest([tensor]) == wanted and card.launched == ["contiguous"]
    # Mostly gaps: torch gathers it.
    there, wide = Card(monkeypatch), strided((70, 3), (90, 1))
    wanted = by_definition([wide.contiguous()])
    del card.launched[:]
    assert there.parts().digest([wide]) == wanted and card.launched == ["contiguous"]
    there, tensor = Card(monkeypatch, "cuMemcpyDtoH_v2"), strided((70, 90), (1, 70))
    assert there.parts().digest([tensor]) == by_definition([tensor.contiguous()])
    assert [available for available, _ in there.told] == [True, False]


def test_inputs_are_kept_and_put_back_past_torch(monkeypatch):
    there, tensor, other = Card(monkeypatch), filled(100), strided((70, 90), (1, 70))
    monkeypatch.setattr(torch.Tensor, "clone", lambda found: pytest.fail("torch copied"))
    before = bits(tensor)
    snapshot = compare.Snapshot.of([tensor], there.memory)
    flip(tensor, 7)
    snapshot.restore(there.memory)
    assert bits(tensor) == before
    (kept, source, size, stream), (to, again, *_) = there.library.asked("cuMemcpyDtoDAsync_v2")
    assert (source, to, size, stream, again) == (tensor.data_ptr(), tensor.data_ptr(), 200, 0, kept)
    monkeypatch.setattr(torch.Tensor, "clone", lambda found: found)
    compare.Snapshot.of([tensor, filled(0)], there.memory).restore(there.memory)
    assert [size for *_, size, _ in there.library.asked("cuMemcpyDtoDAsync_v2")] == [200] * 4, "nothing of an empty one"
    # What the driver cannot copy by its bits alone is torch's to copy.
    monkeypatch.setattr(torch.Tensor, "clone", lambda found: "torch's")
    lazy = filled(4)
    lazy.is_conj = lambda: True
    assert [compare.copied(one, there.memory) for one in (other, lazy)] == ["torch's"] * 2
    there.memory.fault = "none"
    assert compare.copied(tensor, there.memory) == compare.copied(tensor, None) == "torch's"


@pytest.mark.parametrize("threads", [1, 4])
def test_no_element_is_passed_over(monkeypatch, threads):
    count = 3 * PART // 4 + 5
    base = [float(index % 7) for index in range(count)]

    def tensor(values, dtype):
        found = torch.empty((count,), dtype=dtype)
        found.write(values)
        return found

    one, other = tensor(base, torch.float32), torch.empty((count,), dtype=torch.float16)
    for parts in (HostParts(threads=threads), Card(monkeypatch).parts(threads)):
        for place in (0, PART // 16 - 1, PART // 16, PART // 4 - 1, PART // 4, PART // 2 + 3, count - 1):
            for value, wanted in ((base[place] + 3.0, 0.5), (math.inf, math.inf), (math.nan, math.inf)):
                other.write([*base[:place], value, *base[place + 1 :]])
                assert distance.largest_of([one], [other], parts) == wanted, (place, value)
    other.write(base)
    one.write([*base[:-1], -60.0])
    other.write([*base[:-1], -57.0])
    assert distance.largest_of([one], [other], HostParts(threads=threads)) == 0.05, "the scale is a negative value's"


def test_a_cell_gives_one_digest_by_every_way(cell):
    def run(**env):
        found = cell("test_softmax.py::test_softmax", purpose="screen_A", timed=False, env=env)
        assert found.status == 0, found.log
        told = [
            (event["available"], event["detail"]) for event in found.of("capability") if event["hook"] == "outputs_copy"
        ]
        return [(event["case"], event["digest"], event["repeatable"]) for event in found.of("outputs")], told

    (plain, told), (driven, told_driven) = run(), run(FAKE_LIBCUDA="")
    (failing, told_failing) = run(FAKE_LIBCUDA="cuMemcpyDtoH_v2:3")
    assert len(plain) == 4 and plain == driven == failing
    assert [available for available, _ in told + told_driven] == [True, True]
    assert "not past torch" in told[0][1] and "`cuMemcpyDtoH`" in told_driven[0][1]
    assert [available for available, _ in told_failing] == [True, False]
    assert "`cuMemcpyDtoH` gave status 1" in told_failing[1][1]


def test_a_cell_of_both_sides_compares_and_puts_back_past_torch(cell):
    switch = {"a": {"MINI_SWITCH": "0"}, "b": {"MINI_SWITCH": "1"}}
    both = cell("test_planted.py", purpose="r1_AB", switch=switch, blocks=8, seed=1, env={"FAKE_LIBCUDA": ""})
    names = [row["operator"] for row in both.rows()[::2] if row["operator"] != "breaks"]
    verdicts = dict(zip(names, (event["verdict"] for event in both.of("outputs"))))
    assert verdicts["follows"] == verdicts["bump_"] == "equal" and verdicts["constant"] == "wrong"
    assert verdicts["bump"] == "not_comparable"
    found = dict(line.split(" found ") for line in both.log.splitlines() if line.endswith(" inputs"))
    assert found["bump_"] == "1 inputs"
    told = {event["hook"]: event for event in both.of("capability")}
    assert told["outputs_copy"]["available"] and "`cuMemsetD8Async`" in told["flush"]["detail"]
