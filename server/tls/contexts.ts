import { constants, createHash } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Log } from '../log.ts'
import { Budget } from '../memory/kept.ts'
import { Remembered } from '../memory/remembered.ts'
import type { CertificateRow } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { challengeCertificate } from './acme/challenge-certificate.ts'
import type { CertificateFiles, KeyPair } from './certificate-files.ts'
import type { ClientHello } from './client-hello.ts'
import type { Seal } from './seal.ts'
import type { TicketKeys } from './ticket-keys.ts'

/** What a handshake is done with. */
export interface Choice {
  context: SecureContext
  protocols: readonly string[]
}

interface ContextsOptions {
  store: Store
  seal: Seal
  clock: () => number
  tickets: TicketKeys
  siteDomain: string
  /** What a client that names no host gets. */
  baseHost: string
  /** Names of rows that are for the service's own hosts; `*.{site_domain}` is for that domain too. */
  own: readonly string[]
  files: CertificateFiles | undefined
  log: Log
}

/** A context as it is remembered; undefined when there is no certificate. */
interface Made {
  context: SecureContext | undefined
  /** Of the ticket keys in it. */
  period: number
}

/** What Node itself calls to renew the keys of a server's own context. */
interface WithTicketKeys {
  setTicketKeys(keys: Buffer): void
}

/** What is spoken over TLS, the preferred one first. */
const SPOKEN = ['h2', 'http/1.1']

/** RFC 8737, 6.2. */
const CHALLENGE = 'acme-tls/1'

/** Key exchange that keeps what was said secret from who learns the key later, and authenticated ciphers (RFC 9325, 4.2). */
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

/** Proofs that are kept for whoever looks again: each takes three milliseconds to make. */
const MOST_PROOFS = 100

/** A context takes this many bytes, measured with a leaf and one certificate above it (docs/performance.md). */
const BYTES = 40 * 1024
const MOST_BYTES = 32 * 2 ** 20

/** Under the name that no host has. */
const FILES = ''

/**
 * Which certificate a name gets: from memory, else from the store. Only names that are active domains or the service's own
 * get one.
 */
export class Contexts {
  readonly #options: ContextsOptions
  readonly #made: Remembered<Made>
  /** By name and what is proven. */
  readonly #proofs = new Map<string, Promise<Choice>>()
  #hasComplained = false
  /** Which of the service's own names had a certificate when that was last known. */
  readonly #ready = new Set<string>()
  /** Which of them could not be looked for. */
  readonly #unknown = new Set<string>()

  constructor(options: ContextsOptions) {
    this.#options = options
    this.#made = new Remembered({
      ask: (key) => this.#make(key),
      bytes: () => BYTES,
      nothing: ({ context }) => context === undefined,
      dropped: ({ context }) => context && closeSoon(context),
      budget: new Budget(MOST_BYTES),
      clock: options.clock,
    })
  }

  /** Undefined when the name has no certificate here. UNAVAILABLE when the store has to be asked and is away. */
  choose(hello: ClientHello): Choice | undefined | Promise<Choice | undefined> {
    const name = hello.serverName ?? this.#options.baseHost
    if (hello.protocols.includes(CHALLENGE)) return this.#challenged(name)
    const key = this.#keyOf(name)
    if (key === undefined) return undefined
    const warm = this.#made.warm(key)
    return warm ? this.#choiceOf(warm) : this.#made.get(key).then((made) => this.#choiceOf(made))
  }

  /** Whether the certificate of one of the service's own names is at hand, as far as is known. */
  isReady(name: string): boolean {
    const key = this.#keyOf(name)
    if (key === FILES) return true
    if (key !== undefined && this.#unknown.delete(key)) void this.look([key])
    return key !== undefined && this.#ready.has(key)
  }

  /** Looks which of the service's own names have a certificate by now. Never rejects. */
  async look(names: readonly string[] = this.#options.own): Promise<void> {
    const own = names.filter((name) => this.#options.own.includes(name))
    // Whoever needs the certificate gets the failure too.
    const looks = await Promise.allSettled(own.map((name) => this.#made.get(name)))
    for (const [index, name] of own.entries()) {
      const look = looks[index]!
      if (look.status === 'rejected') this.#unknown.add(name)
      else if (look.value.context) this.#ready.add(name)
      else this.#ready.delete(name)
    }
  }

  /** The certificates of these names may be others now; without names, all of them. Resolves when that is known of its own. */
  forget(names: readonly string[] | undefined): Promise<void> {
    if (names === undefined) this.#made.doubt()
    else for (const name of names) this.#made.forget(name)
    return this.look(names)
  }

  forgetFiles(): void {
    this.#made.forget(FILES)
  }

  /** Under which name the certificate of a host is kept; undefined when the host can have none. */
  #keyOf(name: string): string | undefined {
    const { files, own, siteDomain } = this.#options
    if (own.includes(name)) return name
    if (files?.covers(name)) return FILES
    const wildcard = `*.${siteDomain}`
    const below = name.endsWith(`.${siteDomain}`)
    if (!below && name !== siteDomain) return name
    const label = name.slice(0, -siteDomain.length - 1)
    return own.includes(wildcard) && !label.includes('.') ? wildcard : undefined
  }

  async #make(key: string): Promise<Made> {
    const { files, tickets } = this.#options
    const { period } = tickets
    const pair = key === FILES ? files?.pair : await this.#stored(key)
    if (!pair) return { context: undefined, period }
    return { context: this.#contextOf(pair, key), period }
  }

  async #stored(name: string): Promise<KeyPair | undefined> {
    const { store, own } = this.#options
    if (!own.includes(name) && !(await store.read.domains.active(name))) return undefined
    const row = await store.read.certificates.find(name)
    return row && this.#opened(row)
  }

  #opened({ name, chain, key }: CertificateRow): KeyPair | undefined {
    if (chain === null || key === null) return undefined
    const opened = this.#options.seal.open(key, `certificate ${name}`)
    if (opened !== undefined) return { chain, key: opened }
    if (!this.#hasComplained)
      this.#options.log.error(
        'the key of a certificate cannot be opened: SLIPWAY_SECRET is not the one that it was kept with',
        { name },
      )
    this.#hasComplained = true
    return undefined
  }

  async #challenged(name: string): Promise<Choice | undefined> {
    const { store, clock } = this.#options
    const [row] = await store.read.authorities.challenge('tls-alpn-01', name, clock())
    if (!row) return undefined
    const about = `${name} ${row.key_authorization}`
    const known = this.#proofs.get(about)
    if (known) return known
    const proof = this.#proof(name, row.key_authorization)
    this.#proofs.set(about, proof)
    proof.catch(() => this.#proofs.delete(about))
    if (this.#proofs.size > MOST_PROOFS) this.#proofs.delete(this.#proofs.keys().next().value!)
    return proof
  }

  async #proof(name: string, keyAuthorization: string): Promise<Choice> {
    const { certificate, key } = await challengeCertificate(name, keyAuthorization)
    return { context: this.#contextOf({ chain: certificate, key }, CHALLENGE), protocols: [CHALLENGE] }
  }

  /** Tickets are taken back for the certificate only that they were given with. */
  #contextOf({ chain, key }: KeyPair, about: string): SecureContext {
    return createSecureContext({
      cert: chain,
      key,
      minVersion: 'TLSv1.2',
      ciphers: CIPHERS,
      honorCipherOrder: true,
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      ticketKeys: this.#options.tickets.keys,
      sessionIdContext: createHash('sha256').update(about).digest('base64url').slice(0, 32),
    })
  }

  /** Without asking the store for what is the same but for the keys of its tickets. */
  #choiceOf(made: Made): Choice | undefined {
    const { tickets } = this.#options
    const { context, period } = made
    if (context === undefined) return undefined
    if (period !== tickets.period) {
      ;(context.context as WithTicketKeys).setTicketKeys(tickets.keys)
      made.period = tickets.period
    }
    return { context, protocols: SPOKEN }
  }
}

/**
 * Gives the memory of a context back once nobody can begin a handshake with it any more; handshakes that have begun keep what
 * they need. V8 does not see these bytes: left to its collector, ten thousand contexts took 370 MB.
 */
function closeSoon({ context }: SecureContext): void {
  const native = context as { close?(): void }
  setImmediate(() => native.close?.())
}
