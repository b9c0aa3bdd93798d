// Prints the compressed size of the files that the first page loads. Fails if the total exceeds the limit.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const BUILD_DIR = '../src/onetool/interfaces/web/static';
const MAX_BYTES = 350 * 1024;

const gzipSize = (path) => gzipSync(readFileSync(`${BUILD_DIR}/${path}`), { level: 9 }).length;

// The files that index.html loads, the chunk of the Tools page, and everything that it imports.
const html = readFileSync(`${BUILD_DIR}/index.html`, 'utf8');
const paths = new Set(Array.from(html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g), (match) => match[1]));
const queue = readdirSync(`${BUILD_DIR}/assets`)
  .filter((name) => /^Tools-.*\.(js|css)$/.test(name))
  .map((name) => `assets/${name}`);
for (let path = queue.pop(); path; path = queue.pop()) {
  if (paths.has(path)) continue;
  paths.add(path);
  if (!path.endsWith('.js')) continue;
  const code = readFileSync(`${BUILD_DIR}/${path}`, 'utf8');
  for (const [, name] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) queue.push(`assets/${name}`);
}

const total = [...paths].reduce((sum, path) => sum + gzipSize(path), 0);
for (const path of paths) console.log(`${String(gzipSize(path)).padStart(8)}  ${path}`);
console.log(`${String(total).padStart(8)}  total, gzip (limit ${MAX_BYTES})`);
if (total > MAX_BYTES) process.exit(1);
