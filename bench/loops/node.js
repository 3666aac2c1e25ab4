// The loop that somebody would write in Node: spawn, readline, JSON.parse, map, write. Output is gathered into pieces of
// 64 KiB, because a write a line would measure only the writes, and waits where the pipe is full.
"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");
const { events } = require("./events.js");

const [runtime, agent] = process.argv.slice(2);

const child = spawn(agent, [], { stdio: ["ignore", "pipe", "inherit"] });
const lines = readline.createInterface({ input: child.stdout, crlfDelay: Infinity });
let out = "";

// By event, not with `for await`, which is slower.
lines.on("line", (line) => {
  for (const event of events(runtime, line)) {
    out += JSON.stringify(event) + "\n";
  }
  if (out.length >= 65536) {
    if (!process.stdout.write(out)) {
      lines.pause();
      process.stdout.once("drain", () => lines.resume());
    }
    out = "";
  }
});
lines.on("close", () => process.stdout.write(out));
