// Says how much the first screen loads, compressed, and fails when that is too much.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const BUILT = '../src/onetool/doors/web/static';
const MOST = 350 * 1024;

const size = (path) => gzipSync(readFileSync(`${BUILT}/${path}`), { level: 9 }).length;
const page = readFileSync(`${BUILT}/index.html`, 'utf8');
const named = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((match) => match[1]);

// What the first screen, the tools, loads beside the entry: its own chunk and what that imports.
const seen = new Set(named);
const first = readdirSync(`${BUILT}/assets`).filter((name) => /^Tools-.*\.(js|css)$/.test(name));
const queue = first.map((name) => `assets/${name}`);
for (let path = queue.pop(); path; path = queue.pop()) {
  if (seen.has(path)) continue;
  seen.add(path);
  if (!path.endsWith('.js')) continue;
  const text = readFileSync(`${BUILT}/${path}`, 'utf8');
  for (const [, name] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) queue.push(`assets/${name}`);
}

const total = [...seen].reduce((sum, path) => sum + size(path), 0);
for (const path of seen) console.log(`${String(size(path)).padStart(8)}  ${path}`);
console.log(`${String(total).padStart(8)}  first load, gzip (at most ${MOST})`);
if (total > MOST) process.exit(1);
