"""Files that are either complete or not there, limits of reading, errors that name files."""

import errno
import io
import os
import re
import stat
import sys

import pytest

from sklearn_shag.utils._io import atomic_write, read_bytes
from tests.loops import over


def write_to_full_disk(file, n_bytes):
    """Let what a file writes go where there is no room."""
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, file.fileno())
    os.close(full)
    file.write(b"x" * n_bytes)


class TestReadBytes:
    def test_up_to_the_limit(self, tmp_path):
        path = tmp_path / "file"
        path.write_bytes(b"x" * 1000)
        assert read_bytes(path) == read_bytes(path, max_bytes=1000) == b"x" * 1000
        message = (
            rf"^{re.escape(str(path))} cannot be read: it has more than 999 bytes; if you trust "
            r"it, give a larger max_bytes\.$"
        )
        with pytest.raises(OSError, match=message) as caught:
            read_bytes(path, max_bytes=999)
        assert caught.value.errno == errno.EFBIG

    @pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no /dev/zero")
    def test_no_more_than_the_limit(self):
        with pytest.raises(OSError, match="/dev/zero cannot be read: it has more than 1,000,000"):
            read_bytes("/dev/zero", max_bytes=1_000_000)

    @pytest.mark.parametrize("wrap", [io.BytesIO, lambda data: io.StringIO(data.decode())])
    def test_standard_input(self, wrap, monkeypatch):
        data = "é".encode() * 1_500_000
        monkeypatch.setattr(sys, "stdin", wrap(data))
        assert read_bytes("-", max_bytes=len(data)) == data
        monkeypatch.setattr(sys, "stdin", wrap(data))
        with pytest.raises(OSError, match=r"^<stdin> cannot be read: it has more than 2,999,999"):
            read_bytes("-", max_bytes=len(data) - 1)


class TestAtomicWrite:
    @pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
    def test_permissions(self, tmp_path):
        old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
        old.touch()
        old.chmod(0o640)
        plain.touch()
        for path in (old, new):
            with atomic_write(path) as file:
                file.write(b"x")
        assert stat.S_IMODE(old.stat().st_mode) == 0o640
        assert new.stat().st_mode == plain.stat().st_mode

    @pytest.mark.skipif(os.name != "posix", reason="symbolic links of POSIX")
    def test_symbolic_link_is_followed(self, tmp_path):
        """First to a file that is not there."""
        (tmp_path / "link").symlink_to("target")
        for content in (b"old", b"new"):
            with atomic_write(tmp_path / "link") as file:
                file.write(content)
            assert (tmp_path / "target").read_bytes() == content
        assert (tmp_path / "link").is_symlink()

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
    @over("n_bytes", [1, 1_000_000])
    def test_full_disk(self, n_bytes, tmp_path):
        """The path that the user knows is named, and not the temporary file."""
        path = tmp_path / "file"
        message = rf"^{re.escape(str(path))} cannot be written: No space left on device\.$"
        with pytest.raises(OSError, match=message) as caught, atomic_write(path) as file:
            write_to_full_disk(file, n_bytes)
        assert caught.value.errno == errno.ENOSPC
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("number", [errno.EIO, errno.EDQUOT])
    @pytest.mark.parametrize("function", ["fsync", "replace"])
    def test_errors_after_writing(self, function, number, tmp_path, monkeypatch):
        def fail(path, *_):
            raise OSError(number, os.strerror(number), path)

        monkeypatch.setattr(os, function, fail)
        path = tmp_path / "file"
        message = rf"^{re.escape(str(path))} cannot be written: {os.strerror(number)}\.$"
        with pytest.raises(OSError, match=message) as caught, atomic_write(path) as file:
            file.write(b"x")
        assert caught.value.errno == number
        assert os.listdir(tmp_path) == []

    @over(
        ("error", "message"),
        [
            (OSError(errno.EIO, os.strerror(errno.EIO), "input"), r"^\[Errno 5\] .*'input'$"),
            (OSError("in words"), r"^in words$"),
        ],
    )
    def test_other_errors_pass(self, tmp_path, error, message):
        """An input that cannot be read is not the fault of the output."""
        with pytest.raises(OSError, match=message), atomic_write(tmp_path / "file"):
            raise error

    @pytest.mark.skipif(os.name != "posix", reason="synchronisation of folders")
    def test_on_the_disk_before_it_has_its_name(self, tmp_path, monkeypatch):
        done, fsync, replace = [], os.fsync, os.replace
        monkeypatch.setattr(os, "fsync", lambda f: done.append(os.fstat(f).st_size) or fsync(f))
        monkeypatch.setattr(os, "replace", lambda *paths: done.append("name") or replace(*paths))
        with atomic_write(tmp_path / "file") as file:
            file.write(b"text")
        assert done == [4, "name"]

    @pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no /dev/null")
    def test_devices_are_written_directly(self):
        with atomic_write("/dev/null") as file:
            file.write(b"x")
        assert not os.path.isfile("/dev/null")
