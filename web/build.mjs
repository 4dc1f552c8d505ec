// Bundles the pages: `node build.mjs FOLDER` writes each page's HTML, and its script and style with a hash in their names, all
// compressed by gzip. crates/pages/build.rs calls it; `npm run build` does by hand.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";

const PAGES = { play: "Play", dashboard: "Dashboard", scheduler: "Scheduler" };

const folder = process.argv[2];
await mkdir(folder, { recursive: true });
const result = await build({
  entryPoints: Object.keys(PAGES).map((page) => ({ in: `src/${page}/main.js`, out: page })),
  entryNames: "[name]-[hash]",
  chunkNames: "shared-[hash]",
  outdir: folder,
  write: false,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  minify: true,
  legalComments: "none",
  metafile: true,
});
for (const file of result.outputFiles) await put(basename(file.path), file.contents);
const html = await readFile("src/page.html", "utf8");
const outputs = Object.entries(result.metafile.outputs);
for (const [page, title] of Object.entries(PAGES)) {
  const [script, { cssBundle }] = outputs.find(([, output]) => output.entryPoint === `src/${page}/main.js`);
  const values = { title, script: basename(script), style: basename(cssBundle) };
  await put(`${page}.html`, html.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]));
}

async function put(name, contents) {
  await writeFile(join(folder, name), gzipSync(contents, { level: 9 }));
}
