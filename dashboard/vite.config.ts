import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

const page = (name: string) => new URL(`${name}.html`, import.meta.url).pathname

const ENCODERS = { br: brotliCompressSync, zst: zstdCompressSync, gz: gzipSync }

/** Compresses each file beside it. Pages change before they are served. */
const precompress: Plugin = {
  name: 'precompress',
  writeBundle({ dir }) {
    for (const path of globSync(`${dir}/**/*.{css,js,svg}`)) {
      for (const [suffix, encode] of Object.entries(ENCODERS))
        writeFileSync(`${path}.${suffix}`, encode(readFileSync(path)))
    }
  },
}

/**
 * Three pages, their scripts and styles: served by `server/web/built-site.ts` under a policy that allows nothing
 * inline. It replaces the placeholders in the pages.
 */
export default defineConfig({
  appType: 'mpa',
  publicDir: 'public',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ['index', 'not-found', 'reference'].map(page),
      // Compressing takes longest; a start does not report that.
      checks: { bundlerTimings: false },
    },
  },
  worker: { format: 'es' },
  plugins: [precompress],
})
