#!/usr/bin/env python3
"""Prints the JSON Schema of Ray Serve's own models, without prose.

    VENV/bin/python models.py > ../../test/resources/ray-cli/models.json

Needs the ray[serve] that src/it/ray-cli.sh installs, and prints its version. The commands of Ray Serve
parse Berth's responses by these models, so forbidden or missing properties break the commands.
"""

import json

import ray
from ray.serve.schema import ScaleDeploymentRequest, ServeDeploySchema, ServeInstanceDetails

# Removed keys; properties with such names stay.
PROSE = {"title", "description", "default", "examples"}


def bare(node, names=False):
    """Returns the schema without prose; `names`: the keys of node are names of properties."""
    if isinstance(node, dict):
        return {
            key: bare(value, names=key in ("properties", "$defs") and not names)
            for key, value in node.items()
            if names or key not in PROSE
        }
    return [bare(each) for each in node] if isinstance(node, list) else node


def main():
    models = {
        model.__name__: bare(model.model_json_schema())
        for model in (ServeInstanceDetails, ServeDeploySchema, ScaleDeploymentRequest)
    }
    print(json.dumps({"ray_version": ray.__version__, "models": models}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
