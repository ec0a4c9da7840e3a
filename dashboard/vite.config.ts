import { defineConfig } from 'vite'

const page = (name: string) => new URL(`${name}.html`, import.meta.url).pathname

/** Three pages, their scripts and styles: served by `server/web/pages.ts` under a policy that allows nothing inline. */
export default defineConfig({
  appType: 'mpa',
  publicDir: 'public',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: ['index', 'not-found', 'reference'].map(page) },
  },
  worker: { format: 'es' },
})
