import { isIP } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Config, ConfigError } from './config.ts'
import type { Edge } from './edge/edge.ts'
import { Http2Lane } from './edge/lanes/http2/http2-lane.ts'
import { readInto } from './edge/lanes/read-into.ts'
import type { Log } from './log.ts'
import type { Budget } from './memory/kept.ts'
import type { Listener } from './sockets/listener.ts'
import { SecureListener } from './sockets/secure-listener.ts'
import type { Store } from './store/store.ts'
import { CertificateFiles } from './tls/certificate-files.ts'
import type { ClientHello } from './tls/client-hello.ts'
import { Contexts } from './tls/contexts.ts'
import type { Seal } from './tls/seal.ts'
import { TicketKeys } from './tls/ticket-keys.ts'

export interface HttpsOptions {
  config: Config
  /** Whether several processes of this machine listen there. */
  shared: boolean
  baseUrl: string
  store: Store
  secret: string
  seal: Seal
  clock: () => number
  log: Log
}

/** HTTPS as this process speaks it itself: its port, and which certificate each name gets. */
export class Https implements AsyncDisposable {
  readonly #listener: SecureListener
  readonly #contexts: Contexts
  readonly #files: CertificateFiles | undefined
  readonly #options: HttpsOptions
  readonly #base: URL
  #http2: Http2Lane | undefined

  /** Listens, and holds connections back until `serve`. */
  static async open(options: HttpsOptions, port: number): Promise<Https> {
    const listener = await SecureListener.open(options.config.host, port, { shared: options.shared })
    try {
      const https = new Https(options, listener)
      await https.#contexts.look()
      return https
    } catch (error) {
      listener.close()
      throw error
    }
  }

  private constructor(options: HttpsOptions, listener: SecureListener) {
    const { config, baseUrl, store, secret, seal, clock, log } = options
    this.#listener = listener
    this.#options = options
    this.#base = new URL(baseUrl)
    this.#files = openFiles(config, log, () => this.#contexts.forgetFiles())
    this.#contexts = new Contexts({
      store,
      seal,
      clock,
      tickets: new TicketKeys(secret, clock),
      siteDomain: config.siteDomain,
      baseHost: this.#base.hostname,
      own: ownNames(config, baseUrl),
      files: this.#files,
      log,
    })
  }

  /** Where this process listens. */
  get listeningPort(): number {
    return this.#listener.port
  }

  /** Of the addresses that visitors see: that of {base_url} where it says one. */
  get port(): number {
    const { protocol, port } = this.#base
    return protocol === 'https:' ? Number(port || 443) : this.listeningPort
  }

  coversSites(): boolean {
    return this.#contexts.isReady(`any.${this.#options.config.siteDomain}`)
  }

  /** Whether requests for the service itself belong here: {base_url} says so, and there is the certificate. */
  coversService(): boolean {
    const { protocol, hostname } = this.#base
    return protocol === 'https:' && this.#contexts.isReady(hostname)
  }

  /** Lets visitors in: those who speak HTTP/1.1 go the way of those who come without TLS. */
  serve({ edge, listener, budget }: { edge: Edge; listener: Listener; budget: Budget }): void {
    const { clock, log } = this.#options
    const http2 = new Http2Lane({ edge, clock, budget, parse: (socket) => listener.parse(socket), log })
    this.#http2 = http2
    const doors = {
      choose: (hello: ClientHello) => this.#contexts.choose(hello),
      http1: (socket: TLSSocket) => listener.take(socket),
      http2: (socket: TLSSocket) => http2.accept(socket),
      read: readInto,
    }
    this.#listener.serve(doors, log)
  }

  /** The certificates of these names may be others now; without names, all of them. */
  forget(names: readonly string[] | undefined): Promise<void> {
    return this.#contexts.forget(names)
  }

  /** Takes no more connections and resolves when the last one has ended; cuts those that are left after `seconds`. */
  drain(seconds: number): Promise<void> {
    this.#http2?.close()
    return this.#listener.drain(seconds)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0)
    this.#files?.[Symbol.dispose]()
  }
}

/**
 * The names of the service's own that certificates are got for: the wildcard of the site domain when there is a hook to prove
 * it by, and the host of {base_url} unless something else covers it.
 */
export function ownNames(config: Config, baseUrl: string): string[] {
  if (config.tlsCertFile !== '') return []
  const { protocol, hostname } = new URL(baseUrl)
  const { siteDomain, dnsHook } = config
  const label = hostname.slice(0, -siteDomain.length - 1)
  const isBelow = hostname === siteDomain || (hostname.endsWith(`.${siteDomain}`) && !label.includes('.'))
  const names = dnsHook === '' ? [] : [`*.${siteDomain}`]
  const isPublic = protocol === 'https:' && hostname.includes('.') && isIP(hostname) === 0
  return isPublic && !(isBelow && dnsHook !== '') ? [...names, hostname] : names
}

function openFiles(config: Config, log: Log, onChange: () => void): CertificateFiles | undefined {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = config
  if (certFile === '' && keyFile === '') return undefined
  try {
    const covering = { host: `any.${config.siteDomain}`, name: `*.${config.siteDomain}` }
    return new CertificateFiles({ certFile, keyFile, covering, log, onChange })
  } catch (error) {
    throw new ConfigError(
      `SLIPWAY_TLS_CERT_FILE=${JSON.stringify(certFile)} with SLIPWAY_TLS_KEY_FILE=${JSON.stringify(keyFile)} is not allowed: they must be a certificate and its key, PEM (${(error as Error).message})`,
    )
  }
}
