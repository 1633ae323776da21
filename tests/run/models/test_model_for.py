"""Which model a name means; nothing heavy is loaded for it."""

import json
import subprocess
import sys

import pytest

from metier.errors import ModelError, UsageError
from metier.run.models import OfflineModel, ProviderModel, ProviderSettings, model_for
from metier.run.models.choose import PROVIDERS

LOCAL = {"local": ProviderSettings(base_url="http://127.0.0.1:9/v1")}


@pytest.mark.parametrize("name", ["offline", "offline:template"])
def test_the_offline_model_has_two_names(name: str) -> None:
    model = model_for(name)
    assert isinstance(model, OfflineModel)
    assert model.name == "offline:template"


@pytest.mark.parametrize("name", ["openai:gpt-5", "ollama:qwen3:8b", "openrouter:qwen/qwen3"])
def test_a_known_provider_gives_its_model(name: str) -> None:
    model = model_for(name)
    assert isinstance(model, ProviderModel)
    assert model.name == name


def test_a_provider_with_an_address_may_have_any_name() -> None:
    assert model_for("local:tiny", settings=LOCAL).name == "local:tiny"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("opnai:gpt-5", "did you mean 'openai'?"),
        ("loca:tiny", "did you mean 'local'?"),
        ("ofline:template", "did you mean 'offline'?"),
        ("zzzzzz:model", "give it a base_url in the settings"),
        ("offline:other", "offline:template"),
        ("gpt-5", "offline:template, or provider:model such as openai:gpt-5"),
        ("openai:", "offline:template, or provider:model such as openai:gpt-5"),
        (":gpt-5", "offline:template, or provider:model such as openai:gpt-5"),
        ("", "offline:template, or provider:model such as openai:gpt-5"),
    ],
)
def test_a_name_that_means_no_model_gets_a_hint(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        model_for(name, settings=LOCAL)
    assert caught.value.hint == hint


def test_an_address_must_be_one() -> None:
    settings = {"local": ProviderSettings(base_url="localhost:8080")}
    with pytest.raises(UsageError, match=r"models.local\] base-url"):
        model_for("local:tiny", settings=settings)


def test_every_provider_of_the_table_is_known_to_the_library() -> None:
    from pydantic_ai.providers import infer_provider_class

    for provider in PROVIDERS:
        try:
            infer_provider_class(provider)
        except ImportError:
            continue  # it is known; its package is not here


def test_no_provider_of_well_known_models_is_missing_from_the_table() -> None:
    from pydantic_ai.models import known_model_names

    known = {name.split(":")[0] for name in known_model_names() if ":" in name}
    others = {"openai-decisions", "typesafe"}  # these do not answer in words
    assert {one for one in known if "/" not in one} - others - set(PROVIDERS) == set()


def test_a_key_that_is_not_set_is_named_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    for base_url in ("http://127.0.0.1:9/v1", ""):
        settings = {"openai": ProviderSettings(base_url, "MY_KEY")}
        model = model_for("openai:gpt-5", settings=settings)
        assert isinstance(model, ProviderModel)
        with pytest.raises(ModelError, match="MY_KEY is not set") as caught:
            model.ready()
        assert caught.value.code == "MODEL_NOT_SET_UP"


def test_a_provider_without_its_own_key_says_which_variable_it_wants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        ProviderModel("openai:gpt-5").ready()
    assert "\n" not in caught.value.message


def test_a_key_in_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "some-key")
    ProviderModel("deepseek:deepseek-chat", ProviderSettings(api_key_env="MY_KEY")).ready()
    ProviderModel("local:tiny", LOCAL["local"]).ready()


def test_a_provider_whose_package_is_missing_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "groq", None)
    with pytest.raises(ModelError) as caught:
        ProviderModel("groq:llama").ready()
    assert caught.value.code == "MODEL_NO_PACKAGE"
    assert caught.value.message.endswith("pip install 'pydantic-ai-slim[groq]'")


WITHOUT_PYDANTIC_AI = """
import asyncio, sys
sys.modules["pydantic_ai"] = None
from metier.errors import ModelError
from metier.run.models import model_for
from metier.values.models import ModelRequest
try:
    asyncio.run(model_for("openai:gpt-5").respond(ModelRequest("", [])))
except ModelError as error:
    print(error.code, error.message)
"""


def test_without_the_extra_a_model_says_how_to_install_it() -> None:
    said = output_of(WITHOUT_PYDANTIC_AI)
    assert said.startswith("MODEL_NO_PACKAGE openai:gpt-5 needs pydantic_ai")
    assert said.endswith("install metier with its extra 'models' (docs/install.md)")


LOADED = """
import json, sys
from metier.run.models import model_for
model_for("offline"), model_for("openai:gpt-5")
heavy = {"pydantic_ai", "pydantic", "openai", "jsonschema", "httpx2"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""


def test_choosing_a_model_loads_no_library_of_a_provider() -> None:
    assert json.loads(output_of(LOADED)) == []


def output_of(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.strip()
