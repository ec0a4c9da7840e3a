import { once } from 'node:events'
import { type IncomingHttpHeaders, request as requestPlain } from 'node:http'
import { request as requestSecurely } from 'node:https'
import { connect as connectPlain, type Socket } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { prepareDataFolder } from '../../server/config/data-folder.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import type { Domain } from '../../server/store/contract/domains.ts'
import type { AcmeChallengeRow, CertificateRow } from '../../server/store/schema.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store, WriteTransaction } from '../../server/store/store.ts'
import { FOREVER, Issuer } from '../acme/issuer.ts'
import { tar } from '../archive/tar-file.ts'
import { type RunningService, startTestService } from '../service.ts'
import { certificateRow, domainRow } from '../store/rows.ts'

/** The base URL and the site domain of services in these tests. */
export const BASE = 'slipway.test'
export const SITES = 'sites.test'

/** As long as public CAs give. */
const LIFE = { notBefore: Date.now() - 86_400_000, notAfter: Date.now() + 89 * 86_400_000 }

/** Who signs all certificates here. */
export const issuer = await Issuer.create()

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

interface Ask {
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** A service that speaks HTTPS, and what the tests put into its store as another process would. */
export class SecureService implements AsyncDisposable {
  readonly running: RunningService
  readonly store: Store
  readonly #seal: SecretBox

  static async start(settings: Record<string, string> = {}): Promise<SecureService> {
    const running = await startTestService({
      HTTPS_PORT: '0',
      BASE_URL: `https://${BASE}`,
      SITE_DOMAIN: SITES,
      // No CA is there to be asked.
      ACME_URL: 'https://127.0.0.1:1/directory',
      ...settings,
    })
    const file = join(running.data, 'slipway.db')
    const store = await sqliteStore({ file, clock: () => running.clock.now })
    return new SecureService(running, store, prepareDataFolder(running.data, settings.SECRET ?? '').secret)
  }

  private constructor(running: RunningService, store: Store, secret: string) {
    this.running = running
    this.store = store
    this.#seal = new SecretBox(secret)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]()
    await this.running[Symbol.asyncDispose]()
  }

  /** Where HTTPS is spoken. */
  get port(): number {
    return this.running.service.httpsPort!
  }

  /** Publishes these files and answers the slug. */
  async publish(files: Record<string, string | Buffer>): Promise<{ slug: string; versionId: string }> {
    const entries = Object.entries(files).map(([name, body]) => ({ name, data: Buffer.from(body) }))
    const answer = await fetch(`http://127.0.0.1:${this.running.port}/api/v1/publish`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-tar' },
      body: new Uint8Array(tar(entries)),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as { slug: string; versionId: string }
  }

  /** Writes as another process does, and has this one hear of it at once. */
  async change(names: readonly string[], work: (tx: WriteTransaction) => Promise<void>): Promise<void> {
    await this.store.write('durable', async (tx) => {
      await work(tx)
      for (const name of names) await tx.notifyChanged(name)
    })
    this.running.service.invalidate(names)
  }

  async addDomain(domain: string, slug: string, row: Partial<Domain> = {}): Promise<void> {
    await this.change([slug, domain], (tx) =>
      tx.domains.insert(domainRow(domain, { slug, status: 'active', ...row })),
    )
  }

  /** A new certificate for the names; it is kept under `name`. */
  async certify(
    name: string,
    names: readonly string[] = [name],
    row: Partial<CertificateRow> = {},
  ): Promise<void> {
    const pair = await this.#pairFor(name, names)
    const whole = certificateRow(name, { ...LASTING, ...pair, ...row })
    await this.change([name], async (tx) => {
      // The service may have begun to care for its own names by now.
      const isKnown = (await tx.certificates.find(name)) !== undefined
      await (isKnown ? tx.certificates.update(name, whole) : tx.certificates.insert(whole))
    })
  }

  /** Another one in its place. */
  async renew(name: string): Promise<void> {
    const pair = await this.#pairFor(name, [name])
    await this.change([name], (tx) => tx.certificates.update(name, pair))
  }

  async #pairFor(name: string, names: readonly string[]): Promise<Pick<CertificateRow, 'chain' | 'key'>> {
    const { chain, key } = await issuer.issueWithKey({ ...LIFE, names })
    return { chain, key: this.#seal.encrypt(key, `certificate ${name}`) }
  }

  /** An active domain with a certificate. */
  async addSecureDomain(domain: string, slug: string, row: Partial<Domain> = {}): Promise<void> {
    await this.addDomain(domain, slug, row)
    await this.certify(domain)
  }

  async challenge(
    row: Pick<AcmeChallengeRow, 'type' | 'name' | 'token' | 'key_authorization'>,
  ): Promise<void> {
    const expires_at = this.running.clock.now + 600_000
    await this.change([], (tx) => tx.acme.putChallenge({ ...row, expires_at }))
  }

  /** A finished handshake; rejects with what OpenSSL calls the failure. */
  shake(servername: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
    return shake(this.port, { servername, ...options })
  }

  /** The names in the certificate that a name gets, or the code of the failure. */
  async namesFor(servername: string, options: ConnectionOptions = {}): Promise<string> {
    try {
      const socket = await this.shake(servername, options)
      const { subjectaltname = '' } = socket.getPeerCertificate()
      socket.destroy()
      return subjectaltname
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error)
    }
  }

  /** Without TLS. */
  plain(host: string, path = '/', ask: Ask = {}): Promise<Reply> {
    return replyTo(
      requestPlain({ ...to(this.running.port, host, path, ask), host: '127.0.0.1', agent: false }),
      ask,
    )
  }

  /** Over TLS and HTTP/1.1. */
  secure(host: string, path = '/', ask: Ask = {}): Promise<Reply> {
    const servername = host.replace(/:\d+$/, '')
    const tls = { servername, ca: issuer.root, host: '127.0.0.1', agent: false }
    return replyTo(requestSecurely({ ...to(this.port, host, path, ask), ...tls }), ask)
  }

  /** A connection on which nothing was said. */
  async raw(): Promise<Socket> {
    const socket = connectPlain(this.port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
}

/** The alert of a name that nobody has, as OpenSSL tells it. */
export const UNKNOWN_NAME = 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME'

export async function shake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: issuer.root, ...options })
  try {
    await once(socket, 'secureConnect')
  } catch (error) {
    socket.destroy()
    throw error
  }
  socket.on('error', () => undefined)
  return socket
}

/** All that comes until the other end has said everything. */
export async function untilClosed(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined)
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return Buffer.concat(chunks)
}

function to(port: number, host: string, path: string, { method = 'GET', headers = {} }: Ask) {
  return { port, path, method, headers: { host, ...headers } }
}

async function replyTo(request: ReturnType<typeof requestPlain>, { body }: Ask): Promise<Reply> {
  request.end(body)
  const [response] = await once(request, 'response')
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

/** When its certificate was issued and how long it lasts; it is never renewed. */
export const LASTING = {
  issued_at: FOREVER.notBefore,
  not_before: FOREVER.notBefore,
  not_after: FOREVER.notAfter,
}
