"""Types of arrays and of common parameters, for annotations."""

import os
from collections.abc import Sequence
from typing import Any, Literal, TextIO, TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike  # for others
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.intp]
IntArray: TypeAlias = NDArray[np.int64]
ObjectArray: TypeAlias = NDArray[np.object_]
RouteArray: TypeAlias = NDArray[np.uint8]
SignArray: TypeAlias = NDArray[np.int8]
SingleArray: TypeAlias = NDArray[np.float32]
StrArray: TypeAlias = NDArray[np.str_]

IntArrayLike: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]
Allowed: TypeAlias = Sequence[BoolArray | None]
FilePath: TypeAlias = str | os.PathLike[str]
Files: TypeAlias = FilePath | TextIO | Sequence[FilePath | TextIO]
RandomSeed: TypeAlias = int | np.random.RandomState | None
Symbols: TypeAlias = str | Sequence[str]
UniqueRelations: TypeAlias = Literal["auto"] | Sequence[str | tuple[str, ...]]
