"""What parsers make of what they have learned, once for many calls."""

from operator import is_not
from weakref import WeakKeyDictionary

# Of each parser, while it lives, by the function that makes it. No attributes of theirs, since
# prediction must not change what is copied and pickled.
_KEPT = WeakKeyDictionary()


def keep(parser, parts, make):
    """Make something of parts of a parser, or take what was made of these very parts before."""
    made = _KEPT.setdefault(parser, {})
    kept = made.get(make)
    if kept is None or any(map(is_not, kept[0], parts)):
        kept = made[make] = parts, make(*parts)
    return kept[1]
