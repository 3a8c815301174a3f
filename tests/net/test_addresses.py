from __future__ import annotations

import pytest

from mcpg.net.addresses import has_control, is_header_name, is_loopback, split_address


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]"])
def test_this_machine_is_known_by_its_names_and_addresses(host: str) -> None:
    """IPv6 counts with and without brackets, and so does all of 127.0.0.0/8."""
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "0.0.0.0", "10.0.0.1", "[::2]", "[::1", "localhost.example.com", "[localhost]"]
)
def test_other_machines_are_not_this_one(host: str) -> None:
    """An address that others reach, or that is invalid, is none of this machine."""
    assert not is_loopback(host)


@pytest.mark.parametrize("url", ["http://[::1", "http://host:99999/", "http://host:x/"])
def test_what_cannot_be_split_is_no_address(url: str) -> None:
    """Brackets that do not match and ports that do not exist are no error."""
    assert split_address(url) is None


def test_header_fields_have_names_and_values_that_can_be_sent() -> None:
    """Names are tokens; values have tabs, and no other control character."""
    assert is_header_name("X-Api-Key")
    assert not any(map(is_header_name, ("", "X Key", "X:Key", "Schlüssel", "X\n")))
    assert not has_control("a\tb ü")
    assert all(map(has_control, ("a\nb", "a\rb", "a\0b", "a\x7fb")))
