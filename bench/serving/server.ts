import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { Line } from './reply.ts'

export const SERVERS = ['ours', 'nginx', 'Caddy', 'sirv', 'serve-handler'] as const

export type ServerName = (typeof SERVERS)[number]

/** A running server. */
export interface Server {
  name: ServerName
  port: number
  /** The Host header of the site. */
  host: string
  /** The TLS server name, where the port uses TLS. */
  secureName?: string
}

/** Every server runs on this core, wrk on the other. */
export const SERVER_CORE = 0
export const WRK_CORE = 1

export interface PeerProcess extends AsyncDisposable {
  pid: number
}

/** Starts a peer on the servers' core and waits until it accepts connections. */
export async function startPeer(
  command: readonly string[],
  port: number,
  environment: Record<string, string> = {},
): Promise<PeerProcess> {
  const child = spawn('taskset', ['-c', `${SERVER_CORE}`, ...command], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment },
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output = `${output}${chunk}`.slice(-4000)
  })
  try {
    await takingConnections(port, child)
  } catch (error) {
    child.kill()
    throw new Error(`${command[0]}: ${(error as Error).message}\n${output}`)
  }
  return {
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.kill('SIGTERM')) await ended
    },
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}

async function takingConnections(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200 && child.exitCode === null; tries++) {
    try {
      using _line = await Line.open(port)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  throw new Error('it ended, or took no connection within ten seconds')
}
