"""How the inputs of methods are written, and what can be made of them."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest
import torch
from jit_runtime.sessions.examples import Examples, Inputs, inputs_by_method

X = torch.arange(6).reshape(3, 2)
Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("example", "inputs"),
    [
        (X, Inputs((X,))),
        ((X, 2), Inputs((X, 2))),
        ([X], Inputs((X,))),
        ({"encode": X}, Inputs((), {"encode": X})),
    ],
    ids=["tensor", "tuple", "list", "named"],
)
def test_one_example_is_of_forward(example: object, inputs: Inputs):
    assert inputs_by_method(example) == {"forward": inputs}


def test_examples_of_several_methods():
    found = inputs_by_method(Examples(forward=X, encode={"x": X}))
    assert found == {"forward": Inputs((X,)), "encode": Inputs((), {"x": X})}
    assert inputs_by_method(None) == {}


@pytest.mark.parametrize("example", ["x", 3, Examples(forward=3), Examples(forward=Examples())])
def test_what_is_no_example_is_refused(example: object):
    with pytest.raises(TypeError, match="an example is a tensor, a tuple or list"):
        inputs_by_method(example)


def test_a_call():
    assert Inputs((5,), {"base": 2}).call(lambda value, base: value**base) == 25


def test_tensors_are_replaced_wherever_they_are():
    nested = Inputs((Pair(X, [X, 3]), (X,)), {"d": OrderedDict(a=X, b="b")})
    copied = nested.clone()
    assert len(copied.tensors()) == 4 and all(map(torch.equal, copied.tensors(), nested.tensors()))
    copied.tensors()[0][0, 0] = 9
    assert X[0, 0] == 0
    pair = copied.positional[0]
    assert isinstance(pair, Pair) and pair.right[1] == 3
    assert type(copied.named["d"]) is OrderedDict and list(copied.named["d"]) == ["a", "b"]


class TestAnotherBatchSize:
    def test_repeats_or_drops_rows_of_the_tensors_that_have_as_many(self):
        other = torch.zeros(4)
        larger = Inputs((torch.tensor(1.0), X, other, [X])).with_batch_size(4)
        assert larger.batch_size == 4
        assert torch.equal(larger.positional[1], torch.cat([X, X[:1]]))
        assert larger.positional[2].shape == (4,) and torch.equal(larger.positional[2], other)
        assert larger.positional[3][0].shape == (4, 2)
        assert torch.equal(larger.with_batch_size(2).positional[1], X[:2])

    def test_there_is_none_without_a_tensor_that_has_rows(self):
        inputs = Inputs((torch.tensor(1.0), 3))
        assert inputs.batch_size is None and inputs.with_batch_size(2) == inputs
