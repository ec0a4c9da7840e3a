#!/usr/bin/env node
import module, { createRequire } from 'node:module'

// Newer than Node 18: with a warm cache nothing is compiled again.
module.enableCompileCache?.()
const { main } = await import('../dist/client/cli/main.js')

const { version } = createRequire(import.meta.url)('../package.json')
const { argv, env, stdin, stdout, stderr } = process

// The first signal stops gracefully; the second one immediately.
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())

// A closed pipe is a success; an address that could not be written is a failure.
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
