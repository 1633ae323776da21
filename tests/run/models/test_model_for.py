"""Which model a name means; nothing heavy is loaded for it."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from metier.errors import ModelError, UsageError
from metier.run.models import OfflineModel, ProviderModel, ProviderSettings, model_for
from metier.run.models.choose import PROVIDERS
from metier.values.run_settings import ModelOptions

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
        ("zzzzzz:model", "set [models.zzzzzz] base-url, for a server with the OpenAI protocol"),
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


def test_a_provider_without_an_address_is_told_where_to_set_it() -> None:
    with pytest.raises(UsageError, match="'lab' is not one that metier knows") as caught:
        model_for("lab:m", settings={"lab": ProviderSettings("")})
    assert caught.value.hint == "set [models.lab] base-url"


URL = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (ProviderSettings(URL, retries=-1), "'models.lab.retries' must be from 0 to 10, not -1"),
        (ProviderSettings(URL, retries="two"), "'models.lab.retries' must be a whole number"),  # type: ignore[arg-type]
        (ProviderSettings(5), "'models.lab.base-url' must be a string, not a number"),  # type: ignore[arg-type]
        (ProviderSettings(URL, timeout=0), "'models.lab.timeout' must be a number of seconds"),
        (ProviderSettings(URL, "a b"), "'models.lab.api-key-env' must be the name of an env"),
        (ProviderSettings(URL, models=[1]), "'models' must be a mapping"),  # type: ignore[arg-type]
        (ProviderSettings(URL, models={"m": {}}), "'models' must be ModelOptions for 'm'"),  # type: ignore[dict-item]
        (
            ProviderSettings(URL, models={"m": ModelOptions(input=1.0)}),
            "'models.lab.m' must be given both 'input' and 'output'",
        ),
        (5, "'settings' must be ProviderSettings for 'lab', not 5"),
    ],
)
def test_settings_in_python_follow_the_rules_of_the_file(settings: Any, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        model_for("lab:m", settings={"lab": settings})
    with pytest.raises(UsageError, match=re.escape(said)):
        ProviderModel("lab:m", settings)


def test_settings_that_are_no_mapping_are_named() -> None:
    with pytest.raises(UsageError, match="'settings' must be a mapping of providers"):
        model_for("lab:m", settings=[1])  # type: ignore[arg-type]


def test_an_answer_may_take_five_minutes_and_is_not_asked_for_again_by_default() -> None:
    options = ProviderSettings(URL, models={"m": ModelOptions(retries=1)}).options("m")
    assert (options.timeout, options.retries) == (300.0, 1)
    assert ProviderSettings(URL, timeout=5).options("m")[:2] == (5, 0)


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
