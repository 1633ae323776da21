"""Models that answer: by a template, by a script, or a provider's over the network.

Nothing here loads a provider's library before a model is asked.
"""

from metier.run.models.choose import ProviderModel, model_for, using
from metier.run.models.offline import OfflineModel, ScriptedModel
from metier.run.models.prices import price_of
from metier.values.models import Price
from metier.values.run_settings import ModelOptions, ProviderSettings

__all__ = [
    "ModelOptions", "OfflineModel", "Price", "ProviderModel", "ProviderSettings", "ScriptedModel",
    "model_for", "price_of", "using",
]  # fmt: skip
