from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from tarnbeck.errors import SetupError
from tarnbeck.spark import jars as setup

IVY = """\
case "$*" in
  *-version*) echo 'openjdk version "17.0.1" 2021-10-19' >&2; exit 0;;
esac
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path / "cache" / "tarnbeck" / "jars"


def fake_java(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A `java` that does what the test says, and the only one on PATH."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{java.parent}:/usr/bin:/bin")
    return java


def resolving(script: str) -> str:
    """An Ivy that gets its retrieve pattern in $jars, as far as the [conf] part."""
    find = 'for word in "$@"; do case "$word" in */\\[conf\\]*) jars="${word%%/\\[conf\\]*}";; esac; done'
    return f"{IVY}{find}\n{script}"


def test_missing_java_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SetupError, match=r"no java on PATH\n  tarnbeck needs Java 17 or newer\n.*openjdk-17"):
        setup.find_java()


def test_a_java_home_without_java_is_told_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(SetupError, match=r"no java in JAVA_HOME \(/nowhere\)"):
        setup.find_java()


@pytest.mark.parametrize(("text", "version"), [("1.8.0_402", 8), ("11.0.2", 11)])
def test_an_older_java_is_refused_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, version: int
) -> None:
    java = fake_java(tmp_path, monkeypatch, f"echo 'openjdk version \"{text}\"' >&2")
    with pytest.raises(SetupError) as error:
        setup.find_java()
    assert f"set-up: {java} is Java {version}\n  tarnbeck needs Java 17 or newer" in str(error.value)


@pytest.mark.parametrize("text", ["17.0.15", "21", "25-ea"])
def test_java_17_and_newer_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    java = fake_java(tmp_path, monkeypatch, f"echo 'openjdk version \"{text}\"' >&2")
    assert setup.find_java() == java


def test_java_home_goes_before_path_as_it_does_for_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = fake_java(tmp_path, monkeypatch, "echo 'openjdk version \"21\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    assert setup.find_java() == java


def test_a_java_that_says_nonsense_is_told_with_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, monkeypatch, "echo what >&2; exit 1")
    with pytest.raises(SetupError, match=r"can't tell the version of .*\n  it said: what"):
        setup.find_java()


def test_jars_are_fetched_once_and_then_come_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    count = tmp_path / "count"
    fetch = f'echo x >> "{count}"; mkdir -p "$jars/spark" "$jars/broker"; touch "$jars/spark/b.jar" "$jars/spark/a.jar"'
    fake_java(tmp_path, monkeypatch, resolving(fetch + '; touch "$jars/broker/k.jar"'))
    assert [jar.name for jar in setup.jars("spark")] == ["a.jar", "b.jar"]
    assert [jar.name for jar in setup.jars("broker")] == ["k.jar"]
    assert count.read_text() == "x\n"
    (folder,) = own_cache.iterdir()
    assert setup.jars("spark")[0].parent.parent == folder


def test_an_interrupted_fetch_leaves_nothing_that_looks_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    fake_java(tmp_path, monkeypatch, resolving('mkdir -p "$jars/spark"; touch "$jars/spark/a.jar"; exit 1'))
    with pytest.raises(SetupError):
        setup.jars("spark")
    assert list(own_cache.iterdir()) == []


def test_the_slower_of_two_fetches_takes_the_folder_of_the_quicker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    ivy = (Path(setup.__file__).parent / "ivy.xml").read_bytes()
    folder = own_cache / hashlib.sha256(ivy).hexdigest()[:16]
    quicker = f'mkdir -p "{folder}/spark" "$jars/spark"; touch "{folder}/spark/quick.jar" "$jars/spark/slow.jar"'
    fake_java(tmp_path, monkeypatch, resolving(quicker))
    assert [jar.name for jar in setup.jars("spark")] == ["quick.jar"]
    assert list(own_cache.iterdir()) == [folder]


def test_a_network_that_does_not_answer_is_told_with_what_ivy_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "\tServer access error at url https://x/y.jar (java.net.UnknownHostException: x)"
    fake_java(tmp_path, monkeypatch, resolving(f"echo '{said}'; exit 1"))
    with pytest.raises(SetupError, match=r"the network does not answer\n  Ivy said: Server access error at url https"):
        setup.jars("spark")


def test_any_other_failure_shows_ivys_last_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, monkeypatch, resolving("echo 'impossible to parse'; exit 1"))
    with pytest.raises(SetupError, match=r"Ivy's last lines:\n    impossible to parse"):
        setup.jars("spark")


def test_a_cache_that_can_not_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, monkeypatch, IVY)
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(SetupError, match="set XDG_CACHE_HOME elsewhere"):
        setup.jars("spark")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(out: io.StringIO) -> str:
    lines = [*(["\tfound a in public\n"] * 12), *(["\t[SUCCESSFUL ] a!a.jar (1ms)\n"] * 12)]
    assert list(setup._shown(lines, out)) == lines
    return out.getvalue()


def test_progress_is_one_changing_line_on_a_terminal_and_plain_lines_elsewhere() -> None:
    terminal = shown(Terminal())
    assert terminal.count("\n") == 1
    assert "\rtarnbeck: jars: 7 of 12 " in terminal
    assert shown(io.StringIO()).splitlines() == [
        "tarnbeck: fetching jars, once per user",
        "tarnbeck: jars: 10 of 12",
        "tarnbeck: jars: 12 of 12",
    ]


def test_the_command_ends_with_the_exit_code_and_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tarnbeck.spark.jars"],
        env={"PATH": "/nowhere", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == SetupError.exit_code
    assert done.stderr.startswith("tarnbeck: set-up: no java on PATH\n")
