// Reads front matter as hosts do: YAML 1.2, by the library that the Inspector has.
// Takes a file with [{text, frontmatter}], gives for each what is wrong with it, or "".
import fs from "node:fs";
import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";

const inspector = new URL("./node_modules/inspector-2/package.json", import.meta.url);
const { parse } = createRequire(inspector)("yaml");

function frontMatter(text) {
  const begins = /^---[ \t]*\r?\n/.exec(text);
  if (!begins) return undefined;
  const rest = text.slice(begins[0].length);
  const end = rest.search(/^---[ \t]*\r?$/m);
  return end < 0 ? undefined : rest.slice(0, end).replace(/\r?\n$/, "");
}

function problem({ text, frontmatter }) {
  const yaml = frontMatter(text);
  if (yaml === undefined) return "no front matter";
  try {
    const found = JSON.parse(JSON.stringify(parse(yaml, { logLevel: "error" })));
    return isDeepStrictEqual(found, frontmatter) ? "" : `other values: ${JSON.stringify(found)}`;
  } catch (error) {
    return `not YAML 1.2: ${error.message.split("\n")[0]}`;
  }
}

const given = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(given.map(problem)));
