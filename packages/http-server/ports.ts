import type { AddressInfo, Server } from 'node:net'

export interface ListenAddress {
  host: string
  port: number
  /** Whether the system distributes connections over all listening processes: a crashed one then loses only its own. */
  shared: boolean
}

const UNAVAILABLE = ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'] as const

/** The port is not available. */
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

/** Listens on every address of a host; `localhost` has the loopback addresses that exist. Port 0 picks a free one. */
export async function listenOn<S extends Server>(place: ListenAddress, make: () => S): Promise<[S, ...S[]]> {
  const hosts = place.host === 'localhost' ? ['127.0.0.1', '::1'] : [place.host]
  const servers: S[] = []
  let { port } = place
  for (const [index, host] of hosts.entries()) {
    const server = make()
    try {
      await listen(server, { ...place, host, port })
    } catch (error) {
      if (index > 0 && hasNoSuchAddress(error)) continue
      for (const other of servers) other.close()
      throw toListenError(error, { ...place, host, port })
    }
    servers.push(server)
    port = getPort(server)
  }
  return servers as [S, ...S[]]
}

export function getPort(server: Server): number {
  return (server.address() as AddressInfo).port
}

function listen(server: Server, place: ListenAddress): Promise<void> {
  const { host, port, shared } = place
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 1024, reusePort: shared, exclusive: shared }, () => {
      server.off('error', reject)
      resolve()
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
