import { once } from 'node:events'
import { type IncomingHttpHeaders, request as requestPlain } from 'node:http'
import { request as requestSecurely } from 'node:https'
import { connect as connectPlain, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { prepareDataFolder } from '../../server/config/data-folder.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import type { Store, WriteTransaction } from '../../server/store/store.ts'
import type { Certificate, StoredChallenge } from '../../server/store/tables/certificates.ts'
import type { Domain } from '../../server/store/tables/domains.ts'
import { tar } from '../archive/tar-file.ts'
import { FOREVER, Issuer } from '../certificates/issuer.ts'
import { certificateRow, domainRow } from '../store/rows.ts'
import { openTestStore } from '../support/engines.ts'
import { type RunningService, startTestService } from '../support/service.ts'

/** The base URL and the site domain of services in these tests. */
export const BASE = 'slipway.example'
export const SITES = 'sites.test'

/** The lifetime of certificates of public CAs. */
const VALIDITY = { notBefore: Date.now() - 86_400_000, notAfter: Date.now() + 89 * 86_400_000 }

/** The CA of all certificates in these tests. */
export const issuer = await Issuer.create()

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

interface RequestOptions {
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** A service with HTTPS, and a second connection to its store, as of another process. */
export class SecureService implements AsyncDisposable {
  readonly running: RunningService
  readonly store: Store
  readonly #seal: SecretBox

  static async start(settings: Record<string, string> = {}): Promise<SecureService> {
    const running = await startTestService({
      HTTPS_PORT: '0',
      BASE_URL: `https://${BASE}`,
      SITE_DOMAIN: SITES,
      // No CA listens there.
      ACME_URL: 'https://127.0.0.1:1/directory',
      ...settings,
    })
    const store = await openTestStore({ folder: running.data, clock: () => running.clock.now })
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

  /** The HTTPS port. */
  get port(): number {
    return this.running.service.httpsPort!
  }

  async publish(files: Record<string, string | Buffer>): Promise<{ slug: string; versionId: string }> {
    const entries = Object.entries(files).map(([name, body]) => ({ name, data: Buffer.from(body) }))
    const response = await fetch(`http://127.0.0.1:${this.running.port}/api/v1/publish`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-tar' },
      body: new Uint8Array(tar(entries)),
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as { slug: string; versionId: string }
  }

  /** Writes as another process does, and invalidates the caches of this one immediately. */
  async change(names: readonly string[], work: (tx: WriteTransaction) => Promise<unknown>): Promise<void> {
    await this.store.write('durable', {}, async (tx) => {
      await work(tx)
      for (const name of names) await tx.notifyChanged(name)
    })
    await this.running.service.invalidate(names)
  }

  async addDomain(domain: string, slug: string, row: Partial<Domain> = {}): Promise<void> {
    await this.change([slug, domain], (tx) =>
      tx.domains.insert(domainRow(domain, { slug, status: 'active', ...row })),
    )
  }

  /** Issues a certificate for the names and stores it under `name`. */
  async certify(
    name: string,
    names: readonly string[] = [name],
    row: Partial<Certificate> = {},
  ): Promise<void> {
    const pair = await this.#pairFor(name, names)
    const whole = certificateRow(name, { ...LASTING, ...pair, ...row })
    await this.change([name], async (tx) => {
      // The service may have inserted rows for its own names.
      const isKnown = (await tx.certificates.find(name)) !== undefined
      await (isKnown ? tx.certificates.update(name, whole) : tx.rows.insert('certificates', whole))
    })
  }

  /** Replaces the certificate. */
  async renew(name: string): Promise<void> {
    const pair = await this.#pairFor(name, [name])
    await this.change([name], (tx) => tx.certificates.update(name, pair))
  }

  async #pairFor(name: string, names: readonly string[]): Promise<Pick<Certificate, 'chain' | 'key'>> {
    const { chain, key } = await issuer.issueWithKey({ ...VALIDITY, names })
    return { chain, key: this.#seal.encrypt(key, `certificate ${name}`) }
  }

  /** Adds an active domain with a certificate. */
  async addSecureDomain(domain: string, slug: string, row: Partial<Domain> = {}): Promise<void> {
    await this.addDomain(domain, slug, row)
    await this.certify(domain)
  }

  async challenge(row: Pick<StoredChallenge, 'type' | 'name' | 'token' | 'keyAuthorization'>): Promise<void> {
    const expiresAt = this.running.clock.now + 600_000
    await this.change([], (tx) => tx.rows.put('acme_challenges', { ...row, expiresAt }))
  }

  /** Completes a handshake; rejects with OpenSSL's error code. */
  handshake(servername: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
    return handshake(this.port, { servername, ...options })
  }

  /** The names in the certificate that a server name gets, or the error code. */
  async namesFor(servername: string, options: ConnectionOptions = {}): Promise<string> {
    try {
      const socket = await this.handshake(servername, options)
      const { subjectaltname = '' } = socket.getPeerCertificate()
      socket.destroy()
      return subjectaltname
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error)
    }
  }

  /** Sends a request over plain HTTP. */
  plain(host: string, path = '/', options: RequestOptions = {}): Promise<Reply> {
    return readReply(
      requestPlain({
        ...toRequestOptions(this.running.port, host, path, options),
        host: '127.0.0.1',
        agent: false,
      }),
      options,
    )
  }

  /** Sends a request over TLS and HTTP/1.1. */
  secure(host: string, path = '/', options: RequestOptions = {}): Promise<Reply> {
    const servername = host.replace(/:\d+$/, '')
    const tls = { servername, ca: issuer.root, host: '127.0.0.1', agent: false }
    return readReply(
      requestSecurely({ ...toRequestOptions(this.port, host, path, options), ...tls }),
      options,
    )
  }

  /** Opens a TCP connection to the HTTPS port. */
  async raw(): Promise<Socket> {
    const socket = connectPlain(this.port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
}

/** OpenSSL's error code for the alert unrecognized_name. */
export const UNKNOWN_NAME = 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME'

export async function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
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

/** Reads until the connection is closed. */
export async function untilClosed(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined)
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return Buffer.concat(chunks)
}

function toRequestOptions(
  port: number,
  host: string,
  path: string,
  { method = 'GET', headers = {} }: RequestOptions,
) {
  return { port, path, method, headers: { host, ...headers } }
}

async function readReply(request: ReturnType<typeof requestPlain>, { body }: RequestOptions): Promise<Reply> {
  request.end(body)
  const [response] = await once(request, 'response')
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

/** Validity of a certificate that is never renewed. */
export const LASTING = {
  issuedAt: FOREVER.notBefore,
  notBefore: FOREVER.notBefore,
  notAfter: FOREVER.notAfter,
}
