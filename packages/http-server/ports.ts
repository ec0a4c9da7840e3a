import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'

export interface ListenAddress {
  host: string
  port: number
  /** Whether the system distributes connections over all listening processes: a crashed one then loses only its own. */
  shared: boolean
  /** 1 by default. */
  sockets?: number
}

/**
 * Of an address that visitors connect to. Node accepts one connection of each in a turn of the event loop, so that the last
 * of a thousand new clients of a busy server would wait a second.
 */
export const SOCKETS = 128

export const SOCKET_OPTIONS = { allowHalfOpen: true, noDelay: true }

const MAX_CONNECT_MS = 1000

/** Of all sockets of a port. */
const MAX_CONNECTIONS = 20_000

const UNAVAILABLE = [
  'EADDRINUSE',
  'EACCES',
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EMFILE',
  'ENFILE',
] as const

/** The port is not available, or no descriptor for it. */
export class ListenError extends Error {
  override name = 'ListenError'
  readonly code: (typeof UNAVAILABLE)[number]
  readonly host: string
  readonly port: number

  constructor(message: string, { code, host, port }: Pick<ListenError, 'code' | 'host' | 'port'>) {
    super(message)
    this.code = code
    this.host = host
    this.port = port
  }
}

/**
 * Listens on every address of a host; `localhost` has the loopback addresses that exist. Port 0 picks a free one. With
 * several `sockets` each address has so many servers, where the system spreads connections over them.
 */
export async function listenOn<S extends Server>(place: ListenAddress, make: () => S): Promise<[S, ...S[]]> {
  const hosts = addressesOf(place.host)
  const servers: S[] = []
  let { port } = place
  for (const [index, host] of hosts.entries()) {
    try {
      for await (const server of listenOnAddress({ ...place, host, port }, make)) {
        servers.push(server)
        port = getPort(server)
      }
    } catch (error) {
      if (index > 0 && hasNoSuchAddress(error)) continue
      for (const other of servers) other.close()
      throw toListenError(error, { ...place, host, port })
    }
  }
  return servers as [S, ...S[]]
}

async function* listenOnAddress<S extends Server>(
  { sockets = 1, ...place }: ListenAddress,
  make: () => S,
): AsyncGenerator<S> {
  const spreads = sockets > 1
  if (spreads && !place.shared && place.port !== 0) await assertUnused(place)
  for (let { port } = place, left = sockets; left > 0; left--) {
    const server = make()
    const isSpread = await listen(server, { ...place, port, shared: place.shared || spreads })
    yield server
    if (!isSpread) return
    port = getPort(server)
  }
}

/** ListenError when a program accepts connections there: sockets that share a port do not refuse it to those of another service. */
export async function assertFree(place: Pick<ListenAddress, 'host' | 'port'>): Promise<void> {
  for (const host of addressesOf(place.host)) await assertUnused({ ...place, host })
}

async function assertUnused({ host, port }: Pick<ListenAddress, 'host' | 'port'>): Promise<void> {
  await Promise.all([host, ...coveredBy(host)].map((one) => assertRefused({ host: one, port })))
}

/** Addresses of this machine, of each of which a program may have the port. */
function coveredBy(host: string): string[] {
  const all = Object.values(networkInterfaces()).flatMap((some = []) => some)
  // Those with a scope are of one link, and need its name.
  if (host === '::') return all.flatMap(({ address, scopeid }) => (scopeid ? [] : address))
  return host === '0.0.0.0' ? all.flatMap(({ address, family }) => (family === 'IPv4' ? address : [])) : []
}

/** Connects: the system would reset the clients of a socket that listens and is closed again. */
async function assertRefused({ host, port }: Pick<ListenAddress, 'host' | 'port'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port })
    // The system may choose the port itself for this connection, which is then one to itself.
    .once('connect', () => resolve(socket.localPort !== port))
    .once('error', () => resolve(false))
    .setTimeout(MAX_CONNECT_MS, () => resolve(false))
  const isUsed = await promise
  socket.destroy()
  const message = `a program listens on port ${port} of ${host}`
  if (isUsed) throw new ListenError(message, { code: 'EADDRINUSE', host, port })
}

function addressesOf(host: string): string[] {
  return host === 'localhost' ? ['127.0.0.1', '::1'] : [host]
}

/** For the sockets of one port: closes connections beyond `max` that are open. */
export function limited(accept: (socket: Socket) => void, max = MAX_CONNECTIONS): (socket: Socket) => void {
  let open = 0
  return (socket) => {
    if (open >= max) return void socket.destroy()
    open++
    socket.once('close', () => open--)
    accept(socket)
  }
}

export function getPort(server: Server): number {
  return (server.address() as AddressInfo).port
}

/** Returns whether the port is shared. */
function listen(server: Server, place: ListenAddress): Promise<boolean> {
  const { host, port, shared } = place
  return new Promise<boolean>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 1024, reusePort: shared, exclusive: shared }, () => {
      server.off('error', reject)
      resolve(shared)
    })
  }).catch((error: NodeJS.ErrnoException) => {
    // Where the system cannot spread connections, the supervisor distributes them.
    if (!shared || error.code !== 'ENOTSUP') throw error
    return listen(server, { ...place, shared: false })
  })
}

function hasNoSuchAddress(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
}

function toListenError(error: unknown, { host, port }: ListenAddress): Error {
  const code = UNAVAILABLE.find((one) => one === (error as NodeJS.ErrnoException).code)
  return code ? new ListenError((error as Error).message, { code, host, port }) : (error as Error)
}
