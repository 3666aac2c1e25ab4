// Compiles every schema with Ajv in strict mode, and makes TypeScript of it. Arguments: the folder of the installed
// packages, the folder of the schemas, the folder for the result.
"use strict";

const { readdirSync, readFileSync, writeFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { join } = require("node:path");

const [tools, schemas, result] = process.argv.slice(2);
const installed = createRequire(join(tools, "node_modules", "x"));
const Ajv = installed("ajv/dist/2020");
const { compile } = installed("json-schema-to-typescript");

async function main() {
  for (const file of readdirSync(schemas)) {
    const schema = JSON.parse(readFileSync(join(schemas, file), "utf8"));
    new Ajv.default({ strict: true }).compile(schema);
    const name = file.replace(".json", "");
    writeFileSync(join(result, `${name}.ts`), await compile(schema, name));
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
