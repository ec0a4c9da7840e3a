import type { AddressInfo, Server } from 'node:net'

export interface ListenAddress {
  host: string
  port: number
  /** Whether the system distributes connections over all listening processes: a crashed one then loses only its own. */
  shared: boolean
  setting: string
}

/** The port is not available: one sentence for the operator. */
export class ListenError extends Error {
  override name = 'ListenError'
  /** That of the system, such as `EADDRINUSE`. */
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
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

function toListenError(error: unknown, { host, port, setting }: ListenAddress): Error {
  const { code } = error as NodeJS.ErrnoException
  switch (code) {
    case 'EADDRINUSE':
      return new ListenError(
        `Port ${port} is in use, perhaps by another Slipway. Stop that program, or choose another port with ${setting}.`,
        code,
      )
    case 'EACCES':
      return new ListenError(
        `Port ${port} may not be used by this user. Choose one above 1023 with ${setting}.`,
        code,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ListenError(`SLIPWAY_HOST=${host} is not an address of this machine.`, code)
    case 'EAI_AGAIN':
      return new ListenError(
        `SLIPWAY_HOST=${host} cannot be looked up, because no resolver responds. Use an IP address of this machine.`,
        code,
      )
  }
  return error as Error
}
