import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import type { Visits } from '../../protocol/api/visits.schema.ts'
import type { VisitRange } from '../../protocol/api/visits.ts'
import { tar } from '../archive/tar-file.ts'
import { issuer, SecureService, SITES } from '../tls/secure-service.ts'

const WILDCARD = `*.${SITES}`

/** The implementations that can handle a request to a site. */
export const WAYS = ['the fast path', 'Node’s parser', 'HTTP/2'] as const

export type Way = (typeof WAYS)[number]

export interface VisitRequest {
  path?: string
  method?: string
  headers?: Record<string, string>
  /** The host name, by default that of the site. */
  host?: string
}

export interface Reply {
  status: number
  bytes: number
  etag: string
}

/** A service with HTTPS, an account and its sites, with requests over every protocol. */
export class CountedService implements AsyncDisposable {
  readonly secure: SecureService
  readonly owner: Slipway
  readonly #stack: AsyncDisposableStack

  static async start(settings: Record<string, string> = {}): Promise<CountedService> {
    await using stack = new AsyncDisposableStack()
    // A DNS hook, which is never called, makes the wildcard below one of the service's own certificates.
    const secure = stack.use(await SecureService.start({ DNS_HOOK: '/bin/false', ...settings }))
    if (!(await secure.store.read.certificates.find(WILDCARD))) await secure.certify(WILDCARD)
    await secure.running.service.invalidate([WILDCARD])
    const transport = nodeTransport({})
    stack.defer(() => transport.close())
    const baseUrl = `http://127.0.0.1:${secure.running.port}`
    const anonymous = new Slipway({ baseUrl, send: transport.send })
    await anonymous.requestCode('owner@example.test')
    const code = await secure.running.mailedCode('owner@example.test')
    const { apiKey } = await anonymous.verifyCode('owner@example.test', code)
    return new CountedService(secure, anonymous.with({ key: apiKey }), stack.move())
  }

  private constructor(secure: SecureService, owner: Slipway, stack: AsyncDisposableStack) {
    this.secure = secure
    this.owner = owner
    this.#stack = stack
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }

  get clock(): { now: number } {
    return this.secure.running.clock
  }

  /** Publishes an archive, because upload targets have the host of the base URL. */
  publish(files: Record<string, string>) {
    const entries = Object.entries(files).map(([name, body]) => ({ name, data: Buffer.from(body) }))
    return this.owner.publishArchive(tar(entries), { contentType: 'application/x-tar' })
  }

  visits(slug: string, range?: VisitRange): Promise<Visits> {
    return this.owner.visits(slug, range)
  }

  /** Sends a request on a new connection. */
  async sendRequest(way: Way, slug: string, request: VisitRequest = {}): Promise<Reply> {
    return way === 'HTTP/2' ? this.#sendHttp2(slug, request) : this.#sendHttp1(way, slug, request)
  }

  /** Opens a TLS connection to a site. */
  connect(slug: string): Promise<TLSSocket> {
    return this.secure.handshake(`${slug}.${SITES}`)
  }

  async #sendHttp1(
    way: Way,
    slug: string,
    { path = '/', method, headers = {}, host }: VisitRequest,
  ): Promise<Reply> {
    // The fast path does not support TE, and passes the request to Node's parser.
    const more: Record<string, string> = way === 'Node’s parser' ? { TE: 'trailers' } : {}
    const options = { headers: { ...headers, ...more }, ...(method && { method }) }
    const {
      status,
      headers: received,
      body,
    } = await this.secure.secure(host ?? `${slug}.${SITES}`, path, options)
    return { status, bytes: body.length, etag: received.etag ?? '' }
  }

  async #sendHttp2(
    slug: string,
    { path = '/', method = 'GET', headers = {}, host }: VisitRequest,
  ): Promise<Reply> {
    const name = host ?? `${slug}.${SITES}`
    const session = connectHttp2(`https://127.0.0.1:${this.secure.port}`, {
      servername: name,
      ca: issuer.root,
      checkServerIdentity: () => undefined,
    })
    try {
      const stream = session.request({
        ':path': path,
        ':method': method,
        ':authority': name,
        ...Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value])),
      })
      const [[received], body] = await Promise.all([once(stream, 'response'), buffer(stream)])
      return { status: received[':status'], bytes: body.length, etag: received.etag ?? '' }
    } finally {
      session.destroy()
    }
  }
}

/** Visits without empty lists. */
export function summarize({ totals, topPaths, missingPaths, referrers }: Visits) {
  const named = (names: Visits['topPaths']) =>
    Object.fromEntries(names.map(({ name, requests }) => [name, requests]))
  return {
    ...totals,
    ...(topPaths.length > 0 && { paths: named(topPaths) }),
    ...(missingPaths.length > 0 && { missing: named(missingPaths) }),
    ...(referrers.length > 0 && { referrers: named(referrers) }),
  }
}
