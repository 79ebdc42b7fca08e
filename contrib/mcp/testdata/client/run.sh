#!/usr/bin/env bash
# Runs client.cjs, with the official TypeScript client that package-lock.json
# names. The client is installed once, into a cache and not into the checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

modules="${XDG_CACHE_HOME:-$HOME/.cache}/toolproc-ci/mcp-client-$(cksum <package-lock.json | tr -s ' ' -)"
if [[ ! -d $modules ]]; then
	mkdir -p "$(dirname "$modules")"
	(
		new=$(mktemp -d "$modules.XXXXXX")
		trap 'rm -rf "$new"' EXIT
		cp package.json package-lock.json "$new"
		cd "$new"
		npm ci --ignore-scripts --no-audit --no-fund
		[[ -d $modules ]] || mv "$new" "$modules" # whole or not at all
	)
fi
NODE_PATH="$modules/node_modules" exec node client.cjs "$@"
