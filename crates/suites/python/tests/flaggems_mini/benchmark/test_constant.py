import pytest
from flag_gems.ops import planted

from .test_planted import run


@pytest.mark.constant
def test_constant():
    run(planted.constant)
