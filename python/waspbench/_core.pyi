"""Typed face of the private extension module (crate ``wasp-py``)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ArrowTable",
    "EngineError",
    "FileContent",
    "FileSet",
    "Handle",
    "OptionError",
    "QuantityError",
    "RunResult",
    "ScenarioError",
    "Sites",
    "build_files",
    "check_scenario",
    "check_threads",
    "fetch",
    "files_of_text",
    "judge_censoring",
    "judge_together",
    "judge_trend",
    "mean_of_delay",
    "parse_bytes",
    "parse_duration",
    "parse_frequency",
    "parse_probability",
    "parse_rate",
    "profile",
    "queue_defaults",
    "reason_codes",
    "sample_requests",
    "seed_of_group",
    "serve",
    "start",
    "tcp_constants",
    "topology",
    "trace_facts",
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

class ScenarioError(ValueError):
    field: str
    message: str

class OptionError(ValueError):
    field: str
    message: str

class QuantityError(ValueError):
    message: str

class EngineError(RuntimeError): ...

def version() -> str: ...
def profile() -> str: ...
def parse_duration(text: str) -> int: ...
def parse_bytes(text: str) -> int: ...
def parse_frequency(text: str) -> float: ...
def parse_rate(text: str) -> int: ...
def parse_probability(text: str) -> float: ...
def check_scenario(scenario: str) -> None: ...
def check_threads(scenario: str, threads: int) -> None: ...
def tcp_constants(options: str) -> str: ...
def queue_defaults() -> str: ...
def topology(scenario: str) -> str: ...
def trace_facts(text: str, opportunity: str = "1504B", overhead: str = "4B") -> tuple[int, int, int]: ...
def reason_codes() -> list[str]: ...
def judge_together(runs: str) -> str: ...
def judge_trend(ended: Sequence[int], warmup: float, duration: float) -> str: ...
def judge_censoring(
    runs: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    warmup: float,
    duration: float,
    timeout: float,
    closed: float,
) -> str: ...
def build_files(options: str, seed: int) -> FileSet: ...
def seed_of_group(seed: int, group: str) -> int: ...
def mean_of_delay(delay: str) -> float: ...
def files_of_text(text: str) -> list[str]: ...
def sample_requests(scenario: str) -> list[list[tuple[str, bytes]]]: ...

@final
class FileSet:
    def files(self) -> list[tuple[str, int]]: ...
    def entries(self) -> list[tuple[str, int, Literal["base", "embedded", "loner"], int]]: ...
    def parameters(self) -> str | None: ...
    def examine(self, run: int) -> str: ...
    def content(self, file: int) -> FileContent: ...

@final
class Sites:
    def __init__(self) -> None: ...
    def add(self, options: str, seed: int, group: str | None = None) -> str: ...
    def totals(self) -> tuple[int, int]: ...
    def figures(self, site: int) -> tuple[int, int, str | None]: ...
    def answers(self, fields: list[str]) -> list[tuple[str, str, bool, int, list[tuple[str, str]], str, int]]: ...
    def files(self, site: int) -> list[tuple[str, int]]: ...

@final
class FileContent:
    def read(self, size: int) -> bytes: ...

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
    device: Sequence[int] | None = None,
    device_name: str | None = None,
    namespace: int | None = None,
    emulator_cpus: Sequence[int] | None = None,
    server_cpus: Sequence[int] | None = None,
    server_pids: Sequence[int] | None = None,
    client_device: int | None = None,
    client_device_name: str | None = None,
    client_namespace: int | None = None,
    offload: bool = True,
) -> Handle: ...
def fetch(
    *,
    address: str,
    port: int,
    path: str,
    first_source: str,
    sources: int,
    lanes: int,
    requests_per_connection: int | None,
    pause: int,
    begin: int,
    spread: int,
    end: int,
) -> bytes: ...
def serve(
    address: str,
    port: int,
    on_listening: Callable[[str], object] | None = None,
    files: Mapping[str, int] | None = None,
    answers: Sequence[tuple[str, str, bool, int, list[tuple[str, str]], str, int]] | None = None,
) -> None: ...
