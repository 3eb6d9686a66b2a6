# SPDX-License-Identifier: Apache-2.0
"""Texts of installed Debian packages, and the target's chat template, for prompts."""
import gzip
import pathlib
import re
import subprocess
import sys

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
TASKS = ("Write these records as CSV with a header line.", "Write these records as YAML.",
         "Write these records as a Markdown table.", "Write these records as JSON with the keys in upper case.")
LONG_TEXT = 1400  # characters


def as_chat(question):
    """The text of a prompt in the target's template."""
    return "<|im_start|>system\n%s<|im_end|>\n<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n" % (
        SYSTEM, question)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def debian(package):
    """The files of an installed package and its version."""
    try:
        return [pathlib.Path(p) for p in run("dpkg", "-L", package).split("\n")], run(
            "dpkg-query", "-W", "-f", "${Version}", package)
    except subprocess.CalledProcessError:
        sys.exit("the Debian package %s is not installed" % package)


def manual_pages(package, section):
    files, version = debian(package)
    pages = sorted(f for f in files if f.parent == pathlib.Path("/usr/share/man/man%d" % section) and f.suffix == ".gz")
    for page in pages:
        source = gzip.decompress(page.read_bytes())
        if source.startswith(b".so "):  # another name of a page
            continue
        text = subprocess.run(["groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-k", "-rLL=400n"], input=source,
                              capture_output=True).stdout.decode("ascii", "replace")
        yield "%s %s %s" % (package, version, page.name), text


def part_of(page, heading):
    found = re.search(r"^%s\n(.*?)(?=^\S|\Z)" % heading, page, re.M | re.S)
    lines = [line.strip() for line in found.group(1).split("\n")] if found else []
    return re.sub(r"\n{2,}", "\n\n", "\n".join(lines)).strip()


def name_line(page):
    """The name of a manual page's command or function, and what it is for."""
    found = re.match(r"(\S+) - (.{12,120})$", re.sub(r"\s+", " ", part_of(page, "NAME")))
    return found.groups() if found else None


def question_on(name, purpose):
    return "What does the command %s do (%s)? When would I use it? Give an example." % (name, purpose)


def to_summarise(text, shortest=600):
    """The beginning of `text`, in whole sentences, as a task; None if it has fewer characters than `shortest`."""
    text = text[:LONG_TEXT]
    text = text[:max(text.rfind(". "), text.rfind(".\n")) + 1]
    return "Summarise this text in three sentences.\n\n" + text if len(text) >= shortest else None


def to_complete(code):
    return "Complete this Python function. Answer with the whole function.\n\n```python\n%s```" % code


def to_rewrite(number, records):
    """`records`: text of JSON. The tasks follow each other."""
    return TASKS[number % len(TASKS)] + "\n\n" + records
