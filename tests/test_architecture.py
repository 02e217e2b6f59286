"""The layout: imports go one way, public names are listed, docstrings fit signatures."""

import ast
import graphlib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import runpy
import typing
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numpydoc.docscrape import NumpyDocString
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import sklearn_shag

ROOT = Path(sklearn_shag.__file__).parent
# What each folder may import besides itself.
ALLOWED = {}
for _folder, _others in {
    "utils": "",
    "treebank": "utils",
    "encoding": "utils treebank",
    "sequences": "utils treebank encoding",
    "operators": "utils encoding sequences",
    "parsing": "utils treebank encoding sequences operators",
    "metrics": "utils treebank encoding",
    "inspection": "utils treebank encoding sequences operators parsing automata",
    "datasets": "utils treebank encoding operators automata",
    # Families: estimators beside their mathematics.
    "automata": "utils operators sequences",
    "learning": "utils treebank encoding sequences operators automata parsing _parser",
    "lexical": "utils treebank encoding sequences operators parsing _parser learning",
    "features": "utils treebank encoding parsing",
    "conditional": "utils treebank encoding sequences parsing _parser features",
    "network": "utils treebank encoding parsing _parser conditional",
    "ensembles": "utils treebank encoding operators parsing _parser learning sequences conditional "
    "network",
    "induction": "utils treebank encoding sequences operators automata parsing _parser learning "
    "conditional ensembles",
    # What stands on all of them.
    "model_files": "utils treebank encoding sequences operators automata parsing learning lexical "
    "features conditional network ensembles",
    "documents": "utils treebank datasets ensembles model_files",
    "checks": "utils treebank datasets metrics model_files",
    "annotation": "utils treebank parsing",
    "service": "utils treebank parsing datasets network model_files annotation",
    "cli": "utils treebank parsing automata datasets metrics inspection _parser learning lexical "
    "features conditional network ensembles model_files annotation service",
}.items():
    ALLOWED[_folder] = set(_others.split())
FOLDERS = sorted(ALLOWED)
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages([str(ROOT)], prefix="sklearn_shag.")
    if not info.name.endswith("__main__")
)


@cache
def parse(path):
    """The tree of the syntax of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_modules(path):
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module


def top_statements():
    """The statements of each module of the package."""
    return {path: parse(path).body for path in ROOT.rglob("*.py")}


def test_imports_go_one_way():
    found = {folder: set() for folder in FOLDERS}
    for folder, path in ((each, path) for each in FOLDERS for path in (ROOT / each).rglob("*.py")):
        for module in imported_modules(path):
            package, other, *_ = *module.split("."), ""
            if package == "sklearn_shag":
                found[folder].add(other)
    # They import the package itself, and stand on all of it; parsers are bundled as model files.
    for folder in ("model_files", "datasets", "cli"):
        found[folder].remove("")
    for folder, others in found.items():
        assert others - {folder} == ALLOWED[folder], f"of {folder}"


def own_imports():
    """What each module of the package imports of it, also within functions."""
    imports = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        imports[".".join(parts).removesuffix(".__init__")] = set(imported_modules(path))
    del imports["sklearn_shag"]  # for type checkers alone it imports what it names
    return {module: others & imports.keys() for module, others in imports.items()}


def test_no_modules_import_each_other():
    graph = own_imports()
    assert "sklearn_shag.utils._heads" in graph["sklearn_shag.treebank._tree"]
    list(graphlib.TopologicalSorter(graph).static_order())  # a circle is an error that names it


def test_every_folder_has_its_place():
    assert sorted(path.parent.name for path in ROOT.glob("*/__init__.py")) == FOLDERS


def test_private_names_of_scikit_learn_have_one_importer():
    for path in ROOT.rglob("*.py"):
        if path.name != "_param_validation.py":
            for module in imported_modules(path):
                assert not (module.startswith("sklearn.") and "._" in module), f"{path}: {module}"


def test_values_and_algebra_know_neither_trees_nor_workers():
    for folder in ("sequences", "operators"):
        for path in (ROOT / folder).rglob("*.py"):
            modules = set(imported_modules(path))
            assert not modules & {"joblib", "sklearn_shag.utils._parallel"}, path
            names = {name for other, _, name in imported_names() if other == path}
            assert "DependencyTree" not in names, path


def count_code_lines(path):
    """Without blank lines, comments and docstrings."""
    text = map(str.strip, path.read_text(encoding="utf-8").splitlines())
    lines = {number for number, line in enumerate(text, start=1) if line and line[0] != "#"}
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_modules_are_short_and_few():
    paths = list(ROOT.rglob("*.py"))
    for path in paths:
        assert count_code_lines(path) <= 400, path
    assert len(paths) <= 188
    assert len(list(ROOT.glob("*.py"))) == 4


def test_names_tell_functions_apart():
    """Few private functions have one word for a name, or one name in several modules."""
    functions, modules = [], Counter()
    for top in top_statements().values():
        functions += [node.name for node in top if isinstance(node, ast.FunctionDef)]
        modules.update({n.name for n in top if isinstance(n, ast.FunctionDef | ast.ClassDef)})
    one_word = [name for name in functions if "_" not in name.strip("_")]
    assert len(one_word) <= 0.06 * len(functions), sorted(one_word)
    assert sum(count > 1 for count in modules.values()) <= 10, modules.most_common(20)


def list_targets(node):
    """The names that a statement assigns to, constants if they are capitals."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [part for target in targets for part in getattr(target, "elts", [target])]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def test_a_constant_or_class_has_its_name_for_itself():
    """Whatever has no underscore before it, and may be imported, is defined in one module."""
    modules = Counter()
    for top in top_statements().values():
        assigned = [node for node in top if isinstance(node, ast.Assign | ast.AnnAssign)]
        names = {name for node in assigned for name in list_targets(node)}
        names |= {node.name for node in top if isinstance(node, ast.ClassDef)}
        modules.update(name for name in names if not name.startswith("_"))
    assert modules["DependencyTree"] == modules["UNKNOWN"] == modules["RIGHT"] == 1
    assert {name for name, count in modules.items() if count > 1} == set()


def own_chain(cls):
    """The longest path from a class through its bases, of classes of this package."""
    if not cls.__module__.startswith("sklearn_shag"):
        return []
    return [cls.__name__, *max(map(own_chain, cls.__bases__), key=len, default=[])]


def test_chains_of_classes_are_short():
    for value in (getattr(sklearn_shag, name) for name in sklearn_shag._MODULES):
        if inspect.isclass(value):
            assert len(own_chain(value)) <= 4, own_chain(value)


def architecture_block(heading):
    """The first block of text behind some words."""
    behind = architecture_page().split(heading)[1]
    return behind.split(".. code-block:: text\n\n")[1].split("\n\n")[0]


def architecture_page():
    return repository_file("doc", "architecture.rst").read_text(encoding="utf-8")


def repository_file(*parts):
    """A file or folder beside the package, where there is one."""
    path = ROOT.parent.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path.name} is not part of this copy")
    return path


def load_script(*parts):
    """What a script of the repository defines."""
    return SimpleNamespace(**runpy.run_path(repository_file(*parts)))


COLUMNS = ["upos", "xpos", "feats", "form", "lemma", "prefix", "suffix", "shape"]


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="kernels are functions like all others")
@pytest.mark.parametrize(
    ("model", "n_frames", "n_calls"),
    [
        (sklearn_shag.SpectralSHAG(2), 7, 26),
        (sklearn_shag.CRFParser(max_iter=1), 7, 32),
        (sklearn_shag.BiaffineParser(COLUMNS, max_iter=1), 9, 47),
    ],
    ids=["grammar", "linear", "network"],
)
def test_few_calls_lead_from_predict_to_the_kernel(english, model, n_frames, n_calls):
    """Calls are those between modules."""
    call_chain = load_script("benchmarks", "call_chain.py")
    model = clone(model).fit(english[: call_chain.N_TRAINING])
    recorder = record(model.predict, english)
    assert 0 < len(recorder.deepest) <= n_frames, recorder.deepest
    assert recorder.n_calls <= n_calls


def test_parse_asks_each_member_and_each_network_once(english):
    """Of four columns, a parser and its tagger; of an average, two of these and a linear one."""
    settings = {
        "columns": ["form", "suffix"],
        "hidden_layer_sizes": [8],
        "max_iter": 1,
        "calibrate": False,
    }
    networks = [
        sklearn_shag.BiaffineParser(
            tags=("upos", "xpos", "feats", "lemma"), random_state=seed, **settings
        ).fit(english[:100])
        for seed in range(2)
    ]
    linear = sklearn_shag.CRFParser(max_iter=1, calibrate=False).fit(english[:100])
    members = [(f"{k}", FrozenEstimator(parser)) for k, parser in enumerate([*networks, linear])]
    average = sklearn_shag.AveragedParser(members).fit(english[:20])
    for model, n_calls in ((networks[0], 89), (average, 227)):
        assert record(model.parse, english[100:], n_tokens=12).n_calls <= n_calls


def record(method, trees, n_tokens=None):
    """The calls of a method for the first sentence of a length."""
    call_chain = load_script("benchmarks", "call_chain.py")
    n_tokens = n_tokens or call_chain.N_TOKENS
    sentence = [next(tree for tree in trees if len(tree) == n_tokens)]
    method(sentence)  # compiles, and packs what was learned
    with call_chain.Recorder() as recorder:
        method(sentence)
    return recorder


# Names of others that classes define: of scikit-learn, and of IPython.
OF_OTHERS = {
    *("_abc_impl", "_parameter_constraints", "_repr_html_", "_sklearn_auto_wrap_output_keys"),
    *("_doc_link_module", "_doc_link_template"),
}


def list_hooks():
    """Private names that several classes of the package define, records aside."""
    modules = map(importlib.import_module, MODULES)
    classes = {
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value)
        and value.__module__.startswith("sklearn_shag.")
        and not issubclass(value, tuple)
    }
    counts = Counter(name for each in classes for name in vars(each) if re.match(r"_[a-z]", name))
    return {name for name, count in counts.items() if count > 1} - OF_OTHERS


def test_the_page_on_the_architecture_lists_the_hooks():
    lines = architecture_block("Hooks are the private names").splitlines()
    listed = [line.split()[0] for line in lines if line[4] == "_"]
    assert listed == sorted(listed)
    assert set(listed) == list_hooks()
    assert len(listed) <= 25


def test_the_page_on_the_architecture_shows_the_way_to_the_kernel(english):
    """The functions of its figure are those of the stack, in their order."""
    shown = [line.split()[0] for line in architecture_block("The flow\n").splitlines()]
    model = sklearn_shag.SpectralSHAG(2).fit(english[:50])
    recorder = record(model.predict, english)
    stack = [name.rpartition(": ")[2] for name in recorder.deepest]
    assert [name for name in shown if name in stack] == stack


def test_the_page_on_the_architecture_lists_the_modules_of_the_charts():
    block = architecture_page().split("    parsing/\n")[1].split("\n\n")[0]
    listed = re.findall(r"^ {6}(\w+\.py)", block, flags=re.M)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "parsing").glob("_[a-z]*.py"))
    places = {name: place for place, name in enumerate(listed)}
    for path, module, _ in imported_names():
        if path.parent.name == "parsing" and path.name in places:
            other = f"{module.rpartition('.')[2]}.py"
            if module.startswith("sklearn_shag.parsing."):
                assert places[path.name] < places[other], f"{path.name} imports {other}"


def test_pages_and_scripts_name_files_that_exist():
    """The page on the architecture, and continuous integration."""
    named = set(re.findall(r"(?<![\w/])[\w/]+\.py\b", architecture_page()))
    assert "_parser.py" in named
    for folder in (repository_file(".ci"), repository_file(".github")):
        texts = [path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()]
        named.update(re.findall(r"\b(?:tests|benchmarks|doc)/\w+\.py\b", "".join(texts)))
    assert len(named) > 40
    folders = (ROOT.parent / name for name in ("sklearn_shag", "tests", "benchmarks", "doc"))
    files = [path.as_posix() for folder in folders for path in folder.rglob("*.py")]
    assert not [name for name in named if not any(file.endswith(f"/{name}") for file in files)]


def test_the_page_on_the_architecture_says_what_imports_what():
    block = architecture_block("A test compares the table")
    lines = re.sub(r"\n {5,}", " ", block).splitlines()
    table = {folder: set(others) for folder, *others in map(str.split, lines)}
    assert table | {"utils": set()} == ALLOWED


@cache
def imported_names():
    """What modules of the package import from each other: importer, module, name."""
    return [
        (path, node.module, alias.name)
        for path in ROOT.rglob("*.py")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn_shag")
        for alias in node.names
    ]


def test_folders_import_no_private_module_of_another():
    """But for `utils`, whose modules are plumbing without a face, and public names of the top."""
    for path, module, _ in imported_names():
        parts = module.split(".")
        if len(parts) > 2 and parts[1] != "utils" and path != ROOT / "__init__.py":
            assert (ROOT / parts[1]) in path.parents, f"{path} imports {module}"


def test_what_a_folder_names_is_public_or_shared():
    """What an ``__init__.py`` names is in ``__all__``, or another folder of the package uses it."""
    private = {
        *("utils", "encoding", "lexical", "induction", "conditional", "ensembles"),
        *("model_files", "documents", "annotation", "cli"),
    }
    for name in ["sklearn_shag", *(f"sklearn_shag.{f}" for f in FOLDERS)]:
        module = importlib.import_module(name)
        named = {
            key
            for key, value in vars(module).items()
            if not key.startswith("_") and not inspect.ismodule(value)
        }
        listed = getattr(module, "__all__", [])
        assert len(listed) == len(set(listed)), name
        assert set(listed) - {"__version__"} <= named, name
        folder = ROOT.joinpath(*name.split(".")[1:])
        shared = {
            imported
            for path, source, imported in imported_names()
            if source == name and folder not in path.parents
        }
        assert named - set(listed) <= shared, name
        assert (name.partition(".")[2] in private) == (listed == []), name
        # What is imported from a folder of the package was made there.
        for value in map(vars(module).get, named):
            maker = getattr(value, "__module__", name)
            assert maker.startswith((name, "typing", "types", "collections.abc"))  # else an alias


def test_whatever_is_public_is_found():
    """All folders with public names; test_kernel asks where nothing was asked for before."""
    folders = {f: importlib.import_module(f"sklearn_shag.{f}") for f in FOLDERS}
    public = [name for name, module in folders.items() if getattr(module, "__all__", ())]
    assert sorted(sklearn_shag._FOLDERS) == public


def test_the_dict_of_public_names_says_what_type_checkers_import():
    tree = parse(ROOT / "__init__.py")
    imported = {
        alias.name: node.module.removeprefix("sklearn_shag.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == sklearn_shag._MODULES
    for name, module in imported.items():
        made = getattr(importlib.import_module(f"sklearn_shag.{module}"), name)
        assert getattr(sklearn_shag, name) is made


def test_the_reference_lists_exactly_what_is_public():
    """Sections by task, each module's name in ``currentmodule``; entries are indented lines."""
    text = repository_file("doc", "api.rst").read_text(encoding="utf-8")
    listed = {}
    for section in text.split(".. currentmodule:: ")[1:]:
        module, rest = section.split("\n", 1)
        entries = re.findall(r"^   (\w+)$", rest, flags=re.MULTILINE)
        data = re.findall(rf"^\.\. py:data:: {re.escape(module)}\.(\w+)$", rest, flags=re.MULTILINE)
        listed.setdefault(module, []).extend(entries + data)
    modules = ["sklearn_shag", *(f"sklearn_shag.{f}" for f in FOLDERS if f != "utils")]
    public = {name: sorted(importlib.import_module(name).__all__) for name in modules}
    listed = {module: sorted(names) for module, names in listed.items()}
    assert listed == {name: names for name, names in public.items() if names}


def public_objects():
    """All public classes and functions."""
    for module in ("sklearn_shag", *(f"sklearn_shag.{name}" for name in sklearn_shag._FOLDERS)):
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if callable(value):
                yield f"{module}.{name}", value


def public_members(kind):
    """Methods and properties, each where its docstring is written: base classes hand it down."""
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or not (callable(member) or isinstance(member, property)):
            continue
        owners = (base for base in kind.__mro__ if name in vars(base) and vars(base)[name].__doc__)
        owner = next(owners, kind)
        if owner.__module__ == "builtins":
            continue
        written = getattr(owner, name)
        # The function of a class method, so that what it returns is looked at too.
        written = getattr(written, "__func__", written)
        yield f"{owner.__module__}.{owner.__name__}.{name}", written


PUBLIC = dict(public_objects())
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
MEMBERS = dict(chain.from_iterable(map(public_members, CLASSES.values())))


def own_functions():
    """Public functions and methods that are written here, and those of properties."""
    for name, value in (PUBLIC | MEMBERS).items():
        function = getattr(value, "fget", value)
        if name not in CLASSES and function.__module__.startswith("sklearn_shag"):
            yield name, function


def parameters_of(function):
    return {
        parameter
        for parameter, kind in inspect.signature(function).parameters.items()
        if parameter not in ("self", "cls")
        and kind.kind not in (kind.VAR_POSITIONAL, kind.VAR_KEYWORD)
    }


def test_signatures_print_readably():
    """With the names of types, not with all that these stand for."""
    signatures = {name: str(inspect.signature(value)) for name, value in own_functions()}
    assert "X: 'Sentences'" in signatures["sklearn_shag._parser.Parser.predict"]
    assert "'ArrayLike'" in signatures["sklearn_shag.automata._em.EMAutomaton.from_hmm"]
    long = {name: len(text) for name, text in signatures.items() if len(text) > 300}
    assert not long


def test_everything_public_is_annotated():
    for name, function in own_functions():
        hints = typing.get_type_hints(inspect.unwrap(function))
        assert {*parameters_of(function), "return"} <= hints.keys(), f"{name} lacks annotations"
    for name, kind in CLASSES.items():
        hints = typing.get_type_hints(kind.__init__)
        if not issubclass(kind, tuple):  # of which the parameters are the fields
            assert parameters_of(kind.__init__) <= hints.keys(), f"{name} lacks annotations"
        doc = NumpyDocString(inspect.getdoc(kind) or "")
        attributes = {n.strip() for entry in doc["Attributes"] for n in entry.name.split(",")}
        properties = dict(inspect.getmembers(kind, lambda each: isinstance(each, property)))
        missing = attributes - set(typing.get_type_hints(kind)) - set(hints) - set(properties)
        assert not missing, f"{name} lacks annotations of attributes"


def test_modules_say_what_they_are():
    assert not [name for name in MODULES if not inspect.getdoc(importlib.import_module(name))]
