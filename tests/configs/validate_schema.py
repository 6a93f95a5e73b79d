#!/usr/bin/env python3
"""validate_schema.py SCHEMA MACHINES SIMRUN: every shipped machine, and what `simrun config --json` makes of it, fits the schema; files with
mistakes do not."""
import json
import pathlib
import subprocess
import sys

import jsonschema
import yaml

schema_file, machines, simrun = sys.argv[1:]
schema = json.load(open(schema_file))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
files = sorted(pathlib.Path(machines).glob('*.yaml'))
assert len(files) >= 3, files
for file in files:
    validator.validate(yaml.safe_load(file.read_text()))
    resolved = subprocess.run([simrun, 'config', '--json', str(file)], capture_output=True, check=True).stdout
    validator.validate(json.loads(resolved))
good = yaml.safe_load(files[0].read_text())
for change in [lambda m: m.update(bogus=1), lambda m: m.pop('levels'), lambda m: m.update(cores='four'), lambda m: m.update(cores=0),
               lambda m: m['levels'][0].update(replacement='best'), lambda m: m['levels'][-1].update(size='32KB'),
               lambda m: m['levels'][-1].pop('ways'), lambda m: m['levels'][0].update(shared_by='all'),
               lambda m: m.update(memory={'lat': 3}), lambda m: m.update(levels=[])]:
    bad = json.loads(json.dumps(good))
    change(bad)
    if validator.is_valid(bad):
        sys.exit(f'the schema accepts {bad}')
print(f'{len(files)} machines fit the schema')
