"""Compares two renderings of the same objects.

    python3 same_objects.py A.yaml B.yaml     exit code 1, and one line for each different field
    python3 same_objects.py --plant A.yaml    changes each field of A in turn: each must be found

These are no differences: the labels and the annotation that only Helm sets, the hash that Kustomize
adds to the name of a ConfigMap, the order of lists whose elements have keys, the form of a file in a
ConfigMap, which is compared by its keys, and the blanks of a PromQL expression, which the parsers of
YAML fold in two ways.
"""

import copy
import json
import re
import sys

import yaml

HELM = ("helm.sh/chart", "app.kubernetes.io/managed-by", "checksum/config")
HASHED = re.compile(r"^(.+-config)-[a-z0-9]{10}$")


def normal(value, path=()):
    """Returns a value without the differences of form."""
    if isinstance(value, dict):
        fields = {key: normal(each, path + (key,)) for key, each in value.items() if key not in HELM}
        return {key: each for key, each in fields.items() if each not in ({}, [], None) or key in ("emptyDir", "selfSigned")}
    if isinstance(value, list):
        all_of = [normal(each, path) for each in value]
        keyed = all_of and all(isinstance(each, dict) for each in all_of)
        return sorted(all_of, key=lambda each: json.dumps(each, sort_keys=True)) if keyed else all_of
    if isinstance(value, str):
        if path[:1] == ("data",):
            return normal(yaml.safe_load(value))
        if path[-1:] == ("name",) and HASHED.match(value):
            return HASHED.match(value).group(1)
        if path[-1:] == ("expr",):
            return " ".join(value.split())
    return value


def objects(documents):
    found = {}
    for each in documents:
        if each:
            each = normal(each)
            key = "/".join((each["apiVersion"], each["kind"], each["metadata"]["name"]))
            if key in found:
                raise SystemExit(f"{key}: twice")
            found[key] = each
    return found


def differences(a, b, at=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys(), key=str):
            yield from differences(a.get(key), b.get(key), f"{at}.{key}" if at else str(key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (one, other) in enumerate(zip(a, b)):
            yield from differences(one, other, f"{at}[{index}]")
    elif type(a) is not type(b) or a != b:
        yield f"{at}: {json.dumps(a)} | {json.dumps(b)}"


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, path + (key,))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves(each, path + (index,))
    else:
        yield path


def planted(documents):
    """Yields the paths of changed fields that the comparison did not find, and counts them all."""
    right = objects(documents)
    count = 0
    for which, document in enumerate(documents):
        for path in leaves(document):
            if path[-1] in HELM:
                continue
            changed = copy.deepcopy(documents)
            at = changed[which]
            for key in path[:-1]:
                at = at[key]
            old = at[path[-1]]
            if path[0] == "data":  # a file: another value of its last line
                at[path[-1]] = re.sub(r"(\w)(\W*)$", r"\1x\2", old)
            elif isinstance(old, bool):
                at[path[-1]] = not old
            else:
                at[path[-1]] = old + 1 if isinstance(old, int) else f"{old}x"
            count += 1
            if not list(differences(right, objects(changed))):
                yield "/".join(map(str, (document["kind"], document["metadata"]["name"], *path)))
    if count < 100:
        yield f"only {count} fields were changed"
    print(f"{count} fields changed")


def read(name):
    with open(name, encoding="utf-8") as file:
        return [each for each in yaml.safe_load_all(file) if each]


def main(arguments):
    if arguments[0] == "--plant":
        problems = list(planted(read(arguments[1])))
    else:
        a, b = map(read, arguments)
        problems = list(differences(objects(a), objects(b)))
    print("\n".join(problems[:50]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
