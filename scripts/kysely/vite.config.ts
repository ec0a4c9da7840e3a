import { defineConfig } from 'vite'

/** The package as one file, `#kysely`: each of its 255 modules would cost time and memory at every start. */
export default defineConfig({
  ssr: { noExternal: true },
  build: {
    ssr: true,
    target: 'es2024',
    minify: false,
    rolldownOptions: {
      input: { kysely: 'kysely' },
      output: { comments: false },
      checks: { bundlerTimings: false },
    },
  },
})
