"""From a source tree to its twin: the stages, in the order in which data moves through them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from .analysis.classes import ClassInfo, ClassTable
from .analysis.facts import class_facts
from .analysis.names import FOUNDATION, KNOWN, is_foundation
from .analysis.policy import decide
from .analysis.reach import Reach
from .config import NO_POLICY, Policy
from .diagnostics import Code, Diagnostic, OutputError
from .emit.banner import banner
from .inference.attributes import AttributeTypes
from .inference.infer import functions_to_look_at, infer
from .inference.operators import Operators
from .inference.project_types import ProjectTypes
from .injection.edits import FileEdits
from .injection.plan import Plan
from .observe.observed import NOTHING, Observed
from .records import class_record, unknown_bases
from .source.collection import rare_collection
from .source.load import TreeModules
from .source.project import Project
from .source.resolver import Resolver
from .source.text import SourceText, parse
from .source.tree import SourceTree
from .twin import Twin, TwinFile

Progress = Callable[[int, int], None]
"""Called with how many files are done, of how many."""

_FILES_PER_PROCESS = 40
"""Below this a process takes longer to start than to rewrite its share."""


@rare_collection()
def build(
    tree: SourceTree,
    *,
    policy: Policy = NO_POLICY,
    observed: Observed = NOTHING,
    jobs: int = 1,
    progress: Progress = lambda done, of: None,
) -> Twin:
    """Work out the twin of a source tree. Nothing is imported, and nothing is written.

    Args:
        tree: the files, as `source.tree.scan` found them.
        policy: what is said about the code from outside it.
        observed: the types that runs of the user's code have shown.
        jobs: how many processes rewrite files; what they write does not depend on it.
        progress: called after each rewritten file.

    Raises:
        UsageError: the policy names what is not there.
        OutputError: a file is nested too deeply for this Python.
    """
    sources = TreeModules(tree)
    named = sources.named()
    resolver = Resolver(Project(sources), KNOWN)
    table = ClassTable(resolver, policy.module_bases)

    classes = [info for module in named for info in table.in_module(module)]
    modules = [info for info in classes if info.is_module and not info.is_twin]
    decisions = decide(policy, named, classes)
    reach = Reach(resolver, decisions)
    facts = {i: class_facts(i, reach) for i in modules if not is_foundation(i.module.name)}

    types = AttributeTypes(resolver)
    project = ProjectTypes(table, reach, types, Operators.load(), classes, observed)
    compiled = frozenset(r.definition for found in facts.values() for r in found.reached)
    project.assigned_by_compiled_code(facts.values())
    inferred = infer(project, functions_to_look_at(named, classes), compiled)

    plan = Plan(resolver, table, types, facts, decisions, reach, project, inferred, named)
    contents = dict(_rewritten(sources, plan.edits(), jobs, progress))
    return Twin(
        files=tuple(
            TwinFile(f.path, f.source, contents.get(f.path.as_posix())) for f in tree.files
        ),
        classes=tuple(class_record(found, plan) for found in facts.values()),
        diagnostics=(
            *_file_findings(tree, sources, modules, classes),
            *sorted(plan.findings.get(None, ())),
        ),
    )


def _rewritten(
    sources: TreeModules, edits: dict[str, FileEdits], jobs: int, progress: Progress
) -> Iterator[tuple[str, bytes]]:
    """The bytes of each file that changes. Files are independent of each other by now."""
    tasks = [(path, sources.texts[path], edits[path]) for path in edits]
    processes = min(jobs, len(tasks) // _FILES_PER_PROCESS)
    if processes < 2:
        trees = {module.file: module.tree for module in sources.named()}
        results = (rewrite_file(task, trees[task[0]]) for task in tasks)
        yield from _counted(results, len(tasks), progress)
        return
    context = get_context("forkserver")  # fork is unsafe below threads, such as a progress bar's
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from _counted(pool.map(rewrite_file, tasks, chunksize=4), len(tasks), progress)


def rewrite_file(
    task: tuple[str, SourceText, FileEdits], tree: ast.Module | None = None
) -> tuple[str, bytes]:
    """One file: its path, its text and its edits in, its path and the twin's bytes out.

    Another process parses the text again, which is quicker than to send it the tree.
    """
    from .injection.pieces import UnknownSyntax
    from .injection.rewrite import rewrite

    path, source, edits = task
    try:
        parsed = tree or parse(source.text)
        return path, source.encode(rewrite(source.text, parsed, edits, banner(path)))
    except RecursionError as error:
        advice = "leave it out with --exclude"
        raise OutputError(f"{path}: nested too deeply for this Python; {advice}") from error
    except UnknownSyntax as error:
        advice = "write it otherwise, or leave the file out with --exclude"
        raise OutputError(f"{path}: libcst cannot parse {error}; {advice}") from error


def _counted(
    results: Iterable[tuple[str, bytes]], count: int, progress: Progress
) -> Iterator[tuple[str, bytes]]:
    for done, result in enumerate(results, 1):
        progress(done, count)
        yield result


def _file_findings(
    tree: SourceTree, sources: TreeModules, modules: list[ClassInfo], classes: list[ClassInfo]
) -> Iterator[Diagnostic]:
    found = {*tree.diagnostics, *sources.diagnostics.values()}
    found.update(unknown_bases(classes))
    for name in sorted({i.module.name.partition(".")[0] for i in modules} & FOUNDATION):
        count = sum(i.module.name.partition(".")[0] == name for i in modules)
        message = f"{count} classes of {name} stay as they are: the runtime is built on them"
        hint = "TorchScript compiles them as they are"
        found.add(Diagnostic(name, 0, Code.FOUNDATION.id, message, hint))
    yield from sorted(found)
