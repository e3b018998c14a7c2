"""What keeps an app from running is found and told, each fault by its own check, with what to do about it."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from tarnbeck.cli import checks, main
from tarnbeck.cli.checks import CHECKS, NOTE, PROBLEM, WELL, Finding, Place
from tarnbeck.node.lock import hold
from tarnbeck.spark import jars


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data", disk=lambda _: 50 << 30, memory=lambda: 8 << 30)


def found(place: Place, check: str) -> Finding:
    return dict(checks.examine(place))[check]


def doctor(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main.main(["doctor", "--folder", str(folder), "--json"])
    return int(ended.value.code or 0), capsys.readouterr().out


def test_a_machine_without_java_is_told_how_to_get_one(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    told = found(place, "java")
    assert (told.state, told.found) == (PROBLEM, "set-up: no java on PATH")
    assert "apt-get install" in told.fix


def test_a_java_that_is_too_old_is_told_with_its_version(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert found(place, "java").found.endswith("is Java 11")


def test_a_full_disk_is_a_problem_and_a_roomy_one_is_not(place: Place) -> None:
    assert found(place, "disk").state == WELL
    full = found(replace(place, disk=lambda _: 300 << 20), "disk")
    assert (full.state, full.found) == (PROBLEM, f"300.0 MiB free at {place.folder.parent}")
    assert "--folder" in full.fix


def test_a_folder_that_can_t_be_written_to_is_a_problem(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever runs tests may be root, who may write everywhere: the system's answer is the fault here.
    monkeypatch.setattr(os, "access", lambda where, mode: mode != os.W_OK)
    assert found(place, "disk").state == PROBLEM


def test_too_little_memory_is_a_problem(place: Place) -> None:
    assert found(place, "memory").state == WELL
    assert found(replace(place, memory=lambda: 1 << 30), "memory").state == PROBLEM


def test_the_usual_port_gives_way_and_a_chosen_one_does_not(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        assert found(replace(place, port=number), "port").state == PROBLEM
    assert found(replace(place, port=number), "port").found == f"{number} is free"


def test_a_usual_port_that_is_taken_is_a_note(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(checks, "PORT", taken.getsockname()[1])
        assert found(place, "port").state == NOTE


def test_a_package_of_another_version_is_told_with_the_command_that_installs_the_right_one(place: Place) -> None:
    versions = {"pyspark": "3.5.1", "duckdb": "2.0.0"}
    told = found(replace(place, installed=lambda name: versions.get(name) or metadata.version(name)), "packages")
    assert (told.state, told.fix) == (PROBLEM, "python -m pip install 'pyspark==4.2.0'")
    assert told.found == "pyspark is 3.5.1, expected ==4.2.0"


def test_a_package_that_is_missing_is_told(place: Place) -> None:
    def installed(name: str) -> str:
        if name == "duckdb":
            raise metadata.PackageNotFoundError(name)
        return metadata.version(name)

    assert "duckdb is missing" in found(replace(place, installed=installed), "packages").found


def test_jars_that_were_never_fetched_or_are_gone_are_told(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "tarnbeck.spark.jars" in found(place, "jars").fix
    first, *others = jars.missing()
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    told = found(place, "jars")
    assert told.found == f"{first.name} is not in {first.parents[1]}"
    assert told.fix.startswith(f"rm -r {first.parents[1]} && ")
    first.touch()
    assert found(place, "jars").state == WELL


def test_an_app_that_was_killed_is_a_note(place: Place) -> None:
    place.folder.mkdir()
    (place.folder / "node.json").write_text(json.dumps({"pid": 2**22 + 1, "url": "http://127.0.0.1:1"}))
    assert found(place, "app").state == NOTE


def test_an_app_that_does_not_answer_is_a_problem(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        number = closed.getsockname()[1]
    facts = {"pid": os.getpid(), "url": f"http://127.0.0.1:{number}", "token": "t", "app": "shop"}
    with hold(place.folder):
        (place.folder / "node.json").write_text(json.dumps(facts))
        told = found(place, "app")
    assert (told.state, "does not answer" in told.found) == (PROBLEM, True)


def test_a_check_that_can_t_even_look_is_a_problem_and_the_others_go_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Place) -> Finding:
        raise ImportError("librdkafka.so.1: cannot open shared object file")

    monkeypatch.setitem(CHECKS, "broker", broken)
    assert found(place, "broker").state == PROBLEM
    assert found(place, "python").state == WELL


def test_every_problem_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bad = Place(tmp_path / "data", 1, disk=lambda _: 0, memory=lambda: 0, installed=lambda _: "0")
    told = dict(checks.examine(bad))
    assert {name for name, each in told.items() if each.state == PROBLEM} >= {
        "java",
        "packages",
        "jars",
        "disk",
        "memory",
    }
    assert [name for name, each in told.items() if each.state != WELL and not each.fix] == []


def test_the_exit_code_says_whether_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        checks, "CHECKS", {"disk": lambda _: Finding(WELL, "room"), "port": lambda _: Finding(NOTE, "taken", "x")}
    )
    code, out = doctor(tmp_path, capsys)
    assert (code, json.loads(out)["well"]) == (0, True)
    monkeypatch.setattr(checks, "CHECKS", {"disk": lambda _: Finding(PROBLEM, "full", "make room")})
    code, out = doctor(tmp_path, capsys)
    assert (code, json.loads(out)) == (
        1,
        {"well": False, "checks": [{"check": "disk", "state": "problem", "found": "full", "fix": "make room"}]},
    )


def test_classes_that_are_not_archived_are_a_note(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    told = found(place, "classes")
    assert told.state == NOTE
    assert told.fix.endswith("python -m tarnbeck.node.rehearse")
