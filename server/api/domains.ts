import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import type { WatchListener } from '../domains/watch.ts'
import type { Services } from '../services.ts'
import type { Call, Handlers } from './route.ts'

/** Spec 4.11. */
export function domainHandlers({ domains, store }: Services) {
  return {
    listDomains: ({ account }) => domains.list(account),
    addDomain: async ({ account, body }) =>
      domains.add(account, body.domain, await store.patient.sites.currentName(body.siteSlug)),
    checkDomain: ({ account, params }) => domains.check(account, params.domain),
    followDomain: (call) => followDomain(call, domains),
    removeDomain: ({ account, params }) => domains.remove(account, params.domain),
  } satisfies Partial<Handlers>
}

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // Without keep-alive, so that the service can stop when the stream ends.
  Connection: 'close',
  // Disables nginx's response buffering.
  'X-Accel-Buffering': 'no',
}

const MAX_BUFFERED_BYTES = 128 * 1024

/** Each reconnection of the browser is a charged request. */
const RETRY_FIELD = 'retry: 30000\n'

/**
 * Server-sent events (WHATWG HTML, 9.2): `domain` with the record, now and after every change, and `gone` with the name
 * after its removal. Charged as one request.
 */
async function followDomain(call: Call<'followDomain'>, domains: Services['domains']): Promise<FastifyReply> {
  const { request, reply, account, caller, params } = call
  reply.headers(HEADERS)
  if (request.method === 'HEAD') return reply.send()
  const events = new EventWriter(params.domain)
  const reader = { account, credentialHash: call.credentialHash, address: caller.address }
  events.once('close', await domains.watch(reader, params.domain, events))
  return reply.send(events)
}

/** Disconnects a reader that does not read. */
export class EventWriter extends Readable implements WatchListener {
  readonly #domain: string

  constructor(domain: string) {
    super({ read: () => undefined })
    this.#domain = domain
    this.push(RETRY_FIELD)
  }

  record(record: DomainRecord): void {
    this.#write(`event: domain\ndata: ${JSON.stringify(record)}\n\n`)
  }

  /** So that intermediaries do not close an idle connection. */
  heartbeat(): void {
    if (this.readableLength > 0) this.destroy()
    else this.#write(':\n\n')
  }

  removed(): void {
    this.#write(`event: gone\ndata: ${JSON.stringify({ domain: this.#domain })}\n\n`)
  }

  end(): void {
    if (!this.destroyed) this.push(null)
  }

  #write(text: string): void {
    if (this.destroyed) return
    this.push(text)
    if (this.readableLength > MAX_BUFFERED_BYTES) this.destroy()
  }
}
