"""What inference finds out about a source, by the nodes of its syntax tree."""

from __future__ import annotations

import ast
import tempfile
from pathlib import Path

from file_trees import make_tree
from jit_transpile.analysis.classes import ClassTable
from jit_transpile.analysis.facts import class_facts
from jit_transpile.analysis.names import KNOWN
from jit_transpile.analysis.policy import decide
from jit_transpile.analysis.reach import Reach
from jit_transpile.config import NO_POLICY
from jit_transpile.inference.attributes import AttributeTypes
from jit_transpile.inference.frame import FunctionTypes
from jit_transpile.inference.infer import functions_to_look_at, infer
from jit_transpile.inference.operators import Operators
from jit_transpile.inference.project_types import ProjectTypes
from jit_transpile.observe.observed import NOTHING
from jit_transpile.source.load import TreeModules
from jit_transpile.source.project import Project
from jit_transpile.source.resolver import Resolver
from jit_transpile.source.tree import scan


def inferred(source: str) -> tuple[ast.Module, dict[ast.AST, FunctionTypes]]:
    """The tree of a source, and what is found out about each of its functions.

    The stages are those of `jit_transpile.pipeline`, up to inference.
    """
    with tempfile.TemporaryDirectory() as folder:
        sources = TreeModules(scan(make_tree(Path(folder) / "src", {"net.py": source}), None))
        named = sources.named()
    resolver = Resolver(Project(sources), KNOWN)
    table = ClassTable(resolver, NO_POLICY.module_bases)
    classes = [info for module in named for info in table.in_module(module)]
    reach = Reach(resolver, decide(NO_POLICY, named, classes))
    facts = [class_facts(info, reach) for info in classes if info.is_module]
    types = AttributeTypes(resolver)
    project = ProjectTypes(table, reach, types, Operators.load(), classes, NOTHING)
    compiled = frozenset(r.definition for found in facts for r in found.reached)
    project.assigned_by_compiled_code(facts)
    found = infer(project, functions_to_look_at(named, classes), compiled)
    return named[0].tree, {definition.node: types for definition, types in found.items()}
