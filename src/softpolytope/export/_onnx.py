"""A fitted classifier as an ONNX graph of standard operators.

All arithmetic is in doubles, whatever the type of the input: the layers multiply exponentials, and single precision
would lose all but five digits. log(1 + x) is x log(u) / (u - 1) with u = 1 + x, which is precise for small x as
log(u) is not; 1 - e^-l is (1 - u) l / -log(u) with u = e^-l, precise for small l as 1 - u is not.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from softpolytope._typing import FloatArray
from softpolytope.export._contents import ExportContents
from softpolytope.model import MAX_LOG_ODDS, Draws, Estimate, FittedModel, RegressionPosterior

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET = 17
# Above the first, log(1 + e^z) is z; below the second, e^z.
MAX_LOGIT = 40.0
MIN_LOGIT = -36.0
# Above the first, 1 - e^-l is 1; below the second, l.
MAX_RATE = 40.0
MIN_RATE = 1e-15
# Where log(e^l - 1) reaches the lower limit of the log odds of a draw.
MIN_RATE_OF_ODDS = float(np.log1p(np.exp(-MAX_LOG_ODDS)))
# Upper limit of activations: infinity times a zero weight would be NaN in draws that do not have the expert.
MAX_ACTIVATION = 1e300
TINY = np.finfo(np.float64).tiny

InputType = Literal["float32", "float64"]


class Builder(Protocol):
    """Graph to which nodes are added."""

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant tensor and return its name."""
        ...

    def node(self, operator: str, inputs: Sequence[str], **attributes: int) -> str:
        """Add a node and return the name of its output."""
        ...


def to_onnx(model: FittedModel, input_type: InputType = "float64") -> "ModelProto":
    """Return the model as an `onnx.ModelProto` with input X and outputs label and probabilities."""
    onnx = import_onnx()
    if input_type not in ("float32", "float64"):
        raise ValueError(f"input_type must be 'float32' or 'float64'; got {input_type!r}.")
    builder = _GraphBuilder(onnx)
    label, probabilities = add_classifier(builder, "X", model, input_type)
    kinds = onnx.TensorProto
    number = kinds.DOUBLE if input_type == "float64" else kinds.FLOAT
    text = kinds.STRING if _is_text(model.classes) else kinds.INT64
    describe = onnx.helper.make_tensor_value_info
    builder.nodes.append(onnx.helper.make_node("Identity", [label], ["label"]))
    builder.nodes.append(onnx.helper.make_node("Identity", [probabilities], ["probabilities"]))
    graph = onnx.helper.make_graph(
        builder.nodes,
        "softpolytope",
        [describe("X", number, [None, model.n_features])],
        [describe("label", text, [None]), describe("probabilities", number, [None, len(model.classes)])],
        builder.constants,
    )
    document: ModelProto = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        producer_name="softpolytope",
        doc_string=str(ExportContents.from_model(model)),
        ir_version=8,
    )
    onnx.checker.check_model(document, full_check=True)
    return document


def add_classifier(builder: Builder, rows: str, model: FittedModel, output_type: InputType) -> tuple[str, str]:
    """Add the nodes of a classifier, and return the names of label and probabilities."""
    doubles = builder.node("Cast", [rows], to=_type_code("float64"))
    columns = [
        _add_regression(builder, doubles, regression, model.estimate) for regression in model.posterior.regressions
    ]
    if len(columns) == 1:
        positive, negative = columns[0]
        probabilities = builder.node("Concat", [negative, positive], axis=1)
    else:
        tiny = builder.constant(np.array(TINY))
        joined = [builder.node("Concat", [pair[side] for pair in columns], axis=1) for side in (0, 1)]
        logs = [builder.node("Log", [builder.node("Max", [part, tiny])]) for part in joined]
        probabilities = builder.node("Softmax", [builder.node("Sub", logs)], axis=1)
    index = builder.node("ArgMax", [probabilities], axis=1, keepdims=0)
    classes = model.classes
    names = np.array(classes.tolist(), dtype=object) if _is_text(classes) else classes.astype(np.int64)
    label = builder.node("Gather", [builder.constant(names), index], axis=0)
    return label, builder.node("Cast", [probabilities], to=_type_code(output_type))


def _add_regression(
    builder: Builder, rows: str, regression: RegressionPosterior, estimate: Estimate
) -> tuple[str, str]:
    """Add P(y = 1) and P(y = 0), each (rows, 1), pooled over the draws of the labeling and its opposite."""
    sides = [labeling.select_draws(estimate) for labeling in regression.labelings]
    rates = [_add_rates(builder, rows, draws) for draws in sides]
    share = 1.0 / (len(sides) * len(sides[0]))
    # A product: ReduceMean has two notations, and each version of ONNX accepts only one of them.
    shares = builder.constant(np.full((len(sides[0]), 1), share))
    if regression.pool == "logarithmic":
        return _add_expit_of_mean(builder, [_add_log_odds(builder, rate) for rate in rates], shares)
    survivals = [builder.node("Exp", [builder.node("Neg", [rate])]) for rate in rates]
    events = [_add_event(builder, rate) for rate in rates]
    positive, negative = events[0], survivals[0]
    if len(sides) == 2:
        positive = builder.node("Add", [events[0], survivals[1]])
        negative = builder.node("Add", [survivals[0], events[1]])
    return builder.node("MatMul", [positive, shares]), builder.node("MatMul", [negative, shares])


def _add_expit_of_mean(builder: Builder, log_odds: list[str], shares: str) -> tuple[str, str]:
    """Add 1 / (1 + e^-m) and 1 / (1 + e^m), m the mean of the log odds of the labeling and minus those of its opposite.

    Neither is computed as one minus the other, so small ones are precise.
    """
    signed = log_odds[0] if len(log_odds) == 1 else builder.node("Sub", log_odds)
    mean = builder.node("MatMul", [signed, shares])
    one = builder.constant(np.array(1.0))
    odds = [builder.node("Exp", [power]) for power in (builder.node("Neg", [mean]), mean)]
    positive, negative = (builder.node("Div", [one, builder.node("Add", [one, item])]) for item in odds)
    return positive, negative


def _add_log_odds(builder: Builder, rate: str) -> str:
    """Add log(e^l - 1) within its limits, as log((u - 1) l / log(u)) with u = e^l, which is precise for small l."""
    lower, upper, one = (builder.constant(np.array(value)) for value in (MIN_RATE_OF_ODDS, MAX_LOG_ODDS, 1.0))
    inside = builder.node("Max", [builder.node("Min", [rate, upper]), lower])
    u = builder.node("Exp", [inside])
    quotient = builder.node("Div", [builder.node("Sub", [u, one]), builder.node("Log", [u])])
    log_odds = builder.node("Log", [builder.node("Mul", [inside, quotient])])
    return builder.node("Where", [builder.node("GreaterOrEqual", [rate, upper]), upper, log_odds])


def _add_event(builder: Builder, rate: str) -> str:
    """Add 1 - e^-l, precise for every l: below 1e-15 it is l, above 40 it is 1."""
    lower, upper, one = (builder.constant(np.array(value)) for value in (MIN_RATE, MAX_RATE, 1.0))
    inside = builder.node("Max", [builder.node("Min", [rate, upper]), lower])
    u = builder.node("Exp", [builder.node("Neg", [inside])])
    quotient = builder.node("Div", [builder.node("Sub", [u, one]), builder.node("Log", [u])])
    event = builder.node("Mul", [inside, quotient])
    return builder.node("Where", [builder.node("Less", [rate, lower]), rate, event])


def _add_rates(builder: Builder, rows: str, draws: Draws) -> str:
    """Add lambda, (rows, draws): all experts of all draws side by side, then one product with their weights."""
    n_experts, n_layers, _ = draws.coefficients.shape
    log_activation = ""
    for layer in range(n_layers):
        slopes = builder.constant(np.ascontiguousarray(draws.coefficients[:, layer, 1:].T))
        intercepts = builder.constant(np.ascontiguousarray(draws.coefficients[:, layer, 0]))
        logit = builder.node("Add", [builder.node("MatMul", [rows, slopes]), intercepts])
        if log_activation:
            logit = builder.node("Add", [logit, log_activation])
        log_activation = _add_log_softplus(builder, logit)
    largest = builder.constant(np.array(MAX_ACTIVATION))
    activation = builder.node("Min", [builder.node("Exp", [log_activation]), largest])
    return builder.node("MatMul", [activation, builder.constant(_weight_matrix(draws, n_experts))])


def _weight_matrix(draws: Draws, n_experts: int) -> FloatArray:
    """Return the weights of the experts, (experts, draws)."""
    matrix = np.zeros((n_experts, len(draws)))
    for draw, (start, stop) in enumerate(zip(draws.starts, draws.starts[1:], strict=False)):
        matrix[start:stop, draw] = draws.expert_weights[start:stop]
    return matrix


def _add_log_softplus(builder: Builder, logit: str) -> str:
    """Add log log(1 + e^z), precise for every z: below -36 it is z, above 40 it is log z."""
    lower, upper, one = (builder.constant(np.array(value)) for value in (MIN_LOGIT, MAX_LOGIT, 1.0))
    inside = builder.node("Max", [builder.node("Min", [logit, upper]), lower])
    odds = builder.node("Exp", [inside])
    u = builder.node("Add", [one, odds])
    quotient = builder.node("Div", [builder.node("Log", [u]), builder.node("Sub", [u, one])])
    softplus = builder.node("Mul", [odds, quotient])
    is_above = builder.node("Greater", [logit, upper])
    log_softplus = builder.node("Log", [builder.node("Where", [is_above, logit, softplus])])
    return builder.node("Where", [builder.node("Less", [logit, lower]), logit, log_softplus])


class _GraphBuilder:
    """Nodes and constants of a complete graph."""

    def __init__(self, onnx: ModuleType) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant tensor and return its name."""
        name = f"constant{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], **attributes: int) -> str:
        """Add a node and return the name of its output."""
        name = f"value{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name


def _is_text(classes: NDArray[Any]) -> bool:
    """Return whether labels are text; raise for numbers that cannot be labels in ONNX."""
    if classes.dtype.kind in "OU":
        return True
    # Compared as Python numbers: the largest ONNX label is not a double.
    beyond = [label for label in classes.tolist() if not -(2**63) <= label < 2**63]
    if beyond:
        raise ValueError(
            f"ONNX labels are 64-bit integers, from -2**63 to 2**63 - 1; got {beyond[0]!r}. Code the classes as "
            "smaller numbers or as text."
        )
    if classes.dtype.kind in "iub" or bool((classes == classes.astype(np.int64)).all()):
        return False
    raise ValueError(
        f"ONNX labels must be text or integers; got {classes.tolist()[0]!r}. Code the classes as one of these."
    )


def _type_code(name: InputType) -> int:
    """Return the ONNX code of a type of numbers."""
    kinds = import_onnx().TensorProto
    return int({"float32": kinds.FLOAT, "float64": kinds.DOUBLE}[name])


def import_onnx() -> ModuleType:
    """Return the module onnx; raise with an instruction if it is not installed."""
    try:
        import onnx  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("ONNX export needs the package onnx: pip install softpolytope[onnx].") from error
    return onnx
