"""Policies as files: ONNX for any runtime, npz for NumPy alone. Each carries what is needed to use it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from qdpg.errors import UserError
from qdpg.exports.choose import cell_of
from qdpg.learn.networks import MLP, deterministic
from qdpg.runs.collection import Collection
from qdpg.runs.policy import Policy
from qdpg.runs.run import Run
from qdpg.version import __version__

OPSET, IR_VERSION = 17, 8  # old enough for every runtime since 2022
_OPERATORS = {"relu": "Relu", "tanh": "Tanh", "linear": None}


def describe_policy(run: Run, elites: Collection, row: int) -> dict[str, Any]:
    """What there is to know about one elite, as plain JSON."""
    spec, policy = elites.spec, elites[row]
    return {
        "made_by": f"qdpg {__version__}",
        "task": run.config["task"],
        "task_options": run.config["task_options"],
        "algorithm": run.config["algorithm"],
        "run_seed": run.config["seed"],
        "cell": cell_of(elites, row),
        "observation": f"[n, {spec.observation_size}] float32, as the environment gives them, flattened",
        "action": f"[n, {spec.action_size}] float32 in [-1, 1]; low + (action + 1) / 2 * (high - low) brings them to "
        "the environment's own range",
        "action_low": spec.action_low,
        "action_high": spec.action_high,
        "horizon": spec.horizon,
        "descriptor_names": spec.descriptor_names,
        "descriptor_low": spec.descriptor_low,
        "descriptor_high": spec.descriptor_high,
        "behaviour": [float(each) for each in policy.behaviour],
        "fitness_is": spec.fitness,
        "fitness": policy.fitness,
        "evaluated_fitness": None if np.isnan(policy.evaluated_fitness) else policy.evaluated_fitness,
        "episode_seed": policy.seed,
        "episode_noise": float(elites.arrays["noise"][row]),
    }


def layers(policy: Policy) -> list[tuple[np.ndarray, np.ndarray, str]]:
    """Weights [fan_in, fan_out], biases [fan_out] and activation of each layer, as it acts without noise.

    Raises:
        UserError: It has an activation that cannot be exported.
    """
    network = deterministic(MLP(policy.weights, policy.biases, policy.hidden, policy.output))  # type: ignore[arg-type]
    last = len(network.weights) - 1
    kinds = [network.output if i == last else network.hidden for i in range(last + 1)]
    for kind in kinds:
        if kind not in _OPERATORS:
            raise UserError(f"a policy with activation {kind!r} cannot be exported; {', '.join(_OPERATORS)} can.")
    weights, biases = ([np.asarray(part, np.float32) for part in parts] for parts in (network.weights, network.biases))
    return list(zip(weights, biases, kinds, strict=True))


def to_onnx(policy: Policy, about: dict[str, Any]) -> bytes:
    """One policy as an ONNX model: `observation` [n, O] gives `action` [n, A]; `about` becomes its metadata."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    parts, nodes, constants, at = layers(policy), [], [], "observation"
    for i, (weight, bias, kind) in enumerate(parts):
        constants += [numpy_helper.from_array(weight, f"weight_{i}"), numpy_helper.from_array(bias, f"bias_{i}")]
        nodes.append(helper.make_node("Gemm", [at, f"weight_{i}", f"bias_{i}"], [f"sum_{i}"]))
        at, operator = f"sum_{i}", _OPERATORS[kind]
        if operator is not None:
            nodes.append(helper.make_node(operator, [at], [f"layer_{i}"]))
            at = f"layer_{i}"
    bounds = {"lowest": -1.0, "highest": 1.0}
    constants += [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in bounds.items()]
    nodes.append(helper.make_node("Clip", [at, *bounds], ["action"]))
    sizes = {"observation": len(parts[0][0]), "action": len(parts[-1][1])}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]) for name, size in sizes.items()]
    graph = helper.make_graph(nodes, "policy", ends[:1], ends[1:], constants)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, producer_name="qdpg", ir_version=IR_VERSION, opset_imports=opset)
    helper.set_model_props(model, {key: _text(value) for key, value in about.items()})
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def act_with_onnx(content: bytes, observations: np.ndarray) -> np.ndarray:
    """What onnxruntime makes of observations [n, O], [n, A]."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # threads take longer to start than such a network to run
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(["action"], {"observation": observations})[0]


def to_npz(policy: Policy, about: dict[str, Any]) -> bytes:
    """One policy as NumPy arrays `weight_i`, `bias_i`; `about` is JSON, with the activation of each layer."""
    parts = layers(policy)
    arrays: dict[str, np.ndarray] = {}
    for i, (weight, bias, _) in enumerate(parts):
        arrays |= {f"weight_{i}": weight, f"bias_{i}": bias}
    arrays["about"] = np.array(json.dumps(about | {"activations": [kind for *_, kind in parts]}))
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def act_with_npz(content: bytes, observations: np.ndarray) -> np.ndarray:
    """What a reader of the npz computes for observations [n, O], [n, A]."""
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "relu": lambda x: np.maximum(x, 0),
        "tanh": np.tanh,
        "linear": lambda x: x,
    }
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        x = observations
        for i, kind in enumerate(json.loads(str(file["about"]))["activations"]):
            x = functions[kind](x @ file[f"weight_{i}"] + file[f"bias_{i}"])
    return np.clip(x, -1.0, 1.0)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
