"""Requests: their bodies, and the fields of forms, urlencoded or multipart."""

from email.parser import BytesParser
from functools import partial
from urllib.parse import parse_qsl

MAX_FIELDS = 20  # of a request
SKIPPED = 16  # times the largest body: what is read of one that is too large
_read_form = partial(parse_qsl, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)


def read_body(environ, max_bytes):
    """Read the body of a request.

    Parameters
    ----------
    environ : dict
        Of the request, by PEP 3333.
    max_bytes : int
        The largest body that is not refused.

    Returns
    -------
    body : bytes

    Raises
    ------
    OverflowError
        If it is larger.
    ValueError
        If it ends early.
    """
    stream, given = environ["wsgi.input"], environ.get("CONTENT_LENGTH")
    # Servers that end the stream may not know how long it is: the body comes in chunks.
    is_open = not given and environ.get("wsgi.input_terminated", False)
    length = SKIPPED * max_bytes if is_open else max(int(given or 0), 0)
    is_large = length > max_bytes and not is_open
    body = b"" if is_large else stream.read(min(length, max_bytes + 1))
    if is_large or len(body) > max_bytes:
        # Most clients send all before they read an answer. Some kilobytes are in memory at once.
        for left in range(min(length, SKIPPED * max_bytes) - len(body), 0, -(2**16)):
            stream.read(min(left, 2**16))
        raise OverflowError(f"The body has more than {max_bytes:,} bytes.")
    if len(body) < length and not is_open:
        raise ValueError("The body ends early.")
    return body


def read_fields(environ, body):
    """Make a dict of the parameters in the address and in the body of a request."""
    of_query = _read_form(environ.get("QUERY_STRING", "").encode("latin-1").decode())
    return dict(of_query + _read_parts(environ.get("CONTENT_TYPE", ""), body))


def _read_parts(kind, body):
    """List names and values of the parameters in a body of the given type."""
    head = b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n"
    headers = BytesParser().parsebytes(head)
    if not body or headers.get_content_type() == "application/x-www-form-urlencoded":
        return _read_form(body.decode())
    if body.count(b"--" + headers.get_boundary("").encode("latin-1")) > MAX_FIELDS + 1:
        raise ValueError(f"The body has more than {MAX_FIELDS} parameters.")
    form = BytesParser().parsebytes(head + body)
    if form.get_content_type() != "multipart/form-data" or form.defects:
        raise ValueError("The body must be a form, urlencoded or multipart.")
    parts = ((part.get_param("name", header="Content-Disposition"), part) for part in form.walk())
    return [
        (name, part.get_payload(decode=True).decode())
        for name, part in parts
        if isinstance(name, str) and not part.is_multipart()
    ]
