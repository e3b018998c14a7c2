"""The files of the page as the server gives them; what they do is tried in a browser."""

from __future__ import annotations

import gzip

import pytest

from tarnbeck.serve.page import files
from tests.serve.web import Call


def test_the_page_is_served_at_the_root_under_a_strict_policy(call: Call) -> None:
    reply = call("GET", "/")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert b"<script type=" in reply.content


def test_every_file_that_the_page_names_is_there(call: Call) -> None:
    for name, file in files().items():
        reply = call("GET", f"/page/{name}")
        assert (reply.status, reply.content) == (200, file.whole), name


def test_files_are_packed_for_those_who_take_it_and_sent_once(call: Call) -> None:
    packed = call("GET", "/page/main.js", accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.content) == files()["main.js"].whole
    again = call("GET", "/page/main.js", if_none_match=packed.headers["etag"])
    assert (again.status, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/page/other.js", "/page/..%2fhttp.py", "/page/"])
def test_what_is_no_file_of_the_page_is_not_given(call: Call, path: str) -> None:
    assert call("GET", path).status == 404
