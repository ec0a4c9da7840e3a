import { isIP } from 'node:net'
import { type Config, ConfigError } from './config.ts'
import type { Log } from './log.ts'
import { type SecureDoors, SecureListener } from './secure-listener.ts'
import type { Store } from './store/store.ts'
import { CertificateFiles } from './tls/certificate-files.ts'
import { Contexts } from './tls/contexts.ts'
import type { Seal } from './tls/seal.ts'
import { TicketKeys } from './tls/ticket-keys.ts'

interface HttpsOptions {
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
  readonly #log: Log
  readonly #siteDomain: string
  readonly #baseUrl: string

  /** Listens, and holds connections back until `serve`. */
  static async open(options: HttpsOptions, port: number): Promise<Https> {
    const listener = await SecureListener.open(options.config.host, port, { shared: options.shared })
    try {
      return new Https(options, listener)
    } catch (error) {
      listener.close()
      throw error
    }
  }

  private constructor(
    { config, baseUrl, store, secret, seal, clock, log }: HttpsOptions,
    listener: SecureListener,
  ) {
    this.#listener = listener
    this.#log = log
    this.#siteDomain = config.siteDomain
    this.#baseUrl = baseUrl
    this.#files = openFiles(config, log, () => this.#contexts.forgetFiles())
    this.#contexts = new Contexts({
      store,
      seal,
      clock,
      tickets: new TicketKeys(secret, clock),
      siteDomain: config.siteDomain,
      baseHost: new URL(baseUrl).hostname,
      own: ownNames(config, baseUrl),
      files: this.#files,
    })
  }

  /** Where this process listens. */
  get listeningPort(): number {
    return this.#listener.port
  }

  /** Of the addresses that visitors see: that of {base_url} where it says one. */
  get port(): number {
    const { protocol, port } = new URL(this.#baseUrl)
    return protocol === 'https:' ? Number(port || 443) : this.listeningPort
  }

  coversSites(): boolean {
    return this.#contexts.isReady(`any.${this.#siteDomain}`)
  }

  /** Whether requests for the service itself belong here: {base_url} says so, and there is the certificate. */
  coversService(): boolean {
    const { protocol, hostname } = new URL(this.#baseUrl)
    return protocol === 'https:' && this.#contexts.isReady(hostname)
  }

  serve(doors: Omit<SecureDoors, 'choose'>): void {
    this.#listener.serve({ ...doors, choose: (hello) => this.#contexts.choose(hello) }, this.#log)
  }

  /** The certificates of these names may be others now; without names, all of them. */
  forget(names: readonly string[] | undefined): void {
    this.#contexts.forget(names)
  }

  /** Takes no more connections. */
  close(): void {
    this.#listener.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
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
    return new CertificateFiles({ certFile, keyFile, log, onChange })
  } catch (error) {
    throw new ConfigError(
      `SLIPWAY_TLS_CERT_FILE=${JSON.stringify(certFile)} with SLIPWAY_TLS_KEY_FILE=${JSON.stringify(keyFile)} is not allowed: they must be a certificate and its key, PEM (${(error as Error).message})`,
    )
  }
}
