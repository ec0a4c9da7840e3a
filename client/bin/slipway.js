#!/usr/bin/env node
import { existsSync, mkdirSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { argv, env, stdin, stdout, stderr } = process
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 18 || (major === 18 && minor < 18)) {
  const hint = 'Install Node.js 18.18 or later: https://nodejs.org/'
  stderr.write(`slipway: Node.js ${process.versions.node} is too old. ${hint}\n`)
  process.exit(1)
}

// Newer than Node 18: with a warm cache nothing is compiled again. Not in the temporary folder, where Node runs the code
// that another user of the machine has put there. Only where it exists: Node does not return from creating it below /proc.
const cache = env.NODE_COMPILE_CACHE || join(findHome(), '.cache', 'slipway')
if (module.enableCompileCache && isAbsolute(cache) && makeCache(cache)) module.enableCompileCache(cache)
const { main } = await import('../dist/cli/main.js')

const require = createRequire(import.meta.url)
const { version } = require('../package.json')
// Only in the package that a server serves.
const isServed = existsSync(fileURLToPath(new URL('../server.json', import.meta.url)))
const { server } = isServed ? require('../server.json') : {}

// Before the first request nothing has to be ended, and reading a large folder leaves no time for a listener: a signal
// ends the program. Later the first signal stops gracefully, and the second one immediately.
const stop = new AbortController()
let isHandled = false
const handleSignals = () => {
  if (isHandled) return
  isHandled = true
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
}

// A closed pipe changes no result; an address that could not be written is a failure. Notes are no result.
stdout.on('error', ({ code }) => {
  if (code === 'EPIPE') process.exit(process.exitCode)
  stderr.write(`Error: Can't write the result (${code})\n`, () => process.exit(1))
})
stderr.on('error', () => {})

process.exitCode = await main({
  args: argv.slice(2),
  env,
  cwd: findCwd(),
  version,
  packageServer: server,
  stdin,
  stdout,
  stderr,
  signal: stop.signal,
  onConnect: handleSignals,
})

/** Empty when the folder was deleted. */
function findCwd() {
  try {
    return process.cwd()
  } catch {
    return ''
  }
}

/** Empty for a user that the system does not know, as in a container. */
function findHome() {
  try {
    return homedir()
  } catch {
    return ''
  }
}

/** Whether the folder exists, or could be created. */
function makeCache(folder) {
  for (const path of [dirname(folder), folder]) {
    try {
      mkdirSync(path, 0o700)
    } catch {
      // It exists, or the home folder cannot be written.
    }
  }
  return existsSync(folder)
}
