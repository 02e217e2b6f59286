"""Many bad inputs in one test, which lists all that are not refused as they should be."""

import re


def not_refused(cases, call, error=ValueError):
    """List the inputs that `call` takes, or refuses with another message.

    Parameters
    ----------
    cases : iterable of pairs
        What is given, and a regular expression for the message.
    call : callable
    error : type
        Other errors are raised.
    """
    faults = []
    for given, message in cases:
        try:
            call(given)
        except error as raised:
            if not re.search(message, str(raised)):
                faults.append((given, str(raised)))
        else:
            faults.append((given, "is taken"))
    return faults
