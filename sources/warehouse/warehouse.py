"""The directory of all batches: files that are written once, each under a fresh name."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path, PurePath
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from catalog.capture.batch import Batch
from catalog.errors import DamagedBatch, DiskFull, Error, InputOutputError
from sources.decode.arrow import columns_with_bounds
from sources.decode.unstorable import UNSTORABLE, unstorable_of
from sources.warehouse.bounds import bounds_of
from sources.warehouse.durable import rename_durably, sync, sync_directory
from sources.warehouse.footers import bounds_in

WEIGHT: Final = "weight"
COMMIT_LSN: Final = "commit_lsn"
IS_UPDATE: Final = "is_update"
CONTROL: Final = (WEIGHT, COMMIT_LSN, IS_UPDATE)
"""The columns that follow the data of every batch."""

COMPRESSION: Final = "zstd"
UNFINISHED: Final = ".unfinished"
PARQUET: Final = ".parquet"

_PIECE_BYTES: Final = 1 << 20
"""So much of a file is read at a time where it need not be in memory as a whole."""
_SLICE_BYTES: Final = 16 << 20

FULL: Final = (errno.ENOSPC, errno.EDQUOT)

_BUFFER: Final = re.compile(r"(table|node)-[0-9a-z-]{1,100}")
_NEW_NAME: Final = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}")
"""An offset and a number that nothing else has."""


def table_buffer(oid: int) -> str:
    """Name of the buffer of a table's changes."""
    return f"table-{oid}"


def is_table_buffer(buffer: str) -> bool:
    """Whether a buffer is that of a table, and not of a query."""
    return buffer.startswith("table-")


def offset_of(file: str) -> int:
    """The offset up to which a file goes: its name begins with it, or that of the folder written for it."""
    path = PurePath(file)
    return int((path.parent if _is_written_folder(path.parent) else path).name.partition("-")[0], 16)


def buffer_folder(file: str) -> str:
    """The folder of a file's buffer: the file lies there, or in a folder there that an engine has written."""
    folder = PurePath(file).parent
    return str(folder.parent if _is_written_folder(folder) else folder)


def _is_written_folder(folder: PurePath) -> bool:
    return _NEW_NAME.fullmatch(folder.name) is not None


def error_of(error: OSError) -> Error:
    """The error for clients of a full disk, or of files that cannot be read or written."""
    if error.errno in FULL:
        hint = "Free space there. Nothing is lost, and it is tried again by itself."
        return DiskFull("the disk of the warehouse is full", detail=f"{error}.", hint=hint)
    hint = "Mend the place. Nothing is lost, and it is tried again by itself."
    return InputOutputError("files cannot be read or written", detail=f"{error}.", hint=hint)


class Warehouse:
    """Batches below a local directory, or below any URI that pyarrow and Spark both reach."""

    def __init__(self, uri: str) -> None:
        if "://" in uri or uri.startswith("file:"):
            self._files, self.root = fs.FileSystem.from_uri(uri)
        else:
            self._files, self.root = fs.LocalFileSystem(), str(Path(uri).absolute())
        self._local = isinstance(self._files, fs.LocalFileSystem)
        self._is_known = False
        # As Hadoop reads it, which decodes nothing: a blank is a blank.
        self.uri = f"file://{self.root}" if self._local else uri

    def probe(self) -> None:
        """Write a small file and remove it; raises any error."""
        file = f"{self.root}/probe-{uuid.uuid4().hex}"
        self._files.create_dir(self.root, recursive=True)
        with self._files.open_output_stream(file) as stream:
            stream.write(b"gavial")
        self._files.delete_file(file)

    def require(self) -> None:
        """Raise InputOutputError unless the directory is there; from now on it is never created.

        Files written to a new one in its place would be lost when the old one comes back.
        """
        if self._local and not Path(self.root).is_dir():
            raise InputOutputError(
                f"the warehouse {self.root} is not there",
                hint="Bring it back, or correct --warehouse, and nothing is lost. If it is gone for good, "
                "make an empty directory in its place: all tables are copied again.",
            )
        self._is_known = True

    def seal(
        self, buffer: str, table: pa.Table, from_offset: int, to_offset: int, schema_version: int
    ) -> Batch:
        """Write rows as a batch; when this returns, they survive a loss of power."""
        sink = pa.BufferOutputStream()
        bounded = columns_with_bounds(table.schema)
        pq.write_table(table, sink, compression=COMPRESSION, store_schema=False, write_statistics=bounded)
        content = sink.getvalue()
        return Batch(
            buffer=buffer,
            file=self.write(buffer, to_offset, content),
            rows=table.num_rows,
            bytes=content.size,
            sha256=hashlib.sha256(content).hexdigest(),
            from_offset=from_offset,
            to_offset=to_offset,
            schema_version=schema_version,
            bounds={
                name: bounds
                for name in table.column_names
                if name not in (COMMIT_LSN, IS_UPDATE, UNSTORABLE)
                and (bounds := bounds_of(table.column(name))) is not None
            },
            unstorable=unstorable_of(table, WEIGHT),
        )

    def write(self, buffer: str, to_offset: int, content: pa.Buffer) -> str:
        """Write a file of a buffer under a fresh name; when this returns, it survives a loss of power."""
        file = f"{self.new_name(buffer, to_offset)}{PARQUET}"
        if self._local:
            _write_durably(Path(self.root, file), content)
        else:
            self._write(file, content)
        return file

    def new_name(self, buffer: str, to_offset: int) -> str:
        """A name that nothing has in the buffer's directory, for a file, or for a folder that others write.

        On this machine the directory is made.
        """
        if not _BUFFER.fullmatch(buffer):
            raise ValueError(f"{buffer!r} names no buffer")
        if self._local:
            directory = Path(self.root, buffer)
            if not self._is_known:
                _make_directory(directory.parent)
                self._is_known = True
            _make_one_directory(directory)
        return f"{buffer}/{to_offset:016x}-{uuid.uuid4().hex}"

    def uri_of_folder(self, folder: str) -> str:
        """The URI by which Spark writes into a folder."""
        return f"{self.uri}/{folder}"

    def seal_folder(
        self, folder: str, from_offset: int, to_offset: int, schema_version: int
    ) -> tuple[Batch, ...]:
        """The files in a folder as batches; when this returns, they survive a loss of power.

        Whatever else is there, and files without rows, are removed.
        """
        batches = []
        for info in self._files.get_file_info(fs.FileSelector(f"{self.root}/{folder}", allow_not_found=True)):
            name = info.base_name
            if info.type is fs.FileType.File and name.endswith(PARQUET) and not name.startswith((".", "_")):
                file = f"{folder}/{name}"
                batch = self._seal_file(file, info.size, from_offset, to_offset, schema_version)
                if batch.rows:
                    batches.append(batch)
        kept = {batch.file for batch in batches}
        self.remove(file for file in self.sizes(folder) if file not in kept)
        if self._local and batches:
            sync_directory(Path(self.root, folder))
            sync_directory(Path(self.root, folder).parent)
        return tuple(sorted(batches, key=lambda batch: batch.file))

    def discard(self, folder: str) -> None:
        """Remove a folder and whatever is in it; a missing one is no error."""
        with contextlib.suppress(FileNotFoundError):
            self._files.delete_dir(f"{self.root}/{folder}")

    def read(self, batch: Batch) -> pa.Table:
        """The rows of a batch, if they are those that were sealed."""
        return pq.read_table(pa.BufferReader(self._content(batch)))

    def slices(self, batch: Batch, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The same, at most so many rows at a time, and only these columns: a file may exceed the memory."""
        self.verify(batch)
        with self._files.open_input_file(f"{self.root}/{batch.file}") as stream:
            content = pq.ParquetFile(stream, buffer_size=_PIECE_BYTES, pre_buffer=False)
            footer = content.metadata
            groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
            width = sum(group.total_byte_size for group in groups) // max(1, footer.num_rows) + 1
            at_a_time = max(1, min(rows, _SLICE_BYTES // width))
            for slice in content.iter_batches(at_a_time, columns=list(columns), use_threads=False):
                yield pa.Table.from_batches([slice])

    def verify(self, batch: Batch) -> None:
        """Raise DamagedBatch unless the file is there, byte by byte."""
        with self._opened(batch) as stream:
            _require(batch, _hash_of(stream))

    def uri_of(self, batch: Batch) -> str:
        """The URI by which Spark reads a batch."""
        return f"{self.uri}/{batch.file}"

    def remove(self, files: Iterable[str]) -> None:
        """Delete files, and folders that then are empty; a missing one is no error."""
        folders = set()
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                self._files.delete_file(f"{self.root}/{file}")
            if file.count("/") > 1:
                folders.add("/".join(file.split("/")[:2]))
        for folder in folders:
            if not self.sizes(folder):
                self.discard(folder)

    def sizes(self, folder: str = "") -> dict[str, int]:
        """How many bytes each file has, finished or not, by its name in the manifest.

        Of one folder, or of all.
        """
        top = f"{self.root}/{folder}".rstrip("/")
        selector = fs.FileSelector(top, recursive=True, allow_not_found=True)
        sizes = {
            info.path.removeprefix(self.root).lstrip("/"): info.size
            for info in self._files.get_file_info(selector)
            if info.type is fs.FileType.File
        }
        return {file: size for file, size in sizes.items() if _BUFFER.match(file)}

    def older_than(self, moment: datetime) -> dict[str, int]:
        """The same of files that were written before a moment."""
        selector = fs.FileSelector(self.root, recursive=True, allow_not_found=True)
        old = {
            info.path.removeprefix(self.root).lstrip("/"): info.size
            for info in self._files.get_file_info(selector)
            if info.type is fs.FileType.File and info.mtime is not None and info.mtime < moment
        }
        return {file: size for file, size in old.items() if _BUFFER.match(file)}

    def sweep(self, named: Collection[str]) -> None:
        """Remove all files that no manifest names, and folders without files; nobody may be sealing."""
        self.remove(self.unnamed(named))
        selector = fs.FileSelector(self.root, recursive=True, allow_not_found=True)
        folders = [
            info.path.removeprefix(self.root).lstrip("/")
            for info in self._files.get_file_info(selector)
            if info.type is fs.FileType.Directory
        ]
        for folder in folders:
            if _BUFFER.match(folder) and folder.count("/") == 1 and not self.sizes(folder):
                self.discard(folder)

    def unnamed(self, named: Collection[str]) -> tuple[str, ...]:
        """The files that no manifest names: garbage, provided that nobody is sealing."""
        return tuple(sorted(self.sizes().keys() - named))

    def _seal_file(
        self, file: str, size: int, from_offset: int, to_offset: int, schema_version: int
    ) -> Batch:
        """A file that is complete, as a batch."""
        path = f"{self.root}/{file}"
        if self._local:
            sync(Path(path))
        with self._files.open_input_stream(path) as stream:
            hash = _hash_of(stream)
        with self._files.open_input_file(path) as stream:
            footer = pq.read_metadata(stream)
        bounds = {
            name: ends for name, ends in bounds_in(footer).items() if name not in (COMMIT_LSN, IS_UPDATE)
        }
        buffer = file.partition("/")[0]
        return Batch(
            buffer=buffer,
            file=file,
            rows=footer.num_rows,
            bytes=size,
            sha256=hash,
            from_offset=from_offset,
            to_offset=to_offset,
            schema_version=schema_version,
            bounds=bounds,
        )

    def _content(self, batch: Batch) -> pa.Buffer:
        with self._opened(batch) as stream:
            content = stream.read_buffer()
        _require(batch, hashlib.sha256(content).hexdigest())
        return content

    def _opened(self, batch: Batch) -> pa.NativeFile:
        try:
            return self._files.open_input_stream(f"{self.root}/{batch.file}")
        except FileNotFoundError:
            self.require()
            raise DamagedBatch(f"batch {batch.file} is missing") from None

    def _write(self, file: str, content: pa.Buffer) -> None:
        """Write to a store where a file appears when it is closed."""
        self._files.create_dir(f"{self.root}/{Path(file).parent}", recursive=True)
        with self._files.open_output_stream(f"{self.root}/{file}") as stream:
            stream.write(content)


def _hash_of(stream: pa.NativeFile) -> str:
    hash = hashlib.sha256()
    while piece := stream.read(_PIECE_BYTES):
        hash.update(piece)
    return hash.hexdigest()


def _require(batch: Batch, hash: str) -> None:
    if hash != batch.sha256:
        raise DamagedBatch(f"batch {batch.file} is not what was written")


def _write_durably(path: Path, content: pa.Buffer) -> None:
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        rename_durably(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _make_directory(directory: Path) -> None:
    if not directory.exists():
        _make_directory(directory.parent)
        _make_one_directory(directory)


def _make_one_directory(directory: Path) -> None:
    if not directory.exists():
        directory.mkdir(exist_ok=True, mode=0o700)
        sync_directory(directory.parent)
