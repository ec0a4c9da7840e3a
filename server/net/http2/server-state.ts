import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ClientMemory } from '../../lib/client-memory.ts'
import type { Log } from '../../lib/log.ts'
import type { HttpHandler } from '../http-handler.ts'
import type { readIntoSharedBuffer } from '../shared-buffer-read.ts'
import type { FrameSerializer } from './serialized-frames.ts'

/** State that the connections of a server share. */
export interface Http2ServerContext {
  readonly handler: HttpHandler
  readonly serializer: FrameSerializer
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly log: Log | undefined
  readonly clientMemory: ClientMemory
  readonly pool: { readonly ticks: number }
  /** How sockets are read. */
  readonly read: typeof readIntoSharedBuffer
  /** Gives a connection to Node's parser. */
  readonly parse: (socket: Duplex) => void
  /** The address whose memory share a connection uses. */
  connectionAddress(socket: Socket): string
  /** The same for a request with these values of `X-Forwarded-For`. */
  getClientIp(socket: Socket, forwardedFor: string | undefined): string
  /** Received requests. */
  requests: number
  /** Relayed requests in progress. */
  relayed: number
}
