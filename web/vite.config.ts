import react from '@vitejs/plugin-react';
import type { IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// The REST door serves what is built; `npm run dev` sends the API's paths on to a server that runs already.
const server = process.env.ONETOOL_URL ?? 'http://127.0.0.1:8765';
const api = ['tools', 'login', 'logout', 'servers', 'run', 'signatures', 'usage', 'health', 'providers', 'sessions', 'chat', 'openapi.json'];

// Some paths are both a route of the API and a screen; a browser that wants a page gets the screen.
const bypass = (request: IncomingMessage) => (request.headers.accept?.includes('text/html') ? '/index.html' : undefined);

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '~': fileURLToPath(new URL('./src', import.meta.url)) } },
  server: { proxy: Object.fromEntries(api.map((path) => [`/${path}`, { target: server, bypass }])) },
  build: {
    outDir: '../src/onetool/doors/web/static',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
  },
});
