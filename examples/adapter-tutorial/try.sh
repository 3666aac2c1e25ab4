#!/bin/sh
# The commands of docs/writing-an-adapter.md. Run it in the repository's root, with `wharf` in PATH.
set -eu

rustup target add wasm32-wasip2
cargo build --release --target wasm32-wasip2 --package adapter-tutorial
adapter=target/wasm32-wasip2/release/adapter_tutorial.wasm

export WHARF_ADAPTERS="$(mktemp -d)"
cp $adapter $WHARF_ADAPTERS/scribe.wasm
wharf adapters show scribe

export PATH="$PWD/examples/adapter-tutorial:$PATH"
export WHARF_CONFIG="$PWD/examples/adapter-tutorial/config.toml"
export SCRIBE_KEY=anything-will-do

wharf explain --adapter scribe "one two three"
wharf run --adapter scribe "one two three"
wharf run --adapter scribe --json "one two three"
