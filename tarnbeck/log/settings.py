"""How to reach the log: addresses and the security properties that pass through to every Kafka client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tarnbeck.errors import UsageError, unknown

PLACE = "log settings"


@dataclass(frozen=True)
class Property:
    """A client property that may be set; `secret` ones are never shown."""

    name: str
    secret: bool = False


PROPERTIES = {
    p.name: p
    for p in (
        Property("security.protocol"),
        Property("sasl.mechanism"),
        Property("sasl.username"),
        Property("sasl.password", secret=True),
        Property("ssl.ca.location"),
        Property("ssl.certificate.location"),
        Property("ssl.key.location"),
        Property("ssl.key.password", secret=True),
        Property("ssl.endpoint.identification.algorithm"),
    )
}
ALIASES = {"sasl.mechanisms": "sasl.mechanism"}
"""librdkafka has two names for one property; it is kept under the one that Java knows too."""

JAAS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@dataclass(frozen=True, repr=False)
class LogSettings:
    """A Kafka to talk to: `bootstrap` as host:port[,host:port], and allowed client properties.

    >>> LogSettings("broker:9092", (("sasl.username", "ann"), ("sasl.password", "geheim")))
    LogSettings('broker:9092', sasl.username='ann', sasl.password=***)
    """

    bootstrap: str
    properties: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.bootstrap.strip():
            raise UsageError(f"{PLACE}: no broker address\n  expected host:port, or several with commas")
        object.__setattr__(self, "properties", tuple(_canonical(self.properties)))
        mechanism = self._get("sasl.mechanism")
        if mechanism is not None and mechanism not in JAAS:
            raise UsageError(f"{PLACE}: unknown sasl.mechanism '{mechanism}'\n  expected one of: {', '.join(JAAS)}")

    def __repr__(self) -> str:
        shown = [f"{n}={'***' if PROPERTIES[n].secret else repr(v)}" for n, v in self.properties]
        return f"LogSettings({', '.join([repr(self.bootstrap), *shown])})"

    def _get(self, name: str) -> str | None:
        return dict(self.properties).get(name)

    def client(self) -> dict[str, str | int]:
        """The configuration of a confluent_kafka client, quiet: what goes wrong is raised where it matters."""
        return {"bootstrap.servers": self.bootstrap, "log_level": 2, **dict(self.properties)}

    def spark_options(self) -> dict[str, str]:
        """The options of Spark's Kafka reader and writer, which is a Java client and names some things otherwise."""
        options = {"bootstrap.servers": self.bootstrap}
        for name, value in self.properties:
            options |= JAVA.get(name, _same(name))(self, value)
        return {f"kafka.{name}": value for name, value in options.items()}


def _canonical(properties: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    seen: set[str] = set()
    for given, value in properties:
        name = ALIASES.get(given, given)
        if name not in PROPERTIES:
            raise UsageError(unknown(PLACE, "property", given, PROPERTIES, "the list of allowed ones"))
        if name in seen:
            raise UsageError(f"{PLACE}: property '{name}' is given twice\n  leave one of them out")
        seen.add(name)
        yield name, value


def _same(name: str) -> Callable[[LogSettings, str], dict[str, str]]:
    return lambda _, value: {name: value}


def _jaas(settings: LogSettings, username: str) -> dict[str, str]:
    mechanism, password = settings._get("sasl.mechanism"), settings._get("sasl.password")
    if mechanism is None or password is None:
        raise UsageError(
            f"{PLACE}: sasl.username needs sasl.mechanism and sasl.password too\n"
            f"  found: {', '.join(name for name, _ in settings.properties)}"
        )
    return {
        "sasl.jaas.config": f"{JAAS[mechanism]} required username={_quoted(username)} password={_quoted(password)};"
    }


def _quoted(text: str) -> str:
    """A string as JAAS reads it: a quote or backslash inside would end it or change it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _truststore(_: LogSettings, location: str) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": location}


def _certificate(_: LogSettings, location: str) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": _pem("ssl.certificate.location", location)}


def _key(_: LogSettings, location: str) -> dict[str, str]:
    """Java takes certificate and key from one file or as text; as text they may stay in the two files they are in."""
    text = _pem("ssl.key.location", location)
    if "BEGIN PRIVATE KEY" not in text and "BEGIN ENCRYPTED PRIVATE KEY" not in text:
        raise UsageError(
            f"{PLACE}: ssl.key.location: {location} is not a PKCS#8 key, which Java demands\n"
            f"  convert it: openssl pkcs8 -topk8 -in {location} -out key.pem"
        )
    return {"ssl.keystore.type": "PEM", "ssl.keystore.key": text}


def _pem(name: str, location: str) -> str:
    try:
        return Path(location).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{PLACE}: {name}: can't read {location}: {error}\n  expected a PEM file") from error


def _endpoint(_: LogSettings, algorithm: str) -> dict[str, str]:
    return {"ssl.endpoint.identification.algorithm": "" if algorithm == "none" else algorithm}


def _with_the_username(_: LogSettings, __: str) -> dict[str, str]:
    return {}


JAVA: dict[str, Callable[[LogSettings, str], dict[str, str]]] = {
    "sasl.username": _jaas,
    "sasl.password": _with_the_username,
    "ssl.ca.location": _truststore,
    "ssl.certificate.location": _certificate,
    "ssl.key.location": _key,
    "ssl.endpoint.identification.algorithm": _endpoint,
}
