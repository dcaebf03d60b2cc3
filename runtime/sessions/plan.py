"""`Plan`: how a session runs on a device, as plain values that an artifact keeps."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

_CHOICES: dict[str, tuple[str | None, ...]] = {
    "device": ("cpu", "cuda"),
    "fusion": ("none", "onednn_ops"),
    "memory_format": ("contiguous", "channels_last"),
    "dtype": (None, "bfloat16", "float16"),
}


class PlanError(ValueError):
    """A plan that this version cannot follow."""


@dataclass(frozen=True)
class Plan:
    """How a session runs. The defaults are what any TorchScript file gets.

    Raises PlanError for a value that is none of the field's.
    """

    device: str = "cpu"
    """The kind, "cpu" or "cuda"; which of several devices is the session's affair."""
    freeze: bool = True
    fusion: str = "none"
    """"onednn_ops": the graph calls oneDNN's fused operators. torch's own fuser, oneDNN Graph
    (`torch.jit.enable_onednn_fusion`), is none of the choices: it is on for all of a process, and
    fails, or computes something else, when a fused graph runs in several threads."""
    memory_format: str = "contiguous"
    threads: int | None = None
    """None leaves torch's number of threads as it is."""
    dtype: str | None = None
    """What is computed in, where that was asked for; inputs and outputs keep the model's."""
    tf32: bool = False
    cudnn_benchmark: bool = False
    cuda_graphs: bool = False
    rewrites: tuple[str, ...] = ()
    """The graph rewrites that were applied, in order."""

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if not _is_of(value, hint) or value not in _CHOICES.get(name, (value,)):
                raise PlanError(f"a plan's {name} cannot be {value!r}")
        if self.threads is not None and self.threads < 1:
            raise PlanError(f"a plan's threads cannot be {self.threads}")

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return {**dataclasses.asdict(self), "rewrites": list(self.rewrites)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """The plan that `to_json` gave. Raises PlanError for what this version does not know."""
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(data.keys() - known)
        if unknown:
            raise PlanError(
                f"the plan has fields that this version does not know ({', '.join(unknown)}): it "
                "was made by a newer version; upgrade jit-transpile"
            )
        rewrites = data.get("rewrites", [])
        return cls(**{**data, "rewrites": tuple(rewrites) if isinstance(rewrites, list) else None})

    def on(self, device: str) -> Plan:
        """The plan on a kind of device; another kind keeps what is in the graph, and no more.

        Raises PlanError when the graph runs on the one kind alone.
        """
        if device == self.device:
            return self
        if self.fusion == "onednn_ops":
            raise PlanError(
                f"its graph calls oneDNN's operators, which run on the {self.device} alone: "
                f'compile the module with device="{device}"'
            )
        return Plan(device=device, freeze=self.freeze, dtype=self.dtype, rewrites=self.rewrites)

    def describe(self) -> str:
        """One line for people: `cpu, frozen, channels last, oneDNN operators, 2 threads`."""
        words = [
            self.device,
            "frozen" if self.freeze else "",
            "channels last" if self.memory_format == "channels_last" else "",
            "oneDNN operators" if self.fusion == "onednn_ops" else "",
            self.dtype or "",
            "TF32" if self.tf32 else "",
            "cuDNN benchmark" if self.cudnn_benchmark else "",
            "CUDA graphs" if self.cuda_graphs else "",
            "" if self.threads is None else f"{self.threads} thread{'s' * (self.threads > 1)}",
            f"rewrites: {' '.join(self.rewrites)}" if self.rewrites else "",
        ]
        return ", ".join(filter(None, words))


def _is_of(value: object, hint: Any) -> bool:
    """Whether a value is of a field's type; True is no number of threads."""
    if hint == tuple[str, ...]:
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    return type(value) in (get_args(hint) or (hint,))
