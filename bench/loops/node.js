// The loop that somebody would write in Node: spawn, readline, JSON.parse, map, write. Output is collected into pieces of
// 64 KiB, because a write for each line would measure only the writes. If the pipe is full, it waits.
"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");
const { parser } = require("./events.js");

const [agent, program] = process.argv.slice(2);

const started = Date.now();
const child = spawn(program, [], { stdio: ["ignore", "pipe", "inherit"] });
const lines = readline.createInterface({ input: child.stdout, crlfDelay: Infinity });
const events = parser(agent);
let out = "";
let seq = 0;

// `seq` and `at` are put in front of the text, because building another object for each event is slower.
function write(at, event) {
  out += `{"seq":${++seq},"at":${at},${JSON.stringify(event).slice(1)}\n`;
}

write(0, { type: "run-started", agent: { program } });
// With a listener, because `for await` is slower.
lines.on("line", (line) => {
  const at = Date.now() - started;
  for (const event of events(line, at)) write(at, event);
  if (out.length >= 65536) {
    if (!process.stdout.write(out)) {
      lines.pause();
      process.stdout.once("drain", () => lines.resume());
    }
    out = "";
  }
});
lines.on("close", () => process.stdout.write(out));
