# SPDX-License-Identifier: Apache-2.0
"""`python -m draftline`: the program."""

from ._program import main

main()
