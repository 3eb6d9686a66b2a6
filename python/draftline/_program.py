# SPDX-License-Identifier: Apache-2.0
"""The program in the package, and the verbs that it answers in a process of its own. Their keyword arguments are the
options of the verb (`python -m draftline VERB --help`) with _ for -: a list gives several values, True a flag."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn, Sequence, Union

from ._errors import Bug, DeviceError, DraftlineWarning, InputError, OutputError
from ._result import Document

PROGRAM = Path(__file__).parent / "bin" / "draftline"
File = Union[str, "os.PathLike[str]"]

_FINE, _MISSED, _INPUT, _DEVICE = 0, 1, 2, 3


def main() -> NoReturn:
    """Becomes the program, with the arguments of this process."""
    os.execv(PROGRAM, ["draftline", *sys.argv[1:]])


def _positional(file: File) -> str:
    name = os.fspath(file)
    return os.path.join(".", name) if name.startswith("-") else name


def _word(value: Any) -> str:
    is_file = isinstance(value, os.PathLike) or (isinstance(value, str) and os.path.exists(value))
    return _positional(value) if is_file else str(value)


def _option(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, dict):
        value = json.dumps(value)
    if isinstance(value, (list, tuple)):
        words = [_word(one) for one in value]
        dashed = any(word.startswith("-") for word in words)
        return [f"{flag}={word}" for word in words] if dashed else [flag, *words]
    return [f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}"]


def _run(command: list[str], given: str) -> tuple[int, str, str]:
    """Exit code, output and messages with `given` as the input. The process ends with this call, also after Ctrl-C."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8") as process:
        try:
            printed, said = process.communicate(given)
        except BaseException:
            process.kill()
            process.wait()
            raise
    return process.returncode, printed, said


def _failure(verb: str, code: int, said: str) -> Exception:
    lines = [line for line in said.splitlines() if line and not line.startswith("Run with --help")]
    if code == _INPUT:
        return InputError(lines)
    if code == _DEVICE:
        unwritable = re.search(r"can(?:no|')t be written", said)
        return (OutputError if unwritable else DeviceError)("\n".join(lines))
    return Bug(f"{verb} ended with {code}: {said.strip()}")


def _ask(verb: str, arguments: Sequence[str], options: dict[str, Any], given: str = "") -> Document:
    command = [os.fspath(PROGRAM), verb, *arguments]
    for name, value in options.items():
        command += _option(name, value)
    code, printed, said = _run([*command, "--json"], given)
    if code in (-signal.SIGINT, 128 + signal.SIGINT):
        raise KeyboardInterrupt
    if code not in (_FINE, _MISSED) and not (code == _INPUT and printed):
        raise _failure(verb, code, said)
    for note in said.splitlines():
        warnings.warn(note, DraftlineWarning, stacklevel=3)
    return Document(printed, missed=code != _FINE)


def check(*pins: File, **options: Any) -> Document:
    """Recomputes pinned predictions; `missed` if a figure changed or a pin can't be recomputed."""
    return _ask("check", [_positional(file) for file in pins], options)


def calibrate(measured: File, **options: Any) -> Document:
    """The device file that fits a measured file, or a folder of tables of kernels."""
    return _ask("calibrate", [_positional(measured)], options)


def calibrate_served(*files: File, engine: File, device: File, transformer: File, **options: Any) -> Document:
    """The engine profile that fits benchmarks of a server."""
    named = {"served": list(files), "engine": engine, "device": device, "transformer": transformer}
    return _ask("calibrate", [], {**named, **options})


class Decoded(Document):
    """Texts of the reference decoder."""

    def __init__(self, json: str, tokenizer: Any):
        super().__init__(json, missed=False)
        self._tokenizer = tokenizer

    @property
    def tokens(self) -> list[list[int]]:
        """The new tokens of each prompt."""
        return [text["tokens"] for text in self.to_dict()["texts"]]

    @property
    def texts(self) -> list[str]:
        """The new tokens as text, by the tokenizer of the network's folder."""
        if self._tokenizer is None:
            raise ValueError("texts: the prompts were token ids; `tokens` has the answers")
        return [self._tokenizer.decode(tokens) for tokens in self.tokens]


def _tokenizer_of(transformer: File) -> Any:
    file = Path(transformer) / "tokenizer.json"
    if not file.exists():
        raise InputError([f"{file}: no such file; give prompts as lists of token ids"])
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError("prompts as text need tokenizers: pip install tokenizers") from error
    return Tokenizer.from_file(os.fspath(file))


def decode(transformer: File, prompts: Sequence[Union[Sequence[int], str]], **options: Any) -> Decoded:
    """Decodes prompts, lists of token ids or texts, with any method. `method` is a name or a dictionary as in a
    scenario."""
    tokenizer: Any = _tokenizer_of(transformer) if any(isinstance(prompt, str) for prompt in prompts) else None
    lines = []
    for prompt in prompts:
        ids = tokenizer.encode(prompt).ids if isinstance(prompt, str) else prompt
        lines.append(" ".join(str(int(one)) for one in ids) + "\n")
    arguments = [f"--transformer={os.fspath(transformer)}", "--prompt-file=-"]
    return Decoded(_ask("decode", arguments, options, "".join(lines)).json, tokenizer)
