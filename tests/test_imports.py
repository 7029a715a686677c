"""Imports point one way, in no circle, and nothing asks which paper it works for."""

import ast
from functools import cache
from pathlib import Path

import pytest
from layers import MAY_IMPORT, PROGRAMS

from bench.papers import PAPERS

ROOT = Path(__file__).parent.parent


LOOKED_AT = (ast.If, ast.Import, ast.ImportFrom, ast.Compare, ast.MatchValue)

parsed = cache(ast.parse)  # trees are read and not changed


def modules(root: Path) -> dict[str, ast.Module]:
    found = {}
    for top in ("bench", "figures"):
        for path in sorted((root / top).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = parsed(path.read_text())
    return found


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """Those of a module that the rules are about. All of them are looked at once, which takes most of the time."""
    return [node for node in ast.walk(tree) if isinstance(node, LOOKED_AT)]


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(name: str, tree: ast.Module, known) -> set[str]:
    """Our modules that a module imports, also within functions; `from package import module` is the module.

    What only a type checker reads is no import: `bench` names there what it looks up when asked.
    """
    found = set()
    unread = {inner for node in nodes(tree) if _for_type_checkers(node) for inner in ast.walk(node)}
    for node in nodes(tree):
        if node in unread:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively: write the full name"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
    return {one for one in found if one.split(".")[0] in ("bench", "figures")}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def in_program(name: str) -> bool:
    return any(within(name, program) for program in PROGRAMS)


def wrong_ways(root: Path) -> list[str]:
    trees = modules(root)
    out = []
    for name, tree in trees.items():
        layers = [layer for layer in MAY_IMPORT if within(name, layer)]
        layer = max(layers, key=len)
        for target in sorted(imports(name, tree, trees)):
            program = in_program(target) and not in_program(name) and target not in MAY_IMPORT[layer]
            if program or not any(within(target, one) or one == f"={target}" for one in MAY_IMPORT[layer]):
                out.append(f"{name} imports {target}")
    return out


def circles(root: Path) -> list[str]:
    trees = modules(root)
    graph = {name: imports(name, tree, trees) - {name} for name, tree in trees.items()}
    done, out = set(), []

    def visit(name, path):
        if name in path:
            out.append(" -> ".join([*path[path.index(name) :], name]))
        elif name not in done:
            for target in sorted(graph.get(name, ())):
                visit(target, [*path, name])
            done.add(name)

    for name in graph:
        visit(name, [])
    return out


def asks_for_a_paper(root: Path) -> list[str]:
    """Comparisons, and cases of a match, with a paper's short name, and comparisons of `paper` with a literal."""
    out = []
    for name, tree in modules(root).items():
        for node in nodes(tree):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
            elif isinstance(node, ast.MatchValue):
                sides = [node.value]
            else:
                continue
            inner = [one for side in sides for one in ast.walk(side)]
            literals = {one.value for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, str)}
            about = any(getattr(one, "id", getattr(one, "attr", "")) == "paper" for one in inner)
            if literals & set(PAPERS) or (about and literals):
                out.append(f"{name}:{node.lineno if hasattr(node, 'lineno') else node.value.lineno}")
    return out


def test_imports_point_one_way():
    assert wrong_ways(ROOT) == []


def test_no_imports_in_a_circle():
    assert circles(ROOT) == []


def test_nothing_asks_which_paper_it_works_for():
    assert asks_for_a_paper(ROOT) == []


def test_every_layer_exists():
    """A rule about a module that is gone checks nothing."""
    names = set(modules(ROOT))
    assert [layer for layer in (*MAY_IMPORT, *PROGRAMS) if layer not in names] == []


@pytest.fixture
def tree(tmp_path):
    """A tree of the same shape with nothing wrong in it; gives a function that adds a module."""

    def add(name, text):
        path = tmp_path / (name.replace(".", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return tmp_path

    add("bench.errors", "")
    add("bench.kernels.gradient", "import jax\nfrom bench.errors import InputError\n")
    add("bench.data.task", "from dataclasses import dataclass\n")
    add("figures.fig1", "from bench.store.part_files import read\nif scale == 'paper' or paper not in CLAIMS: pass\n")
    return add


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bench.kernels.other", "def f():\n    import bench.data.task", "bench.kernels.other imports bench.data.task"),
        ("bench.kernels.other", "from bench.data import task", "bench.kernels.other imports bench.data.task"),
        ("bench.data.other", "import figures.fig1", "bench.data.other imports figures.fig1"),
    ],
)
def test_an_import_the_wrong_way_is_found(tree, name, text, said):
    assert wrong_ways(tree("bench.errors", "")) == []
    assert wrong_ways(tree(name, text)) == [said]


def test_a_circle_is_found(tree):
    assert circles(tree("bench.errors", "")) == []
    tree("bench.data.a", "from bench.data import b")
    assert circles(tree("bench.data.b", "import bench.data.a")) == ["bench.data.a -> bench.data.b -> bench.data.a"]


@pytest.mark.parametrize("text", ["x = 1 if self.paper != 'a' else 2", "match name:\n    case 'p2p': pass"])
def test_a_branch_on_the_paper_is_found(tree, text):
    assert asks_for_a_paper(tree("bench.errors", "")) == []
    assert len(asks_for_a_paper(tree("bench.data.other", text))) == 1
