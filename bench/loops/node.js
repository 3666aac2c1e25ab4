// The loop that somebody would write in Node: spawn, readline, JSON.parse, map, write. Output is gathered into pieces of
// 64 KiB, because a write a line would measure only the writes, and waits where the pipe is full.
"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");
const { events } = require("./events.js");

const [runtime, agent] = process.argv.slice(2);

async function main() {
  const child = spawn(agent, [], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  for await (const line of readline.createInterface({ input: child.stdout, crlfDelay: Infinity })) {
    for (const event of events(runtime, line)) {
      out += JSON.stringify(event) + "\n";
    }
    if (out.length >= 65536) {
      if (!process.stdout.write(out)) await new Promise((resolve) => process.stdout.once("drain", resolve));
      out = "";
    }
  }
  process.stdout.write(out);
}

main();
