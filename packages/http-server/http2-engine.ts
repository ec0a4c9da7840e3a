import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { clientIp } from './clients/client-ip.ts'
import type { ClientMemory } from './clients/client-memory.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { HttpHandler } from './http-handler.ts'
import type { Log } from './log.ts'
import type { MemoryBudget } from './memory/second-chance-cache.ts'
import type { readIntoSharedBuffer } from './shared-buffer-read.ts'

/** HTTP/2 (RFC 9113). Requests that are not plain are relayed: only Node's HTTP/1.1 parser interprets them. */
export interface Http2Engine {
  /** Takes a connection with ALPN h2 from which nothing has been read. */
  accept(socket: Duplex): void
  readonly pool: Pick<ConnectionPool<never>, 'close' | 'destroy'>
}

export interface Http2Options {
  handler: HttpHandler
  /** Milliseconds since 1970. */
  clock: () => number
  /** Memory for serialized responses. */
  budget: MemoryBudget
  clientMemory: ClientMemory
  /** Proxies in front that append to X-Forwarded-For. */
  trustedProxies?: number
  read?: typeof readIntoSharedBuffer
  parse: (socket: Duplex) => void
  log?: Log
}

/** The client's address, whose memory share a request uses, by the values of `X-Forwarded-For`. */
export function getClientIp(
  trustedProxies: number,
  socket: Socket,
  forwardedFor: string | undefined,
): string {
  return clientIp(trustedProxies)({ socket, headers: { 'x-forwarded-for': forwardedFor } })
}
