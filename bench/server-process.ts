import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { freePort } from '../test/tools/port.ts'

export const ROOT = join(import.meta.dirname, '..')

/** The program of the service in a tree. */
export const SERVER_PATH = 'server/bin/slipway-server.js'

/** The service as a process of its own, with its data on the disk of the repository. */
export interface ServerProcess extends AsyncDisposable {
  baseUrl: string
  pid: number
  /** Milliseconds from the start of the process to its first 200. */
  startMilliseconds: number
}

interface Options {
  /** Another one than the server of this tree, with the same settings. */
  program?: string
  /** Whether the program is of a commit without quotas. */
  isOld?: boolean
  /** Environment variables without `SLIPWAY_`. */
  settings?: Record<string, string>
  /** The core it is pinned to, where `taskset` is available. */
  core?: number
  /** Additional environment variables. */
  environment?: Record<string, string>
}

/** A folder on the disk of the repository (/tmp may be in memory); removed at the end. */
export async function scratchFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(ROOT, '.bench-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** All measurements publish from one network. */
const NO_QUOTAS = Object.fromEntries(
  ['TOTAL_BYTES', 'TOTAL_SITES', 'NETWORK_BYTES', 'NETWORK_SITES'].map((name) => [
    `ANONYMOUS_${name}`,
    'unlimited',
  ]),
)

export async function startServer(
  data: string,
  { program = join(ROOT, SERVER_PATH), isOld = false, settings = {}, core, environment = {} }: Options = {},
): Promise<ServerProcess> {
  const port = settings.PORT ?? (await freePort())
  const given = {
    PORT: String(port),
    DATA: data,
    LOG: 'silent',
    RATE_ANONYMOUS: '1000000000',
    ...(isOld ? {} : NO_QUOTAS),
    ...settings,
  }
  const call = [join(ROOT, 'node_modules/.bin/node'), program]
  const [command, ...args] = core !== undefined && canPin() ? ['taskset', '-c', String(core), ...call] : call
  const started = performance.now()
  const child = spawn(command!, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      ...environment,
      UV_THREADPOOL_SIZE: '16',
      ...Object.fromEntries(Object.entries(given).map(([name, value]) => [`SLIPWAY_${name}`, value])),
    },
  })
  const baseUrl = `http://localhost:${port}`
  await answering(`${baseUrl}/health`, child)
  return {
    baseUrl,
    pid: child.pid!,
    startMilliseconds: performance.now() - started,
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Resident memory in MB (10^6 bytes) now, or its peak since the process started. */
export async function readMemory(pid: number, which: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return (Number(new RegExp(`${which}:\\s+(\\d+) kB`).exec(status)![1]) * 1024) / 1e6
}

/** Forgets the peak of the start, where the system can (`proc_pid_clear_refs`(5)). */
export async function resetPeakMemory(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => undefined)
}

export function canPin(): boolean {
  return spawnSync('taskset', ['--version']).status === 0
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const status = await new Promise<number>((resolve) => {
      const request = http.get(url, (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
      request.on('error', () => resolve(0))
    })
    if (status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 3))
  }
  throw new Error(`the server ended with ${child.exitCode} before it answered`)
}
