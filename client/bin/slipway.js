#!/usr/bin/env node
import module, { createRequire } from 'node:module'

// Newer than Node 18: with a warm cache nothing has to be compiled again.
module.enableCompileCache?.()
const { main } = await import('../dist/cli/main.js')

const { version } = createRequire(import.meta.url)('../package.json')
const { argv, env, stdin, stdout, stderr } = process

// The first wish to stop is granted in good order; the second, at once.
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())

// Whoever reads the output may have seen enough of it; an address that could not be written was not given.
stdout.on('error', ({ code }) => process.exit(code === 'EPIPE' ? 0 : 1))

process.exitCode = await main({
  args: argv.slice(2),
  env,
  cwd: process.cwd(),
  version,
  stdin,
  stdout,
  stderr,
  signal: stop.signal,
})
