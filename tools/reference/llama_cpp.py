# SPDX-License-Identifier: Apache-2.0
"""Logits of a GGUF file by llama.cpp, through the library inside the package xllamacpp."""
import ctypes
import importlib.metadata
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "engines"))
from llama_cpp_steps import Library, fail, wheel  # noqa: E402

ROOM = 1024  # tokens of a context
F16, F32 = 1, 0  # of ggml


def in_fp32(parameters):
    """Sets the cache to F32 and switches fused attention, which rounds to fp16, off. The places are found by what the
    library set there: the last of the four enumerations of -1, and then a pair of F16."""
    words = (ctypes.c_int32 * 64).from_buffer(parameters)
    enumerations = next((i for i in range(4, 60) if list(words[i:i + 4]) == [-1] * 4), None)
    pair = next((i for i in range(enumerations or 60, 62) if list(words[i:i + 2]) == [F16] * 2), None)
    if pair is None:
        fail("this version of llama.cpp has other parameters")
    words[enumerations + 3], words[pair], words[pair + 1] = 0, F32, F32


def version():
    return "xllamacpp " + importlib.metadata.version("xllamacpp")


class Network:
    """A GGUF file and one sequence. `single`: attention is computed in fp32."""

    def __init__(self, path, threads=1, single=True):
        self.c = Library(wheel().xllamacpp.__file__).c
        self.silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
        self.c.llama_log_set(self.silent, None)
        self.c.llama_get_logits.restype = ctypes.POINTER(ctypes.c_float)
        self.c.llama_get_logits.argtypes = (ctypes.c_void_p,)
        for name, argument in (("llama_model_get_vocab", ctypes.c_void_p), ("llama_vocab_n_tokens", ctypes.c_void_p)):
            getattr(self.c, name).argtypes = (argument,)
        self.c.llama_model_get_vocab.restype = ctypes.c_void_p
        self.c.llama_vocab_n_tokens.restype = ctypes.c_int32
        self.model = self.c.llama_model_load_from_file(str(path).encode(), self.c.llama_model_default_params())
        if not self.model:
            fail("%s can't be loaded" % path)
        parameters = self.c.llama_context_default_params()
        parameters.first[:] = [ROOM, ROOM, ROOM, 1]
        if single:
            in_fp32(parameters)
        self.context = self.c.llama_init_from_model(self.model, parameters)
        if not self.context or self.c.llama_n_ctx(self.context) < ROOM:
            fail("this version of llama.cpp has other parameters")
        self.c.llama_set_n_threads(self.context, threads, threads)
        self.vocabulary = self.c.llama_vocab_n_tokens(self.c.llama_model_get_vocab(self.model))
        self.batch = self.c.llama_batch_init(ROOM, 0, 1)
        self.length = 0

    def restart(self):
        self.c.llama_memory_seq_rm(self.c.llama_get_memory(self.context), 0, 0, -1)
        self.length = 0

    def logits(self, tokens):
        """[tokens, vocabulary] of tokens behind those before."""
        b = self.batch
        b.tokens = len(tokens)
        for i, token in enumerate(tokens):
            b.token[i], b.position[i], b.sequences[i] = token, self.length + i, 1
            b.sequence[i][0], b.logits[i] = 0, 1
        if self.c.llama_decode(self.context, b):
            fail("llama_decode failed")
        self.c.llama_synchronize(self.context)
        self.length += len(tokens)
        values = np.ctypeslib.as_array(self.c.llama_get_logits(self.context), (len(tokens), self.vocabulary))
        return values.copy()
