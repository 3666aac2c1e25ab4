// A sidecar in Node, behind `wharf-bench relay`: what an adapter would be as a process instead of a component. A request
// is a line with a batch of whole lines of the agent's, an answer is a line with their events.
"use strict";

const { events } = require("./events.js");

const runtime = process.argv[2];
let pieces = [];

function answer(line) {
  const { id, params } = JSON.parse(line);
  const all = [];
  for (const text of params.text.split("\n")) {
    if (text !== "") all.push(...events(runtime, text));
  }
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: { events: all } }) + "\n");
}

// No readline here: a request is one long line, and this is the quickest way to find its end.
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => {
  let start = 0;
  for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", start)) {
    pieces.push(piece.slice(start, end));
    const line = pieces.join("");
    pieces = [];
    answer(line);
    start = end + 1;
  }
  if (start < piece.length) pieces.push(piece.slice(start));
});
