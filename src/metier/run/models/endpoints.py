"""Where a model is, and which settings say so: what its errors name."""

import os
from typing import NamedTuple
from urllib.parse import urlsplit

from metier.core.text import printable
from metier.safety.addresses import host_of
from metier.values.checks import dotted
from metier.values.run_settings import ProviderSettings

_LONGEST = 200


class Endpoint(NamedTuple):
    """A model, its address, and the settings of its provider."""

    name: str
    address: str = ""
    settings: ProviderSettings = ProviderSettings()

    def __str__(self) -> str:
        """`lab:small at http://127.0.0.1:8080/v1`"""
        shown = shown_address(self.address)
        return f"{self.name} at {shown}" if shown else self.name

    @property
    def provider(self) -> str:
        return self.name.partition(":")[0]

    @property
    def model(self) -> str:
        return self.name.partition(":")[2]

    def setting(self, key: str) -> str:
        """`[models.lab] timeout`"""
        return f"[{dotted(('models', self.name.partition(':')[0]))}] {key}"

    def setting_of_model(self, key: str) -> str:
        """`[models.lab.small] timeout` if it is set there, else that of the provider."""
        provider, _, model = self.name.partition(":")
        own = self.settings.models.get(model)
        if own is None or getattr(own, key.replace("-", "_")) is None:
            return self.setting(key)
        return f"[{dotted(('models', provider, model))}] {key}"

    def source_of_address(self) -> str:
        """What to change if the address is wrong: a setting, or a variable."""
        family = self.name.partition(":")[0].partition("-")[0]
        variable = f"{family.upper()}_BASE_URL"
        is_set = not self.settings.base_url and os.environ.get(variable)
        return variable if is_set else self.setting("base-url")

    def source_of_key(self) -> str:
        """`LAB_KEY, [models.lab] api-key-env`, or the setting that would name a key."""
        setting = self.setting("api-key-env")
        variable = self.settings.api_key_env
        return f"{variable}, {setting}" if variable else setting


def shown_address(url: str) -> str:
    """An address without credentials and query; "" if it is not one."""
    host = host_of(url)
    if not host:
        return ""
    parts = urlsplit(url)
    return printable(f"{parts.scheme}://{host}{parts.path.rstrip('/')}")[:_LONGEST]
