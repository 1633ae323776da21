"""How providers of models are reached."""

from metier.values.running import ProviderSettings as ProviderSettings
