import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import type { VisitRange, Visits } from '../../protocol/api/visits.ts'
import { tar } from '../archive/tar-file.ts'
import { issuer, SecureService, SITES } from '../tls/secure-service.ts'

const WILDCARD = `*.${SITES}`

/** The ways on which a request can come to a site. */
export const WAYS = ['the fast lane', 'Node’s parser', 'HTTP/2'] as const

export type Way = (typeof WAYS)[number]

export interface Ask {
  path?: string
  method?: string
  headers?: Record<string, string>
  /** In place of the site's own. */
  host?: string
}

export interface Reply {
  status: number
  bytes: number
  etag: string
}

/** A service with HTTPS, its owner and their sites, asked on every way. */
export class CountedService implements AsyncDisposable {
  readonly secure: SecureService
  readonly owner: Slipway
  readonly key: string
  readonly #stack: AsyncDisposableStack

  static async start(settings: Record<string, string> = {}): Promise<CountedService> {
    await using stack = new AsyncDisposableStack()
    // With a hook that is never needed the certificate below is one of the service's own names.
    const secure = stack.use(await SecureService.start({ DNS_HOOK: '/bin/false', ...settings }))
    if (!(await secure.store.read.certificates.find(WILDCARD))) await secure.certify(WILDCARD)
    await secure.running.service.invalidate([WILDCARD])
    const transport = nodeTransport({})
    stack.defer(() => transport.close())
    const baseUrl = `http://127.0.0.1:${secure.running.port}`
    const guest = new Slipway({ baseUrl, send: transport.send })
    await guest.requestCode('owner@example.test')
    const code = await secure.running.mailedCode('owner@example.test')
    const { apiKey } = await guest.verifyCode('owner@example.test', code)
    return new CountedService(secure, guest.with({ key: apiKey }), { key: apiKey, stack: stack.move() })
  }

  private constructor(
    secure: SecureService,
    owner: Slipway,
    { key, stack }: { key: string; stack: AsyncDisposableStack },
  ) {
    this.secure = secure
    this.owner = owner
    this.key = key
    this.#stack = stack
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }

  get clock(): { now: number } {
    return this.secure.running.clock
  }

  async publish(files: Record<string, string>, query = ''): Promise<{ slug: string; versionId: string }> {
    const entries = Object.entries(files).map(([name, body]) => ({ name, data: Buffer.from(body) }))
    const answer = await fetch(`http://127.0.0.1:${this.secure.running.port}/api/v1/publish${query}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-tar', Authorization: `Bearer ${this.key}` },
      body: new Uint8Array(tar(entries)),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as { slug: string; versionId: string }
  }

  visits(slug: string, range?: VisitRange): Promise<Visits> {
    return this.owner.visits(slug, range)
  }

  /** One request on a connection of its own. */
  async ask(way: Way, slug: string, ask: Ask = {}): Promise<Reply> {
    return way === 'HTTP/2' ? this.#askHttp2(slug, ask) : this.#ask(way, slug, ask)
  }

  /** A connection to a site over TLS. */
  connect(slug: string): Promise<TLSSocket> {
    return this.secure.handshake(`${slug}.${SITES}`)
  }

  async #ask(way: Way, slug: string, { path = '/', method, headers = {}, host }: Ask): Promise<Reply> {
    // It says that more than the fast lane knows of may follow.
    const more: Record<string, string> = way === 'Node’s parser' ? { TE: 'trailers' } : {}
    const asked = { headers: { ...headers, ...more }, ...(method && { method }) }
    const { status, headers: got, body } = await this.secure.secure(host ?? `${slug}.${SITES}`, path, asked)
    return { status, bytes: body.length, etag: got.etag ?? '' }
  }

  async #askHttp2(slug: string, { path = '/', method = 'GET', headers = {}, host }: Ask): Promise<Reply> {
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
      const [[got], body] = await Promise.all([once(stream, 'response'), buffer(stream)])
      return { status: got[':status'], bytes: body.length, etag: got.etag ?? '' }
    } finally {
      session.destroy()
    }
  }
}

/** What was counted, without what is nothing. */
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
