import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Connections } from '../../packages/http-server/clients/connections.ts'
import { type Http2Options, Http2Server } from '../../packages/http-server/http2/http2-server.ts'
import type { Listener } from '../../packages/http-server/listener.ts'
import type { ProxyProtocol } from '../../packages/http-server/proxy-protocol.ts'
import { readIntoSharedBuffer } from '../../packages/http-server/shared-buffer-read.ts'
import { CertificateFiles, type Validity } from '../../packages/http-server/tls/certificate-files.ts'
import type { ClientHello } from '../../packages/http-server/tls/client-hello.ts'
import { SecureListener } from '../../packages/http-server/tls/secure-listener.ts'
import { openPort } from '../config/open-port.ts'
import { type Config, ConfigError } from '../config/settings.ts'
import type { CircuitBreaker } from '../lib/circuit-breaker.ts'
import { Component } from '../lib/component.ts'
import type { Log } from '../lib/log.ts'
import type { MissLimiter } from '../lib/miss-limiter.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import type { Parts } from '../parts.ts'
import type { ChangeEffects } from '../store/store.ts'
import { CertificateSelector } from './certificate-selector.ts'
import { TicketKeys } from './ticket-keys.ts'

export interface HttpsOptions extends Pick<Parts, 'config' | 'baseUrl' | 'store' | 'clock' | 'log'> {
  shared: boolean
  connections: Connections
  proxyProtocol: ProxyProtocol | undefined
  breaker: CircuitBreaker
  missLimiter: MissLimiter
  secretBox: SecretBox
}

interface ServeOptions extends Pick<Http2Options, 'handler' | 'budget' | 'clientMemory'> {
  listener: Listener
}

export class Https
  extends Component<HttpsOptions & { secureListener: SecureListener }>
  implements AsyncDisposable
{
  readonly #base = new URL(this.parts.baseUrl)
  readonly #files = openCertificateFiles(this.parts.config, this.parts.log, () => {
    this.#selector.invalidateFiles()
    this.#warnUncovered()
  })
  readonly #tickets = new TicketKeys(this.parts)
  readonly #selector = new CertificateSelector({
    ...this.parts,
    tickets: this.#tickets,
    siteDomain: this.parts.config.siteDomain,
    baseHost: this.#base.hostname,
    own: getOwnNames(this.parts.config, this.parts.baseUrl),
    files: this.#files,
    perSite: this.parts.config.siteCertificates !== undefined,
    protocols: this.parts.config.http2 === 'on' ? ['h2', 'http/1.1'] : ['http/1.1'],
    trustsProxies: this.parts.config.trustedProxies > 0,
  })
  #http2: Http2Server | undefined

  /** Listens, and queues connections until `serve`. */
  static async open(options: HttpsOptions, port: number): Promise<Https> {
    const opening = SecureListener.open(options.config.host, port, options)
    const secureListener = await openPort('SLIPWAY_HTTPS_PORT', opening)
    try {
      const https = new Https({ ...options, secureListener })
      https.#warnUncovered()
      await Promise.all([https.#selector.refresh(), https.#tickets.refresh()])
      return https
    } catch (error) {
      secureListener.close()
      throw error
    }
  }

  get listeningPort(): number {
    return this.parts.secureListener.port
  }

  /** The public port: that of {base_url} if it has one. */
  get port(): number {
    const { protocol, port } = this.#base
    return protocol === 'https:' ? Number(port || 443) : this.listeningPort
  }

  /** That of the operator's certificate file; undefined without one. */
  get fileValidity(): Validity | undefined {
    return this.#files?.validity
  }

  coversSites(): boolean {
    return this.#selector.hasCertificate(`any.${this.parts.config.siteDomain}`)
  }

  /** Whether the service itself is served over HTTPS: {base_url} has that scheme, and its certificate exists. */
  coversService(): boolean {
    const { protocol, hostname } = this.#base
    return protocol === 'https:' && this.#selector.hasCertificate(hostname)
  }

  #warnUncovered(): void {
    const { config, log } = this.parts
    const problem = this.#files && findUncoveredHost(this.#files, this.#base.href)
    if (problem) log.warn('certificate file lacks a name', { file: config.tlsCertFile, problem })
  }

  serve({ handler, listener, budget, clientMemory }: ServeOptions): void {
    const { config, clock, log } = this.parts
    const { trustedProxies } = config
    const parse = (socket: Duplex) => listener.parse(socket)
    const options = { handler, clock, budget, clientMemory, trustedProxies, parse, log }
    this.#http2 = config.http2 === 'on' ? new Http2Server(options) : undefined
    const handlers = {
      select: (hello: ClientHello, address: string) => this.#selector.choose(hello, address),
      http1: (socket: TLSSocket) => listener.accept(socket),
      http2: (socket: TLSSocket) => this.#http2?.accept(socket),
      read: readIntoSharedBuffer,
    }
    this.parts.secureListener.serve(handlers, log)
  }

  invalidate(names: readonly string[] | undefined, effects?: ChangeEffects): Promise<void> {
    return this.#selector.invalidate(names, effects)
  }

  /** Resolves when the last connection has ended; destroys the rest after `seconds`. */
  drain(seconds: number): Promise<void> {
    this.#http2?.pool.close()
    return this.parts.secureListener.drain(seconds)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0)
    this.#files?.[Symbol.dispose]()
  }
}

/** The host of {base_url} unless a certificate file covers it; with a DNS hook the wildcard of the site domain. */
export function getOwnNames(config: Config, baseUrl: string): string[] {
  if (config.tlsCertFile !== '') return []
  const { protocol, hostname } = new URL(baseUrl)
  const { siteDomain, dnsHook } = config
  const label = hostname.slice(0, -siteDomain.length - 1)
  const isBelow = hostname === siteDomain || (hostname.endsWith(`.${siteDomain}`) && !label.includes('.'))
  const names = dnsHook === '' ? [] : [`*.${siteDomain}`]
  const isPublic = protocol === 'https:' && hostname.includes('.') && isIP(hostname) === 0
  return isPublic && !(isBelow && dnsHook !== '') ? [...names, hostname] : names
}

/** The service orders no certificate for the host of {base_url} when there are files. */
export function findUncoveredHost(files: CertificateFiles, baseUrl: string): string | undefined {
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol !== 'https:' || files.covers(hostname)) return undefined
  return `it is not for ${hostname}, the host of SLIPWAY_BASE_URL: the dashboard and the API have no HTTPS`
}

/** ConfigError when they cannot be used; undefined without a setting for them. */
export function openCertificateFiles(
  config: Config,
  log: Log,
  onChange: () => void,
): CertificateFiles | undefined {
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
