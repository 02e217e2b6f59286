"""The network over characters: where tokens and sentences of a text end."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, count, pairwise
from os.path import commonprefix
from typing import Any, Literal, NamedTuple, Self, TextIO

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_shag._parser import Parser
from sklearn_shag.conditional import without_heads
from sklearn_shag.encoding import Batch, check_sentences
from sklearn_shag.network._augmentation import add_altered
from sklearn_shag.network._characters import (
    cut_into_pieces,
    encode_characters,
    iter_columns,
    list_known,
    list_runs,
    list_scripts,
    number_columns,
    read_unknown_as_known,
    shape_of,
)
from sklearn_shag.network._estimators import NetworkLearner
from sklearn_shag.network._network import open_network
from sklearn_shag.network._reading import read_sentences
from sklearn_shag.treebank import (
    ENDS,
    MISSING,
    SENTENCE,
    TOKEN,
    WITHHELD,
    DependencyTree,
    Sentences,
    TextPiece,
    TreeTransformer,
    check_text,
    compose,
    compose_text,
    correct_ends,
    cut_sentences,
    is_spelled,
    iter_text,
    leave_out_invisible,
    list_paragraphs,
    list_sources,
    list_tokens,
    remove_invisible,
    require_trees,
    to_text,
    to_trees,
    words_guessed,
)
from sklearn_shag.utils._arrays import unpack_column
from sklearn_shag.utils._estimators import keep
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._param_validation import fit_context
from sklearn_shag.utils._typing import FilePath, RandomSeed

# For unknown tokens that are not their words put together: the most letters of the ending in a
# rule, and the most of these letters that the first word keeps.
LONGEST_ENDING, MORE = 8, 3
# A token is always split that was so many times, in any capitals, and in its own never seen whole.
EVIDENCE = 3
ALONE = 0.1  # share of training sentences that get a blank line before them
# What is one token, unless most of what matches in training is not: signs between words, addresses
# of the web and of mail, characters as HTML writes them, and names of topics and people. They begin
# with signs wherever they can, which are found faster than what is behind something.
PATTERNS = (
    r"[<>\u2014\u2026](?<=\w.)(?=\w)",
    r"(?:https?://|ftp://|www\.)[^\s<>\"]*[\w/#=&%+~-]",
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    r"(?<!\w)\w*&amp;\w*|&#?\w+;",
    r"[#@](?<!\w.)[^\W\d]\w*",
)


class SplitterFormat(NamedTuple):
    """Format of raw text, split by a splitter: TextPieces are read in place of Pieces."""

    splitter: "Splitter"
    lines: bool  # whether each line is a sentence
    one_line: bool = False  # whether each document is one line of its file

    def sentences(self, pieces):
        """Yield the place of the piece, line, None for the text, and tree of each sentence."""
        plain = [piece._replace(document=None) for piece in pieces]  # others number its sentences
        split = self.splitter._split_pieces(plain, count(1), self.lines)
        for k, (piece, trees) in enumerate(zip(pieces, split, strict=True)):
            line, place = piece.n_lines + 1, 0
            for tree in trees:
                begin = tree.spans[0][0] - piece.n_characters
                if not self.one_line:
                    line, place = line + piece.text.count("\n", place, begin), begin
                yield k, line, None, tree


class Splitter(TreeTransformer, NetworkLearner):
    """Split text into sentences, tokens and words.

    It is the step before the parser in a pipeline, whose :meth:`ParserPipeline.parse_text` then
    takes raw text. A network reads the characters in both directions. It predicts for each whether
    a word, a token or a sentence ends there, and whether the token contains words that are not its
    letters, as French "du" does. These words are looked up among the training tokens; unknown
    tokens are split like training tokens with the same last letters.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(64, 64)
        Number of units per direction in each recurrent layer.
    dropout : "auto" or float, default="auto"
        Probability that an entry of a layer is set to 0 in training. "auto" means 0.1.
    batch_size : "auto" or int, default="auto"
        Approximate number of characters per step. "auto" means 500 for fewer than 100,000 training
        characters and 2,000 otherwise.
    max_iter : "auto" or int, default="auto"
        Number of passes over the text. "auto" means 200 for fewer than 3,000 training characters,
        60 for fewer than 10,000, and 20 for fewer than 100,000. It means 12 for fewer than 300,000,
        8 for fewer than 600,000, and 5 otherwise.
    learning_rate_init : float, default=5e-3
        Learning rate of Adam after the first few steps; it then falls to a fiftieth.
    alpha : float, default=0.0
        Strength of the L2 penalty, divided by the number of characters in a batch.
    min_count : int, default=2
        Characters, character pairs, shapes and words that were seen less often count as unknown.
    max_tokens : int or None, default=120
        Longer sentences, as in text without punctuation, are cut where an end is likeliest, since
        the time to parse one grows with the cube of its length. None leaves them whole.
    augment : bool, default=True
        Whether to learn from altered copies of some sentences, too. They are without the final
        mark, with other quotation marks and apostrophes, in capitals, all in small letters, with
        signs around words, or with no space before the next sentence.
    patterns : sequence of str, default=()
        Regular expressions of which each match is one token, such as ``r"[A-Z]+-[0-9]+"`` for
        tickets. Those that match web and mail addresses, ``&amp;`` and the like, hashtags,
        mentions, and ``>`` or a dash between letters are added, unless most of their matches in
        training are something else.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the order of pieces of text, and random replacement and
        dropout.
    n_jobs : int or None, default=None
        Number of threads for training, which uses at most two. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar on standard error for training that takes more than two seconds; 2
        shows it for all training.

    Attributes
    ----------
    words_ : dict of list of str
        The words of tokens that are always split: those that contained several words at least three
        times in training, counted in any capitals, and were never one word in their own.
    ambiguous_ : dict of list of str
        The words of other such tokens, which are split if the network sees several words.
    endings_ : dict of list of str
        For the last letters of such tokens, the end of the first word, and the other words.
    spaces_ : list of str
        The kinds of characters around white space in training tokens, such as "99" for digits.
        Between others, white space ends a token.
    patterns_ : list of str
        The regular expressions of which each match is one token.
    tag_values_ : dict of list of str
        The kinds of ends that the network tells apart.
    vocabulary_ : dict of list of str
        The known characters, character pairs, shapes of neighbours, and words.
    weights_ : NetworkWeights
        The sizes of layers and all parameters.
    loss_curve_ : list of float
        Mean of ``-log P(what ends | text)`` per character in each iteration, measured before each
        step is taken.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    make_parser_pipeline : Puts a splitter before a parser.
    sklearn_shag.treebank.join_text : Restores the text of sentences.
    sklearn_shag.metrics.raw_text_scores : Scores the analysis of raw text.

    Notes
    -----
    It learns from the annotation in treebanks of Universal Dependencies: the comment "text" of each
    sentence, or else SpaceAfter=No in MISC; multiword tokens; and the comments "newpar" and
    "newdoc". Fifteen sentences suffice to find 97 % of English tokens, and eighty 98.5 %. A blank
    line always ends a sentence, and a line end always ends a token. Nothing ends inside what a
    reader sees as one letter. Decomposed accents are read as their composed form, and characters
    that training did not have are read as others of their kind.

    A run of letters of one script that training did not have is one token, also if the script has
    no spaces, such as Chinese, Japanese (whose scripts count as one) and Thai. Where such a run
    meets letters of another script, the network decides. A script is known if at least ten of its
    letters are, or half of all known letters.

    Some characters of the web have no width and spell nothing: U+00AD, U+200B, U+200E, U+200F,
    U+202A to U+202E, U+2060 to U+2069 and U+FEFF. The sentences are those of the text without them.
    Between tokens they belong to the space around, and inside a token they stay in its form.

    The sentences it makes have the comments "newpar", "sent_id" and "text". MISC of each token has
    TokenRange, the position of its characters in the text, and SpaceAfter, SpacesAfter and
    SpacesBefore, as UDPipe writes them. White space for which UDPipe has no escape, such as a
    no-break space, is written as ``\\u00a0``, and so are characters without width. The last token
    has no SpaceAfter=No, which may not stand before a new document. If nothing follows it, the
    first sentence of the text has the comment ``space_after_document = No`` instead.

    Examples
    --------
    >>> from sklearn_shag import Splitter
    >>> from sklearn_shag.datasets import load_english
    >>> splitter = Splitter(max_iter=8, random_state=0).fit(load_english().data[:100])
    >>> sentences = splitter.split_text("The cat sat on my mat. It slept, I think.")
    >>> [" ".join(tree.forms) for tree in sentences]
    ['The cat sat on my mat .', 'It slept , I think .']
    >>> sentences[1].spans[0]
    (23, 25)
    """

    _parameter_constraints = {
        **NetworkLearner._parameter_constraints,
        "max_tokens": Parser._parameter_constraints["max_tokens"],
        "augment": ["boolean"],
        "patterns": [list, tuple],
    }

    # As SCHEDULE, but for characters, which are more and less diverse than tokens.
    _schedule = (
        (3_000, 500, 200, 0.1),
        (10_000, 500, 60, 0.1),
        (100_000, 500, 20, 0.1),
        (300_000, 2000, 12, 0.1),
        (600_000, 2000, 8, 0.1),
        (np.inf, 2000, 5, 0.1),
    )

    spaces_: list[str]
    patterns_: list[str]
    words_: dict[str, list[str]]
    ambiguous_: dict[str, list[str]]
    endings_: dict[str, list[str]]

    def __init__(
        self,
        *,
        hidden_layer_sizes: Sequence[int] = (64, 64),
        dropout: Literal["auto"] | float = "auto",
        batch_size: Literal["auto"] | int = "auto",
        max_iter: Literal["auto"] | int = "auto",
        learning_rate_init: float = 5e-3,
        alpha: float = 0.0,
        min_count: int = 2,
        max_tokens: int | None = 120,
        augment: bool = True,
        patterns: Sequence[str] = (),
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            hidden_layer_sizes=hidden_layer_sizes,
            dropout=dropout,
            batch_size=batch_size,
            max_iter=max_iter,
            learning_rate_init=learning_rate_init,
            alpha=alpha,
            min_count=min_count,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.max_tokens = max_tokens
        self.augment = augment
        self.patterns = patterns

    @fit_context
    def fit(self, X: Sentences, y: object = None) -> Self:
        """Learn where tokens and sentences end.

        Parameters
        ----------
        X : sequence of length n_sentences
            DependencyTrees in the order of their texts; they need neither tags nor heads.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty or a parameter is invalid.
        TypeError
            If X holds anything but trees.

        Warns
        -----
        UserWarning
            If no tree says where tokens have no space between them.
        """
        self._check_sizes()
        compile_patterns(self.patterns)
        trees, rng = _check_trees(X), check_random_state(self.random_state)
        # Boundaries that nobody has confirmed would confirm themselves.
        trees = [tree for tree in trees if not words_guessed(tree)] or trees
        _warn_if_spaces_are_unknown(trees)
        alone = np.flatnonzero(rng.uniform(size=len(trees)) < ALONE)
        text, ends = _to_composed_text(trees, set(alone.tolist()))
        learned = _learn_words(trees) | {
            "spaces_": _list_spaces(text, ends),
            "patterns_": [*_choose_patterns(text, ends), *self.patterns],
        }
        if self.augment:
            text, ends = add_altered(text, ends, rng)
        paragraphs = list_paragraphs(text)
        # Of these columns only the first is made; the others are made of familiar characters.
        known = list_known([next(iter_columns(text, paragraphs))], self.min_count)["character"]
        columns = list(iter_columns(read_unknown_as_known(text, set(known)), paragraphs))
        vocabulary = list_known(columns, self.min_count) | {"character": known}
        start = self._begin(vocabulary, rng, None, {"end": list(ENDS)})
        places, is_own, indptr = cut_into_pieces(text, paragraphs)
        codes = encode_characters(number_columns(vocabulary), columns)[places]
        tags = np.where(is_own, ends[places], -1)[:, np.newaxis]
        examples = without_heads(codes, indptr, tags, np.ones(indptr.size - 1))
        learned |= self._learn_tags(start, examples, rng)
        vars(self).update(learned, tag_values_=start.tag_values)
        return self

    def split_text(self, text: str, *, lines: bool = False) -> list[DependencyTree]:
        """Split a text.

        Parameters
        ----------
        text : str
            The text, with any white space and line ends.
        lines : bool, default=False
            Whether each line is one sentence, such as a headline or a subtitle. Lines end as in
            Python's text files, with "\\n", "\\r\\n" or "\\r", and not with a form feed or U+2028.
            Blank lines begin paragraphs, and only `max_tokens` still cuts a line.

        Returns
        -------
        trees : list of DependencyTree
            Its sentences, without heads; none if it is blank.
            :func:`~sklearn_shag.treebank.join_text` restores the text from them exactly.

        Raises
        ------
        NotFittedError
            If the splitter is not fitted.
        TypeError
            If `text` is not a str.
        ValueError
            If `text` contains NUL or a lone surrogate, which no text file can contain.
        """
        check_is_fitted(self)
        check_text(text)
        return list(*self._split_pieces([TextPiece("", 0, 0, text)], count(1), lines))

    def iter_split_text(
        self, path_or_file: FilePath | TextIO | Sequence[FilePath | TextIO], *, lines: bool = False
    ) -> Iterator[DependencyTree]:
        """Split the text of files of any size.

        Parameters
        ----------
        path_or_file : str, os.PathLike, text file, or list or tuple of them
            As for :func:`~sklearn_shag.treebank.read_horizontal`. A paragraph of more than
            128 kilobytes is also split at the end of one of its lines, and such a line at a space.
        lines : bool, default=False
            As for :meth:`split_text`.

        Returns
        -------
        trees : iterator of DependencyTree
            The sentences, as in :meth:`split_text`. TokenRange counts the characters of each file,
            with CRLF as one. At once, 32 kilobytes of text are in memory, or such a paragraph.

        Raises
        ------
        NotFittedError
            If the splitter is not fitted.
        ConlluError
            If a file is not text in UTF-8.
        OSError, ValueError, TypeError
            If a file cannot be read, or no file is given.
        """
        check_is_fitted(self)
        numbers, sources = count(1), list_sources(path_or_file, ".txt")
        pieces = chain.from_iterable(map(iter_text, sources))
        split = (self._split_pieces([piece], numbers, lines) for piece in pieces)
        return chain.from_iterable(chain.from_iterable(split))

    def _split_pieces(self, pieces, numbers, lines=False):
        """Yield an iterator over the sentences of each TextPiece; all are split together.

        Pieces are whole documents, with their own numbers, or get `numbers`. With `lines`, each
        line is one sentence.
        """
        visible = [remove_invisible(piece.text) for piece in pieces]
        joined = "\n\n".join(visible)
        if not joined.strip():
            yield from ([] for _ in pieces)
            return
        lengths = np.array(list(map(len, visible)))
        begins = np.cumsum(lengths + 2) - lengths - 2
        stops = (begins + lengths - 1)[lengths > 0] if len(pieces) > 1 else None
        ends = self._find_ends(joined, lines, stops)
        for piece, text, begin in zip(pieces, visible, begins.tolist(), strict=True):
            name = piece.document
            own = numbers if name is None else map(partial("{}-{}".format, name), count(1))
            yield to_trees(piece, ends[begin : begin + len(text)], self._words_of, own)

    def _find_ends(self, text, lines=False, stops=None):
        """Predict the kind of end at each character, int8 (n_characters,).

        If texts were put together, `stops` are their last characters.
        """
        parts = self.vocabulary_, self.weights_, self.tag_values_, self.patterns_
        known, scripts, network, patterns = keep(self, parts, _open_splitter)
        composed, last, composed_last = compose_text(text)
        paragraphs = list_paragraphs(composed, lines)
        familiar = read_unknown_as_known(composed, known["character"])
        if stops is not None:
            stops = composed_last[np.searchsorted(last, stops)]
        codes = encode_characters(known, iter_columns(familiar, paragraphs, stops))
        places, is_own, indptr = cut_into_pieces(composed, paragraphs)
        reading = read_sentences(network, Batch(codes[places], indptr), with_scores=True)
        places = places[is_own]
        scores = reading.tag_scores[is_own]
        found = np.zeros(len(composed), dtype=np.int8)
        found[places] = scores.argmax(axis=1)
        runs = list_runs(composed, scripts)
        correct_ends(found, composed, paragraphs, lines, self._keeps_space, patterns, runs)

        def likely(characters):
            rows = scores[np.searchsorted(places, characters)].astype(np.float64)
            rows = np.nan_to_num(rows)
            return rows[:, -1] - rows[:, :-1].max(axis=1)

        cut_sentences(found, likely, self.max_tokens or len(composed))
        ends = np.zeros(len(text), dtype=np.int8)
        ends[last] = found[composed_last]
        return ends

    def _keeps_space(self, before, behind):
        """Return whether training tokens have white space between such characters."""
        return shape_of(before) + shape_of(behind) in self.spaces_

    def _words_of(self, form, seems_several, cuts):
        """Return the words of a token, None if it is a single word.

        The network may see several words, or where they end (`cuts`).
        """
        plain = compose(form)
        known = plain if plain in self.words_ or plain in self.ambiguous_ else plain.lower()
        words = self.words_.get(known) or ((seems_several or cuts) and self.ambiguous_.get(known))
        if words:
            return _spell_words(plain, words)
        if cuts:
            return [compose(form[begin:end]) for begin, end in pairwise([0, *cuts, len(form)])]
        return _split_by_ending(plain, self.endings_) if seems_several else None

    def fit_transform(self, X: Sequence[DependencyTree | str], y: object = None) -> list[Any]:
        """Learn from trees, and split the texts among them.

        Parameters
        ----------
        X : sequence
            DependencyTrees, as for :meth:`fit`, and any number of texts (str), from which a parser
            behind this step may learn too.
        y : object, default=None
            Not used.

        Returns
        -------
        sentences : list
            The trees, and in place of each text its sentences.

        Raises
        ------
        ValueError, TypeError
            As for :meth:`fit`.
        """
        X = unpack_column(X)
        self.fit([each for each in X if not isinstance(each, str)])
        parts = (self.split_text(each) if isinstance(each, str) else [each] for each in X)
        return self._as_output(check_sentences(list(chain.from_iterable(parts)))[0])

    def transform(self, X: Sentences) -> list[DependencyTree]:
        """Return sentences, which are already split, unchanged.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences as the next step of a pipeline takes them. For text use :meth:`split_text`,
            since one text makes several sentences.

        Returns
        -------
        sentences : list
            The sentences in X.

        Raises
        ------
        NotFittedError
            If the splitter is not fitted.
        ValueError, TypeError
            If X does not hold sentences.
        """
        check_is_fitted(self)
        return self._as_output(check_sentences(X, allow_empty=True)[0])

    def score(self, X: Sentences, y: object = None) -> float:
        """Compute how well the text of trees is split.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : object, default=None
            Not used.

        Returns
        -------
        score : float
            The mean of the token F1 and the sentence F1, in [0, 1], as in
            :func:`~sklearn_shag.metrics.raw_text_scores`.

        Raises
        ------
        NotFittedError
            If the splitter is not fitted.
        ValueError, TypeError
            As for :meth:`fit`.
        """
        check_is_fitted(self)
        text, true = _to_composed_text(_check_trees(X))
        scores, found = [], self._find_ends(text)
        for least in (TOKEN, SENTENCE):
            places = (np.flatnonzero(ends >= least).tolist() for ends in (true, found))
            one, other = (set(pairwise([-1, *of_side])) for of_side in places)
            scores.append(2 * len(one & other) / (len(one) + len(other)))
        return float(np.mean(scores))


def _check_trees(X):
    trees, _ = check_sentences(X)
    require_trees(trees, "X", "where tokens and sentences end is")
    forms = chain.from_iterable(tree.forms for tree in trees)
    if {MISSING, ""}.issuperset(map(remove_invisible, forms)):
        raise ValueError(
            f"All forms of X are {MISSING!r} or invisible: they are no text. {WITHHELD}"
        )
    return trees


def _open_splitter(vocabulary, weights, tag_values, patterns):
    """Return the codes of known values by column, known scripts, the Network, and patterns."""
    network = open_network(weights, vocabulary, tag_values=tag_values)
    known, scripts = number_columns(vocabulary), list_scripts(vocabulary["character"])
    return known, scripts, network, compile_patterns(patterns)


def _to_composed_text(trees, begin_paragraphs=()):
    """Rebuild the text of trees, composed and without invisible characters, and mark its ends."""
    source, ends = to_text(trees, begin_paragraphs)
    text, places = leave_out_invisible(source)
    ends = np.maximum.reduceat(ends, places[:-1])  # also those at invisible characters behind
    composed, last, composed_last = compose_text(text)
    moved = np.zeros(len(composed), dtype=np.int8)
    moved[composed_last] = ends[last]
    return composed, moved


def _list_spaces(text, ends):
    """List the shapes of the characters on both sides of a space in tokens, such as "99"."""
    places = (match.start() for match in re.finditer(r"\S \S", text))
    return sorted({shape_of(text[k]) + shape_of(text[k + 2]) for k in places if ends[k] < TOKEN})


def compile_patterns(patterns):
    """Compile regular expressions; raise a ValueError if one is none."""
    try:
        return list(map(re.compile, patterns))
    except (re.error, TypeError) as error:
        raise ValueError(f"patterns must hold regular expressions, each a str: {error}.") from error


def _choose_patterns(text, ends):
    """List the built-in patterns of which at least half of what matches is one training token."""
    is_end = np.append(ends >= TOKEN, True)

    def is_token(match):
        begin, end = match.span()
        is_begin = is_end[begin - 1] or text[begin - 1] == " "
        return is_begin and is_end[end - 1] and not is_end[begin : end - 1].any()

    right = {p: list(map(is_token, re.finditer(p, text))) for p in PATTERNS}
    return [pattern for pattern, found in right.items() if 2 * sum(found) >= len(found)]


def _warn_if_spaces_are_unknown(trees):
    misc = "|".join(token.misc for tree in trees for token in list_tokens(tree))
    if "SpaceAfter=No" not in misc and not any(tree.text for tree in trees):
        warn(
            "X does not say where tokens have no space between them: no tree has the comment "
            "text, and no token has SpaceAfter=No in MISC. So punctuation will stay glued to "
            "words in other text. Add one of the two to the treebank, and fit again.",
            UserWarning,
        )


def _learn_words(trees):
    """Return `words_`, `ambiguous_` and `endings_`, learned from multiword tokens."""
    seen, n_split = defaultdict(Counter), Counter()
    for token in chain.from_iterable(map(list_tokens, trees)):
        words = tuple(map(compose, token.words)) if len(token.words) > 1 else None
        seen[form := compose(token.form)][words] += 1
        n_split[form.lower()] += words is not None
    words, ambiguous, ended = {}, {}, defaultdict(Counter)
    for form, counts in sorted(seen.items()):
        n_whole = counts.pop(None, 0)
        if not counts:
            continue
        ((chosen, _),) = counts.most_common(1)
        is_sure = not n_whole and n_split[form.lower()] >= EVIDENCE
        (words if is_sure else ambiguous)[form] = list(chosen)
        if is_spelled(form, chosen):
            continue  # the network learns where words end in such tokens
        first, *others = (word.lower() for word in chosen)
        n_same = len(commonprefix([form.lower(), first]))  # noqa: RUF071  (they are no paths)
        shortest = max(1, n_same - MORE, len(form) - LONGEST_ENDING)
        for k in range(shortest, min(n_same, len(form) - 1) + 1):
            ended[form[k:].lower()][first[k:], *others] += 1
    for form, counts in seen.items():
        if not counts and form.lower() in words:  # only seen whole in its own capitals
            ambiguous[form] = _spell_words(form, words[form.lower()])
    endings = {
        letters: list(counts.most_common(1)[0][0])
        for letters, counts in sorted(ended.items())
        if counts.total() > 1  # one token is no rule
    }
    return {"words_": words, "ambiguous_": ambiguous, "endings_": endings}


def _spell_words(form, words):
    """Spell the words of a token, known in other capitals, as the token is spelled."""
    if is_spelled(form, words):
        return [form[a:b] for a, b in pairwise(accumulate(map(len, words), initial=0))]
    if form.isupper() and len(form) > 1:
        return [word.upper() for word in words]
    first, *others = words
    return [first[:1].upper() + first[1:], *others] if form[0].isupper() else words


def _split_by_ending(form, endings):
    """Return the words of an unknown token by its longest known ending; None without any."""
    for k in range(max(1, len(form) - LONGEST_ENDING), len(form)):
        if ending := endings.get(form[k:].lower()):
            return [form[:k] + ending[0], *ending[1:]]
    return None
