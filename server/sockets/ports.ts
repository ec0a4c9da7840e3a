import type { AddressInfo, Server } from 'node:net'

/** Where a server listens, and what to say when it cannot. */
export interface Place {
  host: string
  port: number
  /** Whether the system spreads connections over all processes that listen so: none holds those of another that dies. */
  shared: boolean
  /** The setting that chooses the port. */
  setting: string
}

/** Thrown when the port cannot be had: one sentence for the operator. */
export class ListenError extends Error {
  override name = 'ListenError'
}

/**
 * Listens on every address of a host, all on one port; `localhost` means both loopback addresses, as far as the machine
 * has them. Port 0 takes a free one.
 */
export async function listenOn<S extends Server>(place: Place, make: () => S): Promise<[S, ...S[]]> {
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
      throw explained(error, { ...place, host, port })
    }
    servers.push(server)
    port = portOf(server)
  }
  return servers as [S, ...S[]]
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function listen(server: Server, place: Place): Promise<void> {
  const { host, port, shared } = place
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 1024, reusePort: shared, exclusive: shared }, () => {
      server.off('error', reject)
      resolve()
    })
  }).catch((error: NodeJS.ErrnoException) => {
    // Where the system cannot spread connections, the supervisor hands them out.
    if (!shared || error.code !== 'ENOTSUP') throw error
    return listen(server, { ...place, shared: false })
  })
}

function hasNoSuchAddress(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
}

function explained(error: unknown, { host, port, setting }: Place): Error {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new ListenError(
        `Port ${port} is in use, perhaps by another Slipway. Stop that program, or choose another port with ${setting}.`,
      )
    case 'EACCES':
      return new ListenError(
        `Port ${port} may not be used by this user. Choose one above 1023 with ${setting}.`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ListenError(`SLIPWAY_HOST=${host} is not an address of this machine.`)
  }
  return error as Error
}
