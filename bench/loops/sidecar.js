// A sidecar in Node for `wharf-bench relay`: what an adapter would be as a process instead of a component. A request is a
// line with a batch of whole lines from the agent and the time at which they were read; a response is a line with their
// events. The relay adds `seq` and `at`, as a host does.
"use strict";

const { parser } = require("./events.js");

const events = parser(process.argv[2]);
let pieces = [];

function respond(line) {
  const { id, params } = JSON.parse(line);
  const all = [];
  for (const text of params.text.split("\n")) {
    if (text !== "") all.push(...events(text, params.at));
  }
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: { events: all } }) + "\n");
}

// Without readline: a request is one long line, and this finds its end faster.
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => {
  let start = 0;
  for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", start)) {
    pieces.push(piece.slice(start, end));
    const line = pieces.join("");
    pieces = [];
    respond(line);
    start = end + 1;
  }
  if (start < piece.length) pieces.push(piece.slice(start));
});
