from __future__ import annotations

from pathlib import Path

import pytest

from tarnbeck.errors import UsageError
from tarnbeck.log.settings import LogSettings

SASL = (
    ("security.protocol", "SASL_SSL"),
    ("sasl.mechanisms", "SCRAM-SHA-512"),
    ("sasl.username", "ann"),
    ("sasl.password", "top-secret"),
)


def test_a_property_that_is_not_allowed_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(UsageError) as error:
        LogSettings("b:1", (("sasl.pasword", "x"),))
    message = str(error.value)
    assert "log settings: unknown property 'sasl.pasword'" in message
    assert "security.protocol" in message
    assert "ssl.ca.location" in message
    assert "did you mean 'sasl.password'?" in message


@pytest.mark.parametrize("name", ["plugin.library.paths", "sasl.kerberos.kinit.cmd", "bootstrap.servers", "debug"])
def test_properties_that_could_run_code_or_redirect_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="unknown property"):
        LogSettings("b:1", ((name, "x"),))


def test_a_property_given_twice_is_refused_also_under_its_other_name() -> None:
    with pytest.raises(UsageError, match="given twice"):
        LogSettings("b:1", (("sasl.mechanism", "PLAIN"), ("sasl.mechanisms", "PLAIN")))


def test_an_unknown_mechanism_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown sasl.mechanism 'GSSAPI'\n  expected one of: PLAIN, SCRAM-SHA-256"):
        LogSettings("b:1", (("sasl.mechanism", "GSSAPI"),))


def test_an_empty_address_is_refused() -> None:
    with pytest.raises(UsageError, match="no broker address"):
        LogSettings(" ")


def test_secrets_are_neither_in_repr_nor_in_str() -> None:
    settings = LogSettings("b:1", (*SASL, ("ssl.key.password", "hidden-too")))
    for text in (repr(settings), str(settings), f"{settings}"):
        assert "top-secret" not in text
        assert "hidden-too" not in text
        assert "ann" in text


def test_the_client_gets_the_address_and_the_properties_and_is_quiet() -> None:
    config = LogSettings("b:1", SASL).client()
    assert config["bootstrap.servers"] == "b:1"
    assert config["sasl.mechanism"] == "SCRAM-SHA-512"
    assert config["sasl.password"] == "top-secret"
    assert config["log_level"] == 2


def test_spark_gets_user_and_password_as_a_jaas_line() -> None:
    assert LogSettings("b:1", SASL).spark_options() == {
        "kafka.bootstrap.servers": "b:1",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="ann" password="top-secret";',
    }


def test_a_password_can_not_break_out_of_the_jaas_line() -> None:
    properties = (("sasl.mechanism", "PLAIN"), ("sasl.username", "a"), ("sasl.password", 'x" debug="\\'))
    jaas = LogSettings("b:1", properties).spark_options()["kafka.sasl.jaas.config"]
    assert jaas.endswith('required username="a" password="x\\" debug=\\"\\\\";')


def test_a_user_without_password_is_refused_for_spark() -> None:
    with pytest.raises(UsageError, match=r"sasl.username needs sasl.mechanism and sasl.password too"):
        LogSettings("b:1", (("sasl.username", "ann"),)).spark_options()


def test_tls_files_become_pem_stores_for_spark(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_text("-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n")
    key.write_text("-----BEGIN PRIVATE KEY-----\nBB\n-----END PRIVATE KEY-----\n")
    properties = (
        ("ssl.ca.location", "/ca.pem"),
        ("ssl.certificate.location", str(certificate)),
        ("ssl.key.location", str(key)),
        ("ssl.endpoint.identification.algorithm", "none"),
    )
    options = LogSettings("b:1", properties).spark_options()
    assert options["kafka.ssl.truststore.type"] == options["kafka.ssl.keystore.type"] == "PEM"
    assert options["kafka.ssl.truststore.location"] == "/ca.pem"
    assert options["kafka.ssl.keystore.certificate.chain"] == certificate.read_text()
    assert options["kafka.ssl.keystore.key"] == key.read_text()
    assert options["kafka.ssl.endpoint.identification.algorithm"] == ""


def test_a_key_that_java_can_not_read_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN RSA PRIVATE KEY-----\nBB\n-----END RSA PRIVATE KEY-----\n")
    with pytest.raises(UsageError, match="openssl pkcs8 -topk8"):
        LogSettings("b:1", (("ssl.key.location", str(key)),)).spark_options()


def test_a_missing_certificate_is_refused_with_its_path() -> None:
    with pytest.raises(UsageError, match=r"ssl.certificate.location: can't read /no/such.pem"):
        LogSettings("b:1", (("ssl.certificate.location", "/no/such.pem"),)).spark_options()
