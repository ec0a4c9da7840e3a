import { createServer } from 'node:net'
import { assertFree, getPort, ListenError, listenOn } from '../../packages/http-server/ports.ts'

/** Awaits what listens with the port of a setting. Its ListenError is one sentence for the operator. */
export function openPort<T>(setting: string, opening: Promise<T>): Promise<T> {
  return opening.catch((error: unknown) => {
    throw error instanceof ListenError ? new ListenError(explain(error, setting), error) : error
  })
}

/** Listens on a port and closes it again; returns its number. A ListenError as of `openPort`. */
export async function probePort(setting: string, host: string, port: number): Promise<number> {
  const opening = listenOn({ host, port, shared: false }, () => createServer())
  const probes = await openPort(setting, opening)
  const free = getPort(probes[0])
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))))
  return free
}

/** The number of a free port: of this one, unless it is 0. A ListenError as of `openPort`. */
export async function findFreePort(setting: string, host: string, port: number): Promise<number> {
  if (port === 0) return probePort(setting, host, port)
  await openPort(setting, assertFree({ host, port }))
  return port
}

function explain({ code, host, port }: ListenError, setting: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use, perhaps by another Slipway. Stop that program, or choose another port with ${setting}.`
    case 'EACCES':
      return `Port ${port} may not be used by this user. Choose one above 1023 with ${setting}.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `SLIPWAY_HOST=${host} is not an address of this machine.`
    case 'EAI_AGAIN':
      return `SLIPWAY_HOST=${host} cannot be looked up, because no resolver responds. Use an IP address of this machine.`
    case 'EMFILE':
    case 'ENFILE':
      return `The limit of open files is too low for port ${port}. Raise it to 65536, with LimitNOFILE of systemd or ulimit -n.`
  }
}
