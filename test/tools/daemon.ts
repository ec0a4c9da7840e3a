import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown } from 'node:fs/promises'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { program } from '../../scripts/program.mjs'
import { atExit } from './exit.ts'
import { freePort } from './port.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** A server program in the foreground, in a temporary folder and on free ports. */
export interface Daemon extends AsyncDisposable {
  folder: string
  ports: readonly number[]
  /** The last lines of its output. */
  output: readonly string[]
  /** Sends a signal to its first process; SIGKILL resolves when that has ended. */
  signal(name: NodeJS.Signals): Promise<void>
  /** Starts it again in its folder, after it has ended. */
  restart(): Promise<void>
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
  /** Whether it refuses to run as root: it then runs as another user, who owns the folder. */
  refusesRoot?: true
}

export const UNPRIVILEGED_USER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined

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

async function start(options: DaemonOptions): Promise<Daemon> {
  await using started = new AsyncDisposableStack()
  const { path: folder } = started.use(await temporaryFolder(`slipway-${options.name}-`))
  if (options.refusesRoot && UNPRIVILEGED_USER)
    await chown(folder, UNPRIVILEGED_USER.uid, UNPRIVILEGED_USER.gid)
  const ports: number[] = []
  while (ports.length < options.ports) ports.push(await freePort())
  const args = await options.prepare(folder, ports)
  const output: string[] = []
  let running = launch(options, { folder, args, output })
  const cancelKill = atExit(() => running.child.kill('SIGKILL'))
  started.defer(async () => {
    cancelKill()
    running.child.kill('SIGTERM')
    await running.exited
  })
  const waitUntilReady = async () => {
    await running.ready
    if (options.printsEarly) await Promise.all(ports.map((port) => waitUntilListening(port, running.ended)))
    running.ended.throwIfAborted()
  }
  await waitUntilReady()
  const owned = started.move()
  return {
    folder,
    ports,
    output,
    async signal(name) {
      running.child.kill(name)
      if (name === 'SIGKILL') await running.exited
    },
    async restart() {
      await running.exited
      running = launch(options, { folder, args, output })
      await waitUntilReady()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface LaunchOptions {
  folder: string
  args: string[]
  /** Receives the last lines. */
  output: string[]
}

interface Launched {
  child: ChildProcess
  /** Resolves when the process has ended. */
  exited: Promise<unknown>
  ready: Promise<void>
  /** Aborted, with its output, when the process has ended. */
  ended: AbortSignal
}

function launch(
  { name, isReady, output: stream, env, refusesRoot }: DaemonOptions,
  { folder, args, output }: LaunchOptions,
): Launched {
  const child = spawn(program(name)!, args, {
    cwd: folder,
    stdio: ['ignore', stream === 'stdout' ? 'pipe' : 'ignore', stream === 'stdout' ? 'ignore' : 'pipe'],
    env: { ...process.env, HOME: folder, ...env },
    ...(refusesRoot ? UNPRIVILEGED_USER : {}),
  })
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
  return { child, exited: once(child, 'exit'), ready: ready.promise, ended: ended.signal }
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
