"""Finds Java and the jars of Spark and of the broker; fetches them once per user with the Ivy that PySpark ships."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, TextIO, get_args
from xml.etree import ElementTree

from tarnbeck.errors import SetupError

Conf = Literal["spark", "broker"]

JAVA = 17
"""The oldest Java that Spark 4 runs on."""


@dataclass(frozen=True)
class Jar:
    """One line of ivy.xml."""

    conf: str
    name: str
    version: str


INSTALL = "install one, on Debian or Ubuntu: sudo apt-get install -y openjdk-17-jre-headless"


def which_java() -> Path:
    """The `java` that Spark would take too: JAVA_HOME's, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(Path(home, "bin", "java")) if home else shutil.which("java")
    if not found:
        place = f"in JAVA_HOME ({home})" if home else "on PATH"
        raise SetupError(f"set-up: no java {place}\n  tarnbeck needs Java {JAVA} or newer\n  {INSTALL}")
    return Path(found)


def find_java() -> Path:
    """The `java` that is there; refused when older than 17."""
    found = which_java()
    version = java_version(found)
    if version < JAVA:
        raise SetupError(
            f"set-up: {found} is Java {version}\n  tarnbeck needs Java {JAVA} or newer\n"
            f"  {INSTALL}\n  or point JAVA_HOME at a newer one"
        )
    return found


def java_version(java: str | Path) -> int:
    """The number that a `java` calls itself by."""
    try:
        done = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"set-up: {java} does not run: {error}\n  {INSTALL}") from error
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if done.returncode or not match:
        said = (done.stderr or done.stdout).strip() or "nothing"
        raise SetupError(f"set-up: can't tell the version of {java}\n  it said: {said}\n  {INSTALL}")
    return int(match[1])


def jars(conf: Conf) -> list[Path]:
    """The jars of one configuration of ivy.xml, from the user's cache, which is filled first when it is empty."""
    folder = fetched(_ivy(), get_args(Conf))
    found = sorted((folder / conf).glob("*.jar"))
    if not found:
        raise SetupError(f"set-up: no jars in {folder / conf}\n  remove {folder} and try again: they are fetched anew")
    return found


def _ivy() -> bytes:
    return resources.files("tarnbeck.spark").joinpath("ivy.xml").read_bytes()


def listed() -> list[Jar]:
    """The jars that ivy.xml names; what the broker needs beside them is found by Ivy."""
    found = ElementTree.fromstring(_ivy()).iter("dependency")  # noqa: S314 (a file of this package)
    return [Jar(each.attrib["conf"].partition("-")[0], each.attrib["name"], each.attrib["rev"]) for each in found]


def missing() -> list[Path]:
    """The files of listed jars that are not in the user's cache; nothing is fetched."""
    folder = _place(_ivy())
    paths = [folder / jar.conf / f"{jar.name}-{jar.version}.jar" for jar in listed()]
    return [path for path in paths if not path.is_file()]


def fetched(ivy: bytes, confs: Sequence[str]) -> Path:
    """The folder in the user's cache that holds what an ivy.xml lists, one folder in it per configuration."""
    folder = _place(ivy)
    if not folder.is_dir():
        _fill(folder, ivy, confs)
    return folder


def _place(ivy: bytes) -> Path:
    return cache() / hashlib.sha256(ivy).hexdigest()[:16]


def cache() -> Path:
    """Where this user's jars are kept."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "tarnbeck" / "jars"


def _fill(folder: Path, ivy: bytes, confs: Sequence[str]) -> None:
    """Resolves into a folder beside `folder` and renames it, so that `folder` is whole as soon as it exists."""
    java = find_java()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix="fetching-", dir=folder.parent))
    except OSError as error:
        raise SetupError(f"set-up: can't write to {folder.parent}: {error}\n  set XDG_CACHE_HOME elsewhere") from error
    try:
        work.joinpath("ivy.xml").write_bytes(ivy)
        _resolve(java, work, confs)
        work.joinpath("jars").rename(folder)
    except OSError:
        # Another process may have been quicker: its folder is equal to ours and takes the name.
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _resolve(java: Path, work: Path, confs: Sequence[str]) -> None:
    # Ivy's own user folder comes from the password file, not from HOME: keep all it writes in the work folder.
    command = [str(java), f"-Divy.default.ivy.user.dir={work / 'user'}", "-jar", str(_ivy_jar())]
    command += ["-ivy", str(work / "ivy.xml"), "-cache", str(work / "cache"), "-confs", *confs]
    command += ["-retrieve", f"{work / 'jars'}/[conf]/[artifact]-[revision].[ext]"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ivy:  # noqa: S603
        lines = list(_shown(ivy.stdout or (), sys.stderr))
    if ivy.returncode:
        raise SetupError(_failure(lines))


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupError("set-up: pyspark is not installed\n  install it: pip install pyspark==4.2.0")
    folder = Path(spec.origin).parent / "jars"
    for jar in sorted(folder.glob("ivy-*.jar")):
        return jar
    raise SetupError(f"set-up: no ivy-*.jar in {folder}\n  install pyspark anew: pip install --force-reinstall pyspark")


def _shown(lines: Iterable[str], out: TextIO) -> Iterator[str]:
    """Passes Ivy's lines on and shows how far it is: Ivy names every jar it found first, then downloads each."""
    terminal = out.isatty()
    found = fetched = 0
    if not terminal:
        out.write("tarnbeck: fetching jars, once per user\n")
    for line in lines:
        found += line.startswith("\tfound ")
        fetched += line.startswith("\t[SUCCESSFUL ]")
        if terminal and line.startswith(("\tfound ", "\t[SUCCESSFUL ]")):
            out.write(f"\rtarnbeck: jars: {f'{fetched} of {found}' if fetched else f'{found} found'}   ")
            out.flush()
        elif fetched and fetched % 10 == 0 and line.startswith("\t[SUCCESSFUL ]"):
            out.write(f"tarnbeck: jars: {fetched} of {found}\n")
        yield line
    out.write("\n" if terminal else f"tarnbeck: jars: {fetched} of {found}\n")


def _failure(lines: list[str]) -> str:
    unreachable = [line.strip() for line in lines if "Server access error" in line or "Host " in line]
    if unreachable:
        return (
            f"set-up: the jars can't be fetched: the network does not answer\n  Ivy said: {unreachable[0]}\n"
            "  connect to the internet, or behind a proxy set "
            "JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT', and try again"
        )
    tail = "".join(f"    {line}" for line in lines[-15:]).rstrip()
    return f"set-up: the jars can't be fetched\n  Ivy's last lines:\n{tail}"


def main() -> int:
    """Fills the cache: `python -m tarnbeck.spark.jars`, which the Makefile calls."""
    try:
        jars("spark"), jars("broker")
    except SetupError as error:
        sys.stderr.write(f"tarnbeck: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
