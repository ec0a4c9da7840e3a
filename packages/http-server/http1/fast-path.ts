import type { Socket } from 'node:net'
import { ConnectionPool } from '../connection-pool.ts'
import type { HttpHandler } from '../http-handler.ts'
import type { Log } from '../log.ts'
import type { MemoryBudget } from '../memory/second-chance-cache.ts'
import { readIntoSharedBuffer, takeBuffered } from '../shared-buffer-read.ts'
import { FastPathConnection, type FastPathContext } from './connection.ts'
import { ResponseSerializer } from './response-serializer.ts'

interface Http1FastPathOptions {
  handler: HttpHandler
  /** Milliseconds since 1970. */
  clock: () => number
  budget: MemoryBudget
  read?: typeof readIntoSharedBuffer
  log?: Log
}

/**
 * Serves visitors directly from the socket, without Node's parser and its objects for each request, which cost more than a
 * cached response: complete plain requests are answered with prebuilt bytes; a connection that sends anything else goes to
 * Node's parser permanently. Both give the same responses, because both call the same `HttpHandler`.
 */
export class Http1FastPath implements FastPathContext {
  readonly handler: HttpHandler
  readonly serializer: ResponseSerializer
  readonly read: typeof readIntoSharedBuffer
  readonly log: Log | undefined
  readonly pool = new ConnectionPool<FastPathConnection>()
  responses = 0
  /** Connections passed to Node's parser. */
  fallbacks = 0

  constructor({ handler, clock, budget, read = readIntoSharedBuffer, log }: Http1FastPathOptions) {
    this.handler = handler
    this.read = read
    this.log = log
    this.serializer = new ResponseSerializer({ clock, budget })
  }

  /** Takes a connection from which nothing has been read; `parse` passes it to Node's parser. */
  accept(socket: Socket, parse: (socket: Socket) => void): void {
    const early = takeBuffered(socket)
    const connection = new FastPathConnection(socket, this, () => {
      this.pool.remove(connection)
      this.fallbacks++
      parse(socket)
    })
    this.pool.add(connection, socket)
    if (early) connection.receive(early)
  }
}
