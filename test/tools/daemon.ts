import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { program } from '../../scripts/program.mjs'
import { freePort } from './port.ts'

/** A server program in the foreground, in a temporary folder and on free ports. */
export interface Daemon extends AsyncDisposable {
  folder: string
  ports: readonly number[]
  /** The last lines of its output. */
  output: readonly string[]
}

interface DaemonOptions {
  name: string
  ports: number
  /** Writes configuration files into the folder and returns the arguments. */
  prepare(folder: string, ports: number[]): Promise<string[]>
  /** Whether this line of its output announces that the server is ready. */
  isReady(line: string): boolean
  /** Where it writes this output; standard error by default. */
  output?: 'stdout'
  /** Another start may succeed after one that failed. */
  isTransient?: true
  /** Whether it prints that line before its TCP ports accept connections. */
  printsEarly?: true
  env?: Record<string, string>
  /** The user that it runs as; that of the tests by default. */
  user?: { uid: number; gid: number }
}

/** Another process may take a port between its choice and its use. */
const MAX_STARTS = 5
const MAX_OUTPUT_LINES = 200

/** Resolves when it is ready. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  for (let starts = 1; ; starts++) {
    try {
      return await start(options)
    } catch (error) {
      const { message } = error as Error
      const mayRetry = /in use|EADDRINUSE|cannot bind/i.test(message) || options.isTransient
      if (!mayRetry || starts === MAX_STARTS) throw error
    }
  }
}

async function start({
  name,
  ports: count,
  prepare,
  isReady,
  output: stream,
  printsEarly,
  env,
  user,
}: DaemonOptions): Promise<Daemon> {
  await using started = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), `slipway-${name}-`))
  started.defer(() => rm(folder, { recursive: true, force: true }))
  const ports: number[] = []
  while (ports.length < count) ports.push(await freePort())
  const args = await prepare(folder, ports)
  const child = spawn(program(name)!, args, {
    cwd: folder,
    stdio: ['ignore', stream === 'stdout' ? 'pipe' : 'ignore', stream === 'stdout' ? 'ignore' : 'pipe'],
    env: { ...process.env, HOME: folder, ...env },
    ...user,
  })
  const exited = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  started.defer(async () => {
    process.off('exit', kill)
    child.kill('SIGTERM')
    await exited
  })
  const output: string[] = []
  const ready = Promise.withResolvers<void>()
  const ended = new AbortController()
  createInterface({ input: child.stdout ?? child.stderr! })
    .on('line', (line) => {
      output.push(line)
      if (output.length > MAX_OUTPUT_LINES) output.shift()
      if (isReady(line)) ready.resolve()
    })
    .on('close', () => {
      ended.abort(new Error(`${name} did not start:\n${output.join('\n')}`))
      ready.reject(ended.signal.reason)
    })
  await ready.promise
  if (printsEarly) await Promise.all(ports.map((port) => waitUntilListening(port, ended.signal)))
  ended.signal.throwIfAborted()
  const owned = started.move()
  return { folder, ports, output, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Resolves once a connection to the port succeeds, or when the daemon has ended. */
async function waitUntilListening(port: number, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
  }
}
