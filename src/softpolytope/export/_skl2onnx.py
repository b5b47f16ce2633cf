"""Conversion of pipelines with skl2onnx, which is untyped: its scopes, containers and operators are `Any` here."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from softpolytope.export._onnx import OPSET, InputType, add_classifier, import_onnx
from softpolytope.model import FittedModel


def register_with_skl2onnx(classifiers: Sequence[type]) -> None:
    """Register a converter with skl2onnx, so that it accepts pipelines that end in one of these classifiers.

    Parameters
    ----------
    classifiers : sequence of types
        Classes of this package, for example `[SumStackSoftplusClassifier]`.
    """
    try:
        from skl2onnx import update_registered_converter  # noqa: PLC0415  # an extra
        from skl2onnx.common.shape_calculator import (  # noqa: PLC0415
            calculate_linear_classifier_output_shapes,
        )
    except ImportError as error:
        raise ImportError("Pipelines need the package skl2onnx: pip install softpolytope[onnx].") from error

    for classifier in classifiers:
        update_registered_converter(
            classifier,
            f"Softpolytope{classifier.__name__}",
            calculate_linear_classifier_output_shapes,
            _convert,
            options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
        )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Convert one of our classifiers inside a pipeline; skl2onnx calls this."""
    is_double = type(operator.inputs[0].type).__name__.startswith("Double")
    builder = _ContainerBuilder(scope, container)
    output_type: InputType = "float64" if is_double else "float32"
    model: FittedModel = operator.raw_operator.model_
    label, probabilities = add_classifier(builder, operator.inputs[0].full_name, model, output_type)
    for name, output in zip((label, probabilities), operator.outputs, strict=True):
        node_name = scope.get_unique_operator_name("Identity")
        container.add_node("Identity", [name], [output.full_name], op_version=OPSET, name=node_name)


class _ContainerBuilder:
    """Nodes of a graph that skl2onnx builds for a pipeline with one of our classifiers."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope = scope
        self._container = container

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant tensor and return its name."""
        name = self._scope.get_unique_variable_name("softpolytope_constant")
        kinds = import_onnx().TensorProto
        kind = {"f": kinds.DOUBLE, "i": kinds.INT64}.get(values.dtype.kind, kinds.STRING)
        content = values.reshape(-1).tolist()
        if kind == kinds.STRING:
            content = [text.encode() for text in content]
        self._container.add_initializer(name, kind, list(values.shape), content)
        return str(name)

    def node(self, operator: str, inputs: Sequence[str], **attributes: int) -> str:
        """Add a node and return the name of its output."""
        name = self._scope.get_unique_variable_name("softpolytope_value")
        node_name = self._scope.get_unique_operator_name(operator)
        self._container.add_node(operator, list(inputs), [name], op_version=OPSET, name=node_name, **attributes)
        return str(name)
