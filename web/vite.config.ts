import type { IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// `onetool serve` serves the build. `npm run dev` proxies API requests to a running server.
const server = process.env.ONETOOL_URL ?? 'http://127.0.0.1:8765';
const apiPaths = [
  'tools',
  'login',
  'logout',
  'servers',
  'access',
  'run',
  'results',
  'signatures',
  'activity',
  'usage',
  'health',
  'providers',
  'sessions',
  'chat',
  'openapi.json',
];

// Some paths are both an API route and a page. Requests for HTML get the page.
const bypass = (request: IncomingMessage) =>
  request.headers.accept?.includes('text/html') ? '/index.html' : undefined;

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '~': fileURLToPath(new URL('./src', import.meta.url)) } },
  server: { proxy: Object.fromEntries(apiPaths.map((path) => [`/${path}`, { target: server, bypass }])) },
  build: {
    outDir: '../src/onetool/interfaces/web/static',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
  },
});
