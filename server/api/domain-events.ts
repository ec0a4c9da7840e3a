import { Readable } from 'node:stream'
import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { DomainRecord } from '../../client/wire.ts'
import type { Listening } from '../domain/following.ts'
import { accountOf } from './admission.ts'
import type { Rooms } from './rooms.ts'

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // The service stops when the last connection has ended.
  Connection: 'close',
  // nginx would collect events before it passes them on.
  'X-Accel-Buffering': 'no',
}

/** Bytes that may wait for a reader. */
const MOST_WAITING = 128 * 1024

/** What a browser waits before it asks again (milliseconds): each time is a request that counts. */
const FIRST = 'retry: 30000\n'

/**
 * A domain's record now and whenever it changes, as events (WHATWG HTML, 9.2): `domain` with the record, and `gone` with the
 * name when it was removed. The charge is that of one request.
 */
export function domainEvents({ domains }: Pick<Rooms, 'domains'>): RouteHandlerMethod {
  return async (request, reply) => {
    reply.headers(HEADERS)
    if (request.method === 'HEAD') return reply.send()
    const { domain } = request.params as { domain: string }
    const events = new Events(domain)
    const leave = await domains.follow(followedBy(request), domain, events)
    events.once('close', leave)
    return reply.send(events)
  }
}

/** Events on their way to one reader; who does not read is let go. */
export class Events extends Readable implements Listening {
  readonly #domain: string

  constructor(domain: string) {
    super({ read: () => undefined })
    this.#domain = domain
    this.push(FIRST)
  }

  record(record: DomainRecord): void {
    this.#say(`event: domain\ndata: ${JSON.stringify(record)}\n\n`)
  }

  /** A comment, so that nobody in between takes the connection for dead. */
  quiet(): void {
    if (this.readableLength > 0) this.destroy()
    else this.#say(':\n\n')
  }

  gone(): void {
    this.#say(`event: gone\ndata: ${JSON.stringify({ domain: this.#domain })}\n\n`)
  }

  end(): void {
    if (!this.destroyed) this.push(null)
  }

  #say(text: string): void {
    if (this.destroyed) return
    this.push(text)
    if (this.readableLength > MOST_WAITING) this.destroy()
  }
}

function followedBy(request: FastifyRequest): Parameters<Rooms['domains']['follow']>[0] {
  return { account: accountOf(request), sessionToken: request.sessionToken }
}
