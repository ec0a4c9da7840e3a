import { defineConfig } from 'vite'

/** The command in few files: each that Node loads costs a millisecond of the start. The SDK is compiled as it is. */
export default defineConfig({
  build: {
    ssr: 'cli/main.ts',
    target: 'es2022',
    minify: false,
    rolldownOptions: { output: { comments: false }, checks: { bundlerTimings: false } },
  },
})
