"""The directory of all batches: files that are written once, each under a fresh name."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import uuid
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from catalog.capture.batch import Batch
from catalog.errors import DamagedBatch, DiskFull, Error, InputOutputError
from sources.decode.arrow import columns_with_bounds
from sources.decode.unstorable import UNSTORABLE, unstorable_of
from sources.warehouse.bounds import bounds_of
from sources.warehouse.durable import rename_durably, sync_directory

WEIGHT: Final = "weight"
COMMIT_LSN: Final = "commit_lsn"
IS_UPDATE: Final = "is_update"
CONTROL: Final = (WEIGHT, COMMIT_LSN, IS_UPDATE)
"""The columns that follow the data of every batch."""

COMPRESSION: Final = "zstd"
UNFINISHED: Final = ".unfinished"

FULL: Final = (errno.ENOSPC, errno.EDQUOT)

_BUFFER: Final = re.compile(r"(table|node)-[0-9a-z-]{1,100}")


def table_buffer(oid: int) -> str:
    """Name of the buffer of a table's changes."""
    return f"table-{oid}"


def is_table_buffer(buffer: str) -> bool:
    """Whether a buffer is that of a table, and not of a query."""
    return buffer.startswith("table-")


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
        if not _BUFFER.fullmatch(buffer):
            raise ValueError(f"{buffer!r} names no buffer")
        sink = pa.BufferOutputStream()
        bounded = columns_with_bounds(table.schema)
        pq.write_table(table, sink, compression=COMPRESSION, store_schema=False, write_statistics=bounded)
        content = sink.getvalue()
        file = f"{buffer}/{to_offset:016x}-{uuid.uuid4().hex}.parquet"
        if self._local:
            directory = Path(self.root, buffer)
            if not self._is_known:
                _make_directory(directory.parent)
                self._is_known = True
            _make_one_directory(directory)
            _write_durably(Path(self.root, file), content)
        else:
            self._write(file, content)
        return Batch(
            buffer=buffer,
            file=file,
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

    def read(self, batch: Batch) -> pa.Table:
        """The rows of a batch, if they are those that were sealed."""
        return pq.read_table(pa.BufferReader(self._content(batch)))

    def verify(self, batch: Batch) -> None:
        """Raise DamagedBatch unless the file is there, byte by byte."""
        self._content(batch)

    def uri_of(self, batch: Batch) -> str:
        """The URI by which Spark reads a batch."""
        return f"{self.uri}/{batch.file}"

    def remove(self, files: Iterable[str]) -> None:
        """Delete files; a missing one is no error."""
        for file in files:
            try:
                self._files.delete_file(f"{self.root}/{file}")
            except FileNotFoundError:
                continue

    def sizes(self) -> dict[str, int]:
        """How many bytes each file has, finished or not, by its name in the manifest."""
        selector = fs.FileSelector(self.root, recursive=True, allow_not_found=True)
        sizes = {
            info.path.removeprefix(self.root).lstrip("/"): info.size
            for info in self._files.get_file_info(selector)
            if info.type is fs.FileType.File
        }
        return {file: size for file, size in sizes.items() if _BUFFER.match(file)}

    def unnamed(self, named: Collection[str]) -> tuple[str, ...]:
        """The files that no manifest names: garbage, provided that nobody is sealing."""
        return tuple(sorted(self.sizes().keys() - named))

    def _content(self, batch: Batch) -> pa.Buffer:
        try:
            with self._files.open_input_stream(f"{self.root}/{batch.file}") as stream:
                content = stream.read_buffer()
        except FileNotFoundError:
            self.require()
            raise DamagedBatch(f"batch {batch.file} is missing") from None
        if hashlib.sha256(content).hexdigest() != batch.sha256:
            raise DamagedBatch(f"batch {batch.file} is not what was written")
        return content

    def _write(self, file: str, content: pa.Buffer) -> None:
        """Write to a store where a file appears when it is closed."""
        self._files.create_dir(f"{self.root}/{Path(file).parent}", recursive=True)
        with self._files.open_output_stream(f"{self.root}/{file}") as stream:
            stream.write(content)


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
