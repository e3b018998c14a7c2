"""Brings notices to people by SMTP, encrypted unless the declaration says otherwise."""

from __future__ import annotations

import contextlib
import smtplib
import ssl
from collections.abc import Iterator
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, localtime

from tarnbeck.alert.notice import Content, text, title
from tarnbeck.alert.outcome import Refused, Undelivered
from tarnbeck.alert.secret import from_environment, from_file
from tarnbeck.errors import SetupError
from tarnbeck.plan.destination import Email


def send(to: Email, address: str, told: Content) -> None:
    """Returns when the server has taken the notice for one of its addresses; the message names them all."""
    message = written(to, told)
    try:
        with _server(to) as server:
            server.send_message(message, to.sender, [address])
    except smtplib.SMTPRecipientsRefused as error:
        ((code, reason),) = error.recipients.values()
        raise _missed(code, f"the server refused {address}: {code} {reason.decode(errors='replace')}") from None
    except smtplib.SMTPDataError as error:
        raise _missed(error.smtp_code, f"the server answered {_answer(error)}") from None
    except smtplib.SMTPResponseException as error:
        raise Undelivered(f"the server answered {_answer(error)}") from None
    except (OSError, smtplib.SMTPException) as error:
        raise Undelivered(f"{type(error).__name__}: {error}") from None


def written(to: Email, told: Content) -> EmailMessage:
    """The message; its id stays the same however often it is sent."""
    message = EmailMessage(policy=SMTP)
    message["Subject"] = " ".join(title(told).split())[:200]
    message["From"] = to.sender
    message["To"] = ", ".join(to.to)
    message["Date"] = format_datetime(localtime())
    message["Message-ID"] = f"<{told['id']}@tarnbeck>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text(told))
    return message


@contextlib.contextmanager
def _server(to: Email) -> Iterator[smtplib.SMTP]:
    trusted, seconds = ssl.create_default_context(cafile=to.ca), to.timeout / 1e6
    if to.security == "tls":
        made: smtplib.SMTP = smtplib.SMTP_SSL(to.server, to.port, timeout=seconds, context=trusted)
    else:
        made = smtplib.SMTP(to.server, to.port, timeout=seconds)
    with made as server:
        if to.security == "starttls":
            server.starttls(context=trusted)
        if to.user is not None:
            secret = from_environment(to.password_env) if to.password_env else from_file(to.password_file or "")
            if not secret.isascii():
                # The library would name the character.
                raise SetupError("the password has characters that a login by SMTP can't have")
            server.login(to.user, secret)
        yield server


def _missed(code: int, why: str) -> Undelivered:
    """What the server said of this very mail: 5xx would be the same again."""
    return (Refused if code >= 500 else Undelivered)(why)


def _answer(error: smtplib.SMTPResponseException) -> str:
    reason = error.smtp_error
    return f"{error.smtp_code} {reason.decode(errors='replace') if isinstance(reason, bytes) else reason}"
