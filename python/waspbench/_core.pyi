"""Typed face of the private extension module (crate ``wasp-py``)."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, final, type_check_only

__all__ = [
    "ArrowTable",
    "EngineError",
    "Handle",
    "RunResult",
    "ScenarioError",
    "check_scenario",
    "parse_bytes",
    "parse_duration",
    "parse_probability",
    "parse_rate",
    "serve",
    "start",
    "version",
]

@type_check_only
class Sample(TypedDict):
    elapsed: float
    measuring: bool
    throughput: float
    in_flight: int
    completed: int
    errors: int

class ScenarioError(ValueError): ...
class EngineError(RuntimeError): ...

def version() -> str: ...
def parse_duration(text: str) -> int: ...
def parse_bytes(text: str) -> int: ...
def parse_rate(text: str) -> int: ...
def parse_probability(text: str) -> float: ...
def check_scenario(scenario: str) -> None: ...

@final
class ArrowTable:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class RunResult:
    def summary(self) -> str: ...
    def tables(self) -> dict[str, ArrowTable]: ...

@final
class Handle:
    def next_sample(self, timeout_s: float) -> Sample | None: ...
    def done(self) -> bool: ...
    def stop(self) -> None: ...
    def wait(self) -> RunResult: ...

def start(
    scenario: str,
    *,
    device: int | None = None,
    emulator_cpus: Sequence[int] | None = None,
    server_cpus: Sequence[int] | None = None,
    server_pids: Sequence[int] | None = None,
) -> Handle: ...
def serve(address: str, port: int, on_listening: Callable[[str], object] | None = None) -> None: ...
