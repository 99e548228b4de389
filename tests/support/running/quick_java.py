"""How the Java processes of tests start in a third of the time that they would take.

They live for minutes, and a start is most of what they do. So only Java's quick compiler is used, and Spark's
classes come from an archive that is mapped into memory. Run as a program, this writes the archive.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import pyarrow as pa

from executors.spark import session
from executors.spark.session import SparkSettings, close_session, open_session
from tests.support.checkout import ROOT

VARIABLE: Final = "SPARK_SUBMIT_OPTS"
ARCHIVE: Final = ROOT / ".venv" / "tools" / "java" / "classes.jsa"
QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:cds=off -Xlog:cds+dynamic=off"
WRITING_SECONDS: Final = 300


def options() -> str:
    """For Spark's driver; an archive that another Java has written is left aside by Java itself."""
    return f"{QUICK} -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.exists() else QUICK


def write_archive() -> None:
    """Use of Spark what a firing uses, and have Java write down the classes when it ends."""
    ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    os.environ[VARIABLE] = f"{QUICK} -XX:ArchiveClassesAtExit={ARCHIVE}"
    session.STOP_SECONDS = WRITING_SECONDS
    with tempfile.TemporaryDirectory() as directory:
        spark = open_session(SparkSettings(Path(directory)))
        rows = spark.createDataFrame(pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]}))
        rows.createOrReplaceTempView("rows")
        spark.sql("SELECT b, sum(a), count(DISTINCT a) FROM rows GROUP BY b ORDER BY b").toArrow()
        rows.write.parquet(f"{directory}/rows")
        read = spark.read.parquet(f"{directory}/rows")
        read.join(rows, "a").groupBy("a").count().toArrow()
        close_session(spark)


if __name__ == "__main__":
    write_archive()
    sys.exit(not ARCHIVE.exists())
