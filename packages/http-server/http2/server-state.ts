import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ClientMemory } from '../clients/client-memory.ts'
import type { HttpHandler } from '../http-handler.ts'
import type { Log } from '../log.ts'
import type { readIntoSharedBuffer } from '../shared-buffer-read.ts'
import type { FrameSerializer } from './serialized-frames.ts'

export interface Http2ServerContext {
  readonly handler: HttpHandler
  readonly serializer: FrameSerializer
  readonly clock: () => number
  readonly log: Log | undefined
  readonly clientMemory: ClientMemory
  readonly pool: { readonly ticks: number }
  readonly read: typeof readIntoSharedBuffer
  readonly parse: (socket: Duplex) => void
  /** The address whose memory share a connection uses. */
  connectionAddress(socket: Socket): string
  getClientIp(socket: Socket, forwardedFor: string | undefined): string
  requests: number
  /** Relayed requests in progress. */
  relayed: number
}
