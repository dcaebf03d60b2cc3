"""Rewrites of the graphs of frozen modules, one a file, and the order in which they are applied."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

import torch

from ...sessions.examples import Inputs
from ...torch_passes import Graph, check, graph_of, optimise_frozen, tidy
from ..mutation import without_mutation
from ..observing import Sizes, observe
from ..packed_weights import PackedWeights
from . import onednn_convolutions as _convolutions
from . import onednn_linears as _linears
from .appended_lists import appended_lists
from .bounded_inputs import bounded_inputs
from .growing_cats import growing_cats
from .onednn_convolutions import onednn_convolutions
from .onednn_linears import onednn_few_rows, onednn_linears
from .pixel_convolutions import pixel_convolutions
from .ranks import ranks
from .scaled_linears import scaled_linears
from .split_attentions import split_attentions

Rewrite: TypeAlias = Callable[[Graph], int]
OneDnnRewrite: TypeAlias = Callable[[Graph, Sizes, PackedWeights], int]

_FIRST: tuple[Rewrite, ...] = (
    appended_lists,  # what a concatenation reads is then known
    ranks,  # a batch norm is then the only reader of its convolution
)
_AFTER_FOLDING: tuple[Rewrite, ...] = (
    bounded_inputs,  # of the batch norms that no convolution took
    scaled_linears,
    growing_cats,
)
_BEFORE_ONEDNN: tuple[Rewrite, ...] = (
    pixel_convolutions,  # which are linear layers then
    split_attentions,
)
_ONEDNN: dict[OneDnnRewrite, tuple[str, ...]] = {
    onednn_convolutions: _convolutions.OBSERVED,
    onednn_linears: _linears.OBSERVED,
    onednn_few_rows: _linears.OBSERVED,
}

SIMPLIFYING = tuple(rewrite.__name__ for rewrite in _FIRST + _AFTER_FOLDING)
"""Rewrites to less work, on any processor."""

ONEDNN_CONVOLUTIONS = (onednn_convolutions.__name__, pixel_convolutions.__name__)
ONEDNN_LINEARS = (split_attentions.__name__, onednn_linears.__name__)
ONEDNN_FEW_ROWS = (onednn_few_rows.__name__,)


def rewrite(
    module: torch.jit.ScriptModule, names: Collection[str], runs: dict[str, list[Inputs]]
) -> tuple[str, ...]:
    """Rewrite the graphs of a frozen module, in place, and tell which rewrites found something.

    `runs` are the examples of each method that is rewritten: the sizes of tensors are taken from
    them. Raises RuntimeError for a graph that came out wrong.
    """
    applied: dict[str, int] = {}
    packed = PackedWeights()

    def note(name: str, count: int) -> None:
        if count:
            applied[name] = applied.get(name, 0) + count

    for method, inputs in runs.items():
        graph = graph_of(module, method)
        without_mutation(graph)
        for simple in _FIRST:
            if simple.__name__ in names:
                note(simple.__name__, simple(graph))
        tidy(graph)
        optimise_frozen(graph)
        for simple in _AFTER_FOLDING + _BEFORE_ONEDNN:
            if simple.__name__ in names:
                note(simple.__name__, simple(graph))
        tidy(graph)
        for specific, kinds in _ONEDNN.items():
            if specific.__name__ in names:
                sizes = observe(module, method, kinds, inputs)
                note(specific.__name__, specific(graph, sizes, packed))
                tidy(graph)
    packed.attach(module)
    for method in runs:
        check(graph_of(module, method))
    names_in_order = [r.__name__ for r in (*_FIRST, *_AFTER_FOLDING, *_BEFORE_ONEDNN, *_ONEDNN)]
    return tuple(name for name in names_in_order if name in applied)
