"""Java's archive of Spark's classes: used where it is, done without where it is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tarnbeck.node import rehearse
from tarnbeck.spark import archive
from tarnbeck.spark.jars import find_java

SUBMIT = "org.apache.spark.deploy.SparkSubmit"


def test_java_is_told_of_an_archive_only_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert archive.options("spark") == []
    archive.place("spark").parent.mkdir(parents=True)
    archive.place("spark").touch()
    assert archive.options("spark")[0] == f"-XX:SharedArchiveFile={archive.place('spark')}"


def test_another_java_needs_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive.place("spark")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert archive.place("spark") != before


def test_an_environment_that_can_t_hold_an_archive_is_told_and_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "share").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert rehearse.main([]) == 0
    assert "all works without it" in capsys.readouterr().err


@pytest.mark.spark
def test_a_session_takes_its_classes_from_the_archive(spark: Any) -> None:
    """Set-up for tests makes one. Java says nothing about one that does not fit, but where a class comes from."""
    made = f"-XX:SharedArchiveFile={archive.place('spark')}"
    runtime = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    assert made in list(runtime.getInputArguments())
    command = [str(find_java()), made, "-Xlog:class+load", "-cp", runtime.getClassPath()]
    done = subprocess.run([*command, SUBMIT, "--version"], capture_output=True, text=True, timeout=60, check=True)
    (line,) = [line for line in done.stdout.splitlines() if f" {SUBMIT} " in line]
    assert line.endswith("shared objects file (top)")
