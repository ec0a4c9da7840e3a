import { constants, createHash } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { challengeCertificate } from '../../packages/acme-client/x509.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import type { CertificateFiles, KeyPair } from '../../packages/http-server/tls/certificate-files.ts'
import type { ClientHello } from '../../packages/http-server/tls/client-hello.ts'
import type { SelectedCertificate } from '../../packages/http-server/tls/tls-acceptor.ts'
import type { CircuitBreaker } from '../lib/circuit-breaker.ts'
import { Component } from '../lib/component.ts'
import { LoadingCache } from '../lib/loading-cache.ts'
import type { MissLimiter } from '../lib/miss-limiter.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import { Coalesced, READ_INTERVAL_MS } from '../lib/share-result.ts'
import type { Parts } from '../parts.ts'
import { NO_EFFECTS } from '../store/store.ts'
import type { Certificate } from '../store/tables/certificates.ts'
import { certificateKeyContext } from './stored-keys.ts'
import type { TicketKeys } from './ticket-keys.ts'

interface CertificateSelectorOptions extends Pick<Parts, 'store' | 'clock' | 'log'> {
  breaker: CircuitBreaker
  missLimiter: MissLimiter
  secretBox: SecretBox
  tickets: TicketKeys
  siteDomain: string
  /** The name used for a client that sends no server name. */
  baseHost: string
  /** Certificate names of the service's own hosts; `*.{site_domain}` also covers that domain. */
  own: readonly string[]
  files: CertificateFiles | undefined
  perSite: boolean
  /** ALPN protocols in order of preference. */
  protocols: readonly string[]
  trustsProxies: boolean
}

/** A cached context; undefined when there is no certificate. */
interface CachedContext {
  context: SecureContext | undefined
  /** Of the ticket key in it. */
  generation: number
  notAfter: number
}

/** RFC 8737, 6.2. */
const ACME_PROTOCOL = 'acme-tls/1'

/** Forward-secret key exchange and authenticated ciphers (RFC 9325, 4.2). */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Maximum number of cached challenge certificates; each takes three milliseconds to create. */
const MAX_CACHED_CHALLENGES = 100

/** Measured with a leaf and one intermediate certificate (docs/performance.md). */
const CONTEXT_BYTES = 40 * 1024
const CACHE_BYTES = 32 * 2 ** 20

/** Stands for the certificate files; no host has this name. */
const STATIC_CERT_KEY = ''

/** Only active domains and the service's own names have a certificate. */
export class CertificateSelector extends Component<CertificateSelectorOptions> {
  readonly #cache = new LoadingCache<CachedContext>({
    load: (key) => this.#build(key),
    bytes: () => CONTEXT_BYTES,
    isNegative: ({ context }) => context === undefined,
    onEvict: ({ context }) => context && releaseContext(context),
    budget: new MemoryBudget(CACHE_BYTES),
    breaker: this.parts.breaker,
  })
  /** By name the last to expire, read for each handshake: a new challenge of a name replaces the one before. */
  readonly #pendingChallenges = new Coalesced(async () => {
    const { store, clock } = this.parts
    const stored = await store.read.acme.challenges('tls-alpn-01', clock())
    return new Map(stored.reverse().map((challenge) => [challenge.name, challenge]))
  }, READ_INTERVAL_MS)
  readonly #challenges = new Map<string, Promise<SelectedCertificate>>()
  /** Of the certificate files: outside the cache, whose loads tell the breaker that the store can be reached. */
  #static: (CachedContext & { context: SecureContext }) | undefined
  #hasWarned = false
  /** When the certificates of the service's own names expire, as of the last check. */
  readonly #available = new Map<string, number>()
  /** Own names with a failed last check. */
  readonly #undetermined = new Set<string>()

  /** Undefined when the name has no certificate. UNAVAILABLE when the store is needed and unreachable. */
  choose(
    hello: ClientHello,
    address: string,
  ): SelectedCertificate | undefined | Promise<SelectedCertificate | undefined> {
    const name = hello.serverName ?? this.parts.baseHost
    if (hello.protocols.includes(ACME_PROTOCOL)) return this.#selectChallenge(name)
    const key = this.#cacheKey(name)
    if (key === undefined) return undefined
    if (key === STATIC_CERT_KEY) {
      const { pair, validity } = this.parts.files!
      this.#static ??= this.#create(pair, key, validity.notAfter)
      return this.#select(this.#static, key)
    }
    const cached = this.#cache.peek(key)
    return cached ? this.#select(cached, key) : this.#selectCold(key, address)
  }

  /** Whether a name of the service had a certificate at the last check that has not expired. */
  hasCertificate(name: string): boolean {
    const { files, clock } = this.parts
    const key = this.#cacheKey(name)
    if (key === undefined) return false
    if (this.#undetermined.delete(key)) void this.refresh([key])
    const notAfter = key === STATIC_CERT_KEY ? files!.validity.notAfter : this.#available.get(key)
    return notAfter !== undefined && notAfter > clock()
  }

  /** Checks which own names have a certificate. Never rejects. */
  async refresh(names: readonly string[] = this.parts.own): Promise<void> {
    const own = names.filter((name) => this.parts.own.includes(name))
    // A handshake that needs the certificate reports the same error.
    const results = await Promise.allSettled(own.map((name) => this.#cache.get(name)))
    for (const [index, name] of own.entries()) {
      const result = results[index]!
      if (result.status === 'rejected') this.#undetermined.add(name)
      else if (result.value.context) this.#available.set(name, result.value.notAfter)
      else this.#available.delete(name)
    }
  }

  /** Without names, all of them. Resolves when the service's names are checked again. */
  invalidate(names: readonly string[] | undefined, effects = NO_EFFECTS): Promise<void> {
    const { missLimiter, perSite, siteDomain } = this.parts
    if (names === undefined) this.#cache.markStale()
    else {
      for (const name of names) {
        const effect = effects.get(name) ?? 'withdrawn'
        this.#cache.invalidate(name, effect)
        // The site may have ended. While the store is unreachable, its host keeps what it has.
        if (perSite && effect === 'withdrawn') this.#cache.invalidate(`${name}.${siteDomain}`, 'outdated')
      }
      missLimiter.addKnown(names)
    }
    return this.refresh(names)
  }

  invalidateFiles(): void {
    if (this.#static) releaseContext(this.#static.context)
    this.#static = undefined
  }

  /** The name under which a host's certificate is stored; undefined when the host cannot have one. */
  #cacheKey(name: string): string | undefined {
    const { files, own, siteDomain, perSite } = this.parts
    if (own.includes(name)) return name
    if (files?.covers(name)) return STATIC_CERT_KEY
    const wildcard = `*.${siteDomain}`
    const below = name.endsWith(`.${siteDomain}`)
    if (!below && name !== siteDomain) return name
    const label = name.slice(0, -siteDomain.length - 1)
    if (label.includes('.')) return undefined
    if (own.includes(wildcard)) return wildcard
    return perSite && below ? name : undefined
  }

  async #build(key: string): Promise<CachedContext> {
    const certificate = await this.#find(key)
    const pair = certificate && this.#decrypt(certificate)
    if (!pair) return { context: undefined, generation: 0, notAfter: 0 }
    return this.#create(pair, key, certificate.notAfter ?? 0)
  }

  #create(pair: KeyPair, key: string, notAfter: number): CachedContext & { context: SecureContext } {
    const { generation } = this.parts.tickets.current
    return { context: this.#createContext(pair, key), generation, notAfter }
  }

  /** Only names that are served have one, in one statement. */
  #find(name: string): Promise<Certificate | undefined> {
    const { store, own, siteDomain } = this.parts
    const { certificates } = store.read
    if (own.includes(name)) return certificates.find(name)
    if (!name.endsWith(`.${siteDomain}`)) return certificates.findOfDomain(name)
    return certificates.findOfSite(name, name.slice(0, -siteDomain.length - 1))
  }

  #decrypt({ name, chain, key }: Certificate): KeyPair | undefined {
    if (chain === null || key === null) return undefined
    const opened = this.parts.secretBox.decrypt(key, certificateKeyContext(name))
    if (opened !== undefined) return { chain, key: opened }
    if (!this.#hasWarned)
      this.parts.log.error(
        'cannot decrypt the key of a certificate: SLIPWAY_SECRET differs from the one that encrypted it',
        { name },
      )
    this.#hasWarned = true
    return undefined
  }

  async #selectCold(key: string, address: string): Promise<SelectedCertificate | undefined> {
    const load = () => this.#cache.get(key)
    const isMiss = ({ context }: CachedContext) => context === undefined
    const made = this.#cache.isLoading(key)
      ? await load()
      : await this.parts.missLimiter.run(key, address, load, isMiss)
    return this.#select(made, key)
  }

  async #selectChallenge(name: string): Promise<SelectedCertificate | undefined> {
    const challenge = (await this.#pendingChallenges.run()).get(name)
    if (!challenge) return undefined
    const cacheKey = `${name} ${challenge.keyAuthorization}`
    const known = this.#challenges.get(cacheKey)
    if (known) return known
    const proof = this.#buildChallenge(name, challenge.keyAuthorization)
    this.#challenges.set(cacheKey, proof)
    proof.catch(() => this.#challenges.delete(cacheKey))
    if (this.#challenges.size > MAX_CACHED_CHALLENGES)
      this.#challenges.delete(this.#challenges.keys().next().value!)
    return proof
  }

  async #buildChallenge(name: string, keyAuthorization: string): Promise<SelectedCertificate> {
    const { certificate, key } = await challengeCertificate(name, keyAuthorization)
    return {
      context: this.#createContext({ chain: certificate, key }, ACME_PROTOCOL),
      protocols: [ACME_PROTOCOL],
    }
  }

  /** The session id context binds tickets to the certificate they were issued with. */
  #createContext({ chain, key }: KeyPair, cacheKey: string): SecureContext {
    return createSecureContext({
      cert: chain,
      key,
      minVersion: 'TLSv1.2',
      ciphers: CIPHERS,
      honorCipherOrder: true,
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      ticketKeys: this.parts.tickets.current.key,
      sessionIdContext: createHash('sha256').update(cacheKey).digest('base64url').slice(0, 32),
    })
  }

  /** Reuses the cached certificate and replaces only its ticket keys. */
  #select(made: CachedContext, key: string): SelectedCertificate | undefined {
    const { protocols, tickets, trustsProxies } = this.parts
    const { context } = made
    if (context === undefined) return undefined
    const current = tickets.current
    if (made.generation !== current.generation) {
      // The internal method with which Node renews the ticket keys of a server's context.
      ;(context.context as { setTicketKeys(keys: Buffer): void }).setTicketKeys(current.key)
      made.generation = current.generation
    }
    // A proxy may send requests for any host over one connection (RFC 9110, 7.4).
    if (trustsProxies) return { context, protocols }
    return { context, protocols, covers: (host) => this.#cacheKey(host) === key }
  }
}

/**
 * Frees a context's memory once no handshake can start with it; handshakes in progress keep what they need.
 * V8 does not account for these bytes: left to garbage collection, ten thousand contexts took 370 MB.
 */
function releaseContext({ context }: SecureContext): void {
  const native = context as { close?(): void }
  setImmediate(() => native.close?.())
}
