"""Base classes of estimators, objects kept for fitted parsers, and parsers behind pipelines."""

from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata
from operator import is_not
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch

from sklearn_shag.utils._arrays import unpack_column
from sklearn_shag.utils._param_validation import Function, _BaseComposition

PACKAGE = "sklearn_shag"

# scikit-learn has no annotations: mypy would admit any attribute of what inherits from its classes.
# Mypy alone takes this for true, and knows these classes; others read scikit-learn's.
MYPY = False
if MYPY:
    _any: Any = None

    class _Estimator:
        __sklearn_tags__ = get_metadata_routing = set_fit_request = set_partial_fit_request = _any
        set_predict_request = set_score_request = set_transform_request = _repr_html_ = _any

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...

    class _Transformer:
        fit_transform = set_output = _any

    class _Names:
        get_feature_names_out = _any

    class _Pipeline(_Transformer, _Estimator):
        __init__ = __getitem__ = __len__ = named_steps = steps = memory = verbose = _any
        fit = fit_predict = predict = score = transform = transform_input = _any

    class _Composition: ...

    BaseComposition = _Composition
    BaseEstimator = _Estimator
    CallbackSupportMixin = object
    NamesMixin = _Names
    Pipeline = _Pipeline
    TransformerMixin = _Transformer
else:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import ClassNamePrefixFeaturesOutMixin as NamesMixin  # noqa: F401
    from sklearn.base import TransformerMixin as TransformerMixin
    from sklearn.pipeline import Pipeline as Pipeline

    BaseComposition = _BaseComposition
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError:  # before version 1.9, scikit-learn had no callbacks
        CallbackSupportMixin = object


class FitTask:
    """A task of a fit, such as a pass, as callbacks of scikit-learn see it.

    Parameters
    ----------
    estimator : estimator or None, default=None
    context : sklearn.callback.CallbackContext or None, default=None
        None if no callback watches.
    parent : FitTask or None, default=None
        The task that this one is a part of.
    stops : bool, default=False
        Whether a callback has asked to stop the tasks within this one.
    """

    def __init__(self, estimator=None, context=None, parent=None, stops=False):
        self.estimator, self.context, self.parent, self.stops = estimator, context, parent, stops

    def begin(self, name, number=None, n_tasks=0):
        """Begin a task within this one, which itself has at most `n_tasks` tasks.

        Tasks that run side by side need a number.
        """
        if self.context is None:
            return self
        context = self.context.subcontext(name, number, n_tasks)
        context = context.call_on_fit_task_begin(estimator=self.estimator)
        return FitTask(self.estimator, context, self, self.stops)

    def end(self, loss=None, score=None):
        """End the task, and report its loss and score to callbacks."""
        if self.context is not None:
            self.parent.stops |= self.context.call_on_fit_task_end(
                estimator=self.estimator, metadata={"loss": loss, "score": score}
            )


UNWATCHED = FitTask()


class WatchedMixin(CallbackSupportMixin):
    """Mixin of estimators that learn in passes, which callbacks of scikit-learn can watch."""

    loss_curve_: list[float]
    n_iter_: int

    if TYPE_CHECKING:

        def set_callbacks(self, *callbacks: Any) -> Self: ...

    @contextmanager
    def _watch(self, n_tasks, in_order=True):
        """Make the first training of a fit, in at most `n_tasks` tasks, a FitTask.

        The others, on parts of the data for calibration, are not watched.
        """
        fit = FitTask(self, parent=FitTask())
        if getattr(self, "_skl_callbacks", ()) and not hasattr(self, "_callback_fit_ctx"):
            context = self._init_callback_context("fit", 0, n_tasks, in_order)
            fit.context = context.call_on_fit_task_begin(estimator=self)
        yield fit
        fit.end()


def linked(cls: Function) -> Function:
    """Decorate estimators: notebooks show them with a link to their page in the documentation."""
    cls._doc_link_module, cls._doc_link_template = PACKAGE, property(_link)
    return cls


def _link(estimator):
    """Make the template of the link to the page of an estimator, empty if there is no address."""
    listed = type(estimator).__name__ in import_module(PACKAGE).__all__
    page = f"{PACKAGE if listed else '{estimator_module}'}.{{estimator_name}}.html"
    return find_documentation() and f"{find_documentation()}/generated/{page}"


@cache
def find_documentation():
    """Find the address of the documentation in the metadata of the package, which may have none."""
    with suppress(PackageNotFoundError):
        addresses = metadata("sklearn-shag").get_all("Project-URL", ())
        return dict(each.split(", ", 1) for each in addresses).get("Documentation", "").rstrip("/")
    return ""


# Objects made of each parser, while it lives, by the function that makes them. They are not its
# attributes, since prediction must not change a parser that is copied and pickled.
_KEPT = WeakKeyDictionary()


def keep(parser, parts, make):
    """Return ``make(*parts)``, kept for a parser as long as its parts are the same objects."""
    made = _KEPT.setdefault(parser, {})
    kept = made.get(make)
    if kept is None or len(kept[0]) != len(parts) or any(map(is_not, kept[0], parts)):
        kept = made[make] = parts, make(*parts)
    return kept[1]


def check_same_symbols(estimator, symbols, what):
    """Refuse with a ValueError symbols from which `warm_start` cannot go on.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    symbols : ndarray
        The symbols of the next fit.
    what : str
        What continues, for the message.
    """
    if not np.array_equal(symbols, estimator.symbols_):
        raise ValueError(
            f"warm_start=True continues with the {what} of the previous fit, which had other "
            f"symbols. Fit the same symbols, or set warm_start=False."
        )


class Steps(NamedTuple):
    """The steps of a pipeline before its parser; a call transforms sentences to its input."""

    steps: list
    keep: Any = None  # puts given tags in place of those by a tagger, given their values

    def __call__(self, sentences):
        given = sentences
        for step in self.steps:
            sentences = unpack_column(step.transform(sentences))
            values = getattr(step, "tag_values_", None)
            if self.keep is not None and values:
                sentences = list(map(partial(self.keep, values), sentences, given))
        return sentences

    def list_columns(self):
        """List the columns that taggers among the steps predict."""
        return [name for step in self.steps for name in getattr(step, "tag_values_", ())]


class OpenMember(NamedTuple):
    """The parser of a member, outside its pipeline, and the transform of its sentences."""

    transform: Steps
    parser: Any


def open_member(member):
    """Find the parser of a member, which may be frozen, or the last step of a pipeline.

    Parameters
    ----------
    member : estimator

    Returns
    -------
    opened : OpenMember
    """
    steps = []
    while isinstance(member, FrozenEstimator | Pipeline) or hasattr(member, "_opened"):
        if isinstance(member, FrozenEstimator):
            member = member.estimator
        elif hasattr(member, "_opened"):
            member = member._opened
        else:
            steps += [step for _, step in member.steps[:-1] if step not in (None, "passthrough")]
            member = member.steps[-1][1]
    return OpenMember(Steps(steps), member)


def find_splitter(member):
    """Find the step that splits text, None if a pipeline has none."""
    steps = open_member(member).transform.steps
    return next((step for step in steps if hasattr(step, "iter_split_text")), None)


def find_params(estimator, name):
    """List the parameters of one name that an estimator and its parts have."""
    return [each for each in estimator.get_params() if each.split("__")[-1] == name]


def set_in_parts(estimator, name, value):
    """Set the parameters of one name that an estimator and its parts have."""
    return estimator.set_params(**dict.fromkeys(find_params(estimator, name), value))


def open_parser(estimator, method, advice=""):
    """Find the parser in an estimator, and the transform of its sentences.

    Parameters
    ----------
    estimator : estimator
        A parser of this package, a pipeline that ends in one, or a search of either.
    method : str
        A method that the parser must have.
    advice : str
        The end of the message.

    Returns
    -------
    opened : OpenMember

    Raises
    ------
    TypeError
        If it is anything else.
    """
    opened = open_member(getattr(estimator, "best_estimator_", estimator))
    if not hasattr(opened.parser, method):
        raise TypeError(
            f"estimator must be a fitted parser of this package, a pipeline that ends in one, or a "
            f"search over either, got a {type(opened.parser).__name__}, which has no {method}."
            f"{advice}"
        )
    return opened


def name_members(pairs):
    """Make a Bunch of members by their names, one of which may be `self`."""
    named = Bunch()  # its __init__ would refuse that name
    named.update(pairs)
    return named


def weight_name(member):
    """Return the name of the weights of sentences in `fit` of a member."""
    steps = []
    while isinstance(member, Pipeline):
        step, member = member.steps[-1]
        steps.append(step)
    return "__".join([*steps, "sample_weight"])
