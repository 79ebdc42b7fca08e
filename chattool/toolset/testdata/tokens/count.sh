#!/usr/bin/env bash
# Counts tokens of o200k_base, with npm's gpt-tokenizer: bash count.sh <texts.json
# It reads a JSON array of strings, and prints the number of tokens of each. It
# needs node and npm, and installs the tokenizer once, outside of the repository.
set -euo pipefail
version=3.4.0
dir=${XDG_CACHE_HOME:-$HOME/.cache}/toolproc-tokens/$version
if [[ ! -d $dir/node_modules/gpt-tokenizer ]]; then
	mkdir -p "$dir"
	echo '{"private":true}' >"$dir/package.json"
	(cd "$dir" && npm install --silent --no-audit --no-fund "gpt-tokenizer@$version" >&2)
fi
NODE_PATH=$dir/node_modules exec node -e '
	const { encode } = require("gpt-tokenizer/encoding/o200k_base");
	const none = { allowedSpecial: new Set(), disallowedSpecial: new Set() };
	for (const text of JSON.parse(require("fs").readFileSync(0, "utf8"))) console.log(encode(text, none).length);
'
