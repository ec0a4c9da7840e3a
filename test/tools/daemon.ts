import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { program } from '../../scripts/program.mjs'
import { freePort } from './port.ts'

/** A server of Debian's that runs in the foreground, in a temporary folder and on ports that were free. */
export interface Daemon extends AsyncDisposable {
  folder: string
  ports: readonly number[]
  /** What it said on its error output, the last lines. */
  said: readonly string[]
}

interface DaemonOptions {
  name: string
  ports: number
  /** Writes what it needs into the folder and answers its arguments. */
  prepare(folder: string, ports: number[]): Promise<string[]>
  /** Whether this line of its error output says that it answers. */
  isReady(line: string): boolean
  /** Whether it prints that line before its TCP ports accept connections. */
  printsEarly?: true
  env?: Record<string, string>
}

/** Between the choice of a port and its use somebody else may take it. */
const MAX_STARTS = 5
const LINES_KEPT = 200

/** Resolves when it is ready. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  for (let starts = 1; ; starts++) {
    try {
      return await start(options)
    } catch (error) {
      const taken = /in use|EADDRINUSE|cannot bind/i.test((error as Error).message)
      if (!taken || starts === MAX_STARTS) throw error
    }
  }
}

async function start({
  name,
  ports: count,
  prepare,
  isReady,
  printsEarly,
  env,
}: DaemonOptions): Promise<Daemon> {
  await using started = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), `slipway-${name}-`))
  started.defer(() => rm(folder, { recursive: true, force: true }))
  const ports: number[] = []
  while (ports.length < count) ports.push(await freePort())
  const args = await prepare(folder, ports)
  const child = spawn(program(name)!, args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: folder, ...env },
  })
  const exited = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  started.defer(async () => {
    process.off('exit', kill)
    child.kill('SIGTERM')
    await exited
  })
  const said: string[] = []
  const ready = Promise.withResolvers<void>()
  const ended = new AbortController()
  createInterface({ input: child.stderr })
    .on('line', (line) => {
      said.push(line)
      if (said.length > LINES_KEPT) said.shift()
      if (isReady(line)) ready.resolve()
    })
    .on('close', () => {
      ended.abort(new Error(`${name} did not start:\n${said.join('\n')}`))
      ready.reject(ended.signal.reason)
    })
  await ready.promise
  if (printsEarly) await Promise.all(ports.map((port) => waitUntilListening(port, ended.signal)))
  ended.signal.throwIfAborted()
  const owned = started.move()
  return { folder, ports, said, [Symbol.asyncDispose]: () => owned.disposeAsync() }
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
