"""A Kafka of somebody else that demands a password over TLS: every client of tarnbeck gets in, and no one else."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.errors import LogError
from tarnbeck.log import broker, topics
from tarnbeck.log.follow import follow
from tarnbeck.log.produce import Sender
from tarnbeck.log.settings import LogSettings
from tarnbeck.spark.jars import find_java

pytestmark = [pytest.mark.spark, pytest.mark.broker]

SECRET = 'open "sesame" \\ 1'  # noqa: S105
LISTENER = "listeners=PLAINTEXT://{host}:{port},"
SECURED = """\
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_SSL
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.secured.plain.sasl.jaas.config=\\
    org.apache.kafka.common.security.plain.PlainLoginModule required user_ann={password};
listener.name.secured.ssl.keystore.type=PKCS12
listener.name.secured.ssl.keystore.location={keystore}
listener.name.secured.ssl.keystore.password=changeit
"""


@dataclass(frozen=True)
class Secured:
    address: str
    authority: Path

    def settings(self, password: str) -> LogSettings:
        properties = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": password,
            "ssl.ca.location": str(self.authority),
        }
        return LogSettings(self.address, tuple(properties.items()))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The embedded broker with one more listener, which has a certificate of its own and knows one user."""
    folder = tmp_path_factory.mktemp("secured")
    keystore, authority = folder / "server.p12", folder / "authority.pem"
    _keytool("-genkeypair", "-keyalg", "RSA", "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1", keystore=keystore)
    authority.write_bytes(_keytool("-exportcert", "-rfc", keystore=keystore))
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port = asked.getsockname()[1]
    # In a properties file a backslash is written twice, and so it is in a JAAS string.
    password = '"' + SECRET.replace("\\", "\\\\").replace('"', '\\"') + '"'
    more = SECURED.replace("{password}", password.replace("\\", "\\\\")).replace("{keystore}", str(keystore))
    properties = broker.PROPERTIES.replace(LISTENER, f"{LISTENER}SECURED://{{host}}:{port},").replace(
        "advertised.listeners=", f"advertised.listeners=SECURED://{{host}}:{port},"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker, "PROPERTIES", properties + more)
        started = broker.start(folder)
    yield Secured(f"127.0.0.1:{port}", authority)
    started.stop()


def _keytool(*words: str, keystore: Path) -> bytes:
    tool = Path(find_java()).resolve().parent / "keytool"
    store = ("-keystore", str(keystore), "-storetype", "PKCS12", "-storepass", "changeit", "-alias", "server")
    return subprocess.run([tool, *words, *store], capture_output=True, check=True).stdout


def test_topics_producers_consumers_and_spark_get_in_with_the_password(
    secured: Secured, spark: Any, unique: Callable[[str], str]
) -> None:
    from tarnbeck.spark import kafka

    app = tb.App("secured")
    stream = app.stream("events", "time timestamp, n int", time="time", topic=unique("secured"), partitions=1)
    settings = secured.settings(SECRET)
    topics.ensure(settings, stream)
    with Sender(settings, stream) as sender:
        for n in range(3):
            sender.send(b'{"time": "2026-11-15T12:00:00Z", "n": %d}' % n)
        assert sender.flush().acknowledged == 3
    end = topics.end(settings, stream.topic)
    assert [record.offset for record in follow(settings, stream.topic, Cut(end.topic), until=end)] == [0, 1, 2]
    assert kafka.at_rest(spark, settings, stream.topic, Cut(end.topic).span_to(end), [0]).count() == 3


def test_a_wrong_password_is_refused_and_never_shown(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    # The client tries the password until this time is over.
    monkeypatch.setattr(topics, "TIMEOUT", 5.0)
    with pytest.raises(LogError, match="Authentication failed") as refused:
        topics.end(secured.settings("guessed-wrong"), "anything")
    assert "guessed-wrong" not in str(refused.value)
