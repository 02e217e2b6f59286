"""Archives of arrays from untrusted sources, read within a limit of memory."""

import io
import json
import math
import zipfile
from itertools import chain

import numpy as np
from numpy.lib import format

from sklearn_shag.utils._arrays import check_shape

HEADER = "header"
# Share of the header in the limit: Python objects of its text take up to 24 times the room.
_HEADER_SHARE = 1 / 16
_MAX_DEPTH = 64  # of lists and dicts in the header; a pipeline in a pipeline takes four
_MAX_MEMBERS = 1 << 14  # arrays of an archive
_ENTRY = b"PK\x01\x02"  # first bytes of each entry in the directory of an archive
_PICKLE = b"\x80"  # first byte of a pickle, also of joblib
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LONGEST_HEADER = 256  # of an .npy file, in bytes; in model files it has 118
_TYPES = ("bool", "uint8", "int64", "float16", "float32", "float64")


class ModelFileError(ValueError):
    """A file is not a saved model, is damaged, or needs more memory than is allowed.

    The message names the file and says what is wrong with it, in at most 500 characters and without
    control characters.

    Parameters
    ----------
    message : str
        The file, and what is wrong with it.

    See Also
    --------
    load_model : Raises this error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_shag import ModelFileError, load_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> _ = path.write_text("no model")
    >>> try:
    ...     load_model(path)
    ... except ModelFileError as error:
    ...     print(str(error).removeprefix(str(path)))
     is not a saved model, or is damaged: it is no .npz archive, as save_model and the command
    train write it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


def require(holds, problem):
    """Refuse a file, of which something does not hold, with a message about the problem."""
    if not holds:
        raise ModelFileError(problem)


class Archive:
    """The arrays of a model file, each read when it is asked for.

    Parameters
    ----------
    data : bytes
        The file.
    max_bytes : None or int
        Largest total size of the arrays that are read, unpacked; None is no limit.

    Attributes
    ----------
    max_bytes : float
        Infinity if there is no limit.

    Raises
    ------
    ModelFileError
        Also from the methods. The message does not name the file.
    """

    def __init__(self, data, max_bytes):
        # numpy would take any other file for a pickle, and advise to trust it.
        is_archive = zipfile.is_zipfile(io.BytesIO(data))
        require(
            is_archive or not data.startswith(_PICKLE),
            "it looks like a pickle. joblib.load or pickle.load may read it, but loading it can "
            "run any code, so load only what you trust.",
        )
        require(is_archive, "it is no .npz archive, as save_model and the command train write it.")
        # zipfile makes objects of all entries, a hundred times as large, before any can be counted.
        require(
            data.count(_ENTRY) <= _MAX_MEMBERS,
            f"its directory has more than {_MAX_MEMBERS:,} entries.",
        )
        self.max_bytes = self._left = math.inf if max_bytes is None else max_bytes
        self.same = {}  # arrays that are stored under the name of an equal one
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        self._members = {info.filename: info for info in self._archive.infolist()}
        require(len(self._members) == len(self._archive.infolist()), "it holds an array twice.")

    def read_header(self):
        """Read the JSON that describes the arrays.

        Returns
        -------
        header : object
            Of strings, numbers, None, lists and dicts that are not nested deeply.
        """
        require(
            f"{HEADER}.npy" in self._members,
            "it is an archive without a header, which all files of save_model and the command "
            "train have.",
        )
        text = self.read(HEADER, np.uint8, self.max_bytes * _HEADER_SHARE)
        check_shape(text, (None,), "its header")
        header = json.loads(text.tobytes())
        nested = [[header]]
        for _ in range(_MAX_DEPTH + 1):
            nodes = chain.from_iterable(
                node.values() if isinstance(node, dict) else node for node in nested
            )
            nested = [node for node in nodes if type(node) in (dict, list)]
            if not nested:
                return header
        raise ModelFileError(f"its header is nested more than {_MAX_DEPTH} levels deep.")

    def read(self, name, dtype, max_bytes=math.inf):
        """Read an array.

        Parameters
        ----------
        name : str
        dtype : type
            The expected type of its entries.
        max_bytes : float, default=inf
            Largest size of this array, within the rest of the limit of the archive.

        Returns
        -------
        array : ndarray
        """
        info = self._members.get(f"{self.same.get(name, name)}.npy")
        require(info is not None, f"it holds no array {name}.")
        require(
            not info.flag_bits & 1 and info.compress_type in _METHODS,
            f"the array {name} is encrypted, or compressed in another way.",
        )
        require(
            info.file_size <= min(self._left, max_bytes),
            f"it holds more than max_bytes={self.max_bytes:,} unpacked, or more than "
            f"{_HEADER_SHARE:.0%} of that in its header. If you trust it, load it with a "
            f"larger max_bytes, or None.",
        )
        self._left -= info.file_size
        with self._archive.open(info) as file:
            array = _read_npy(file, info.file_size, name)
        require(array.dtype == dtype, f"{name} holds {array.dtype}, not {np.dtype(dtype)}.")
        return array


def _read_npy(file, n_bytes, name):
    """Read an .npy file whose size is known, so that its header cannot ask for more room."""
    version = format.read_magic(file)
    shape, _, dtype = format.read_array_header_1_0(file, _LONGEST_HEADER)
    require(
        version == (1, 0) and dtype in _TYPES,
        f"the array {name} is not in version 1.0 of the .npy format with one of the types "
        f"{', '.join(_TYPES)}.",
    )
    expected = file.tell() + math.prod(shape) * dtype.itemsize
    require(n_bytes == expected, f"the array {name} is longer or shorter than it should be.")
    file.seek(0)
    array = format.read_array(file, allow_pickle=False)
    require(
        dtype != "bool" or array.view(np.uint8).max(initial=0) <= 1,
        f"the array {name} is of bool, but holds bytes other than 0 and 1.",
    )
    return array
