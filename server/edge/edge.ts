import type { IncomingMessage } from 'node:http'
import type { Addresses } from '../address.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { Call } from '../caller-address.ts'
import { Failure } from '../failure.ts'
import type { Log } from '../log.ts'
import type { Budget } from '../memory/kept.ts'
import type { Store } from '../store/store.ts'
import type { Bookkeeping } from '../visits/bookkeeping.ts'
import { type Answer, answerTo, type Content } from './answer.ts'
import type { Asked } from './asked.ts'
import { challengeAnswer, isChallenge } from './challenge.ts'
import { Counting } from './counting.ts'
import { type Host, Hosts } from './host.ts'
import { Bodies } from './memory/bodies.ts'
import type { Pieces } from './memory/pieces.ts'
import { type Elsewhere, type Https, type Place, Places, type Site } from './memory/places.ts'
import {
  BROKEN,
  EXPIRED,
  MALFORMED,
  NO_PAGE,
  NO_SITE,
  NO_VERSION,
  NOT_PUBLISHED,
  OPTIONS,
  unavailable,
} from './pages/pages.ts'
import { PasswordGate } from './password/password-gate.ts'
import type { Target } from './target.ts'
import type { Visitor } from './visitor.ts'

interface EdgeOptions {
  store: Store
  blobs: Blobs
  addresses: Addresses
  /** Milliseconds since 1970. */
  clock: () => number
  log: Log
  /** Signs the cookies of sites with a password. */
  secret: string
  /** The address a visitor calls from, behind whatever proxies are trusted. */
  addressOf: (call: Call) => string
  /** What sites and files may take in memory. */
  budget: Budget
  /** HTTPS, when this process speaks it. */
  https?: Https | undefined
  /** Where visits are counted, when they are. */
  book?: Bookkeeping | undefined
}

/** An answer and the bytes of its body; without them the answer has none. */
export interface Delivery {
  answer: Answer
  body: Buffer | Pieces | undefined
}

/**
 * Door 2, for visitors: host → site → version → path → bytes (contract, "Serving"). What is in memory is answered
 * at once, without the store and without a promise; only what is cold waits. Nothing here throws or rejects: what goes
 * wrong is logged and has an answer too. The lanes beside this file bring the answers to the wire.
 */
export class Edge {
  readonly #store: Store
  readonly #clock: () => number
  readonly #log: Log
  readonly #hosts: Hosts
  readonly #places: Places
  readonly #bodies: Bodies
  readonly #gate: PasswordGate
  readonly #counting: Counting | undefined

  constructor({ store, blobs, addresses, clock, log, secret, addressOf, budget, https, book }: EdgeOptions) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#hosts = new Hosts(addresses)
    this.#places = new Places({ store, clock, budget, addresses, https })
    this.#bodies = new Bodies({ blobs, budget })
    // Behind a proxy that speaks HTTPS nothing comes here that is encrypted.
    const secure = addresses.base.startsWith('https:') && !https
    this.#gate = new PasswordGate({ store, clock, secret, secure, addressOf })
    const siteDomain = addresses.siteDomain.toLowerCase()
    this.#counting = book && new Counting({ book, addressOf, siteDomain })
  }

  /** Whether a Host header belongs to sites rather than to the API. */
  knows(host: string | undefined): boolean {
    return this.#hosts.read(host).kind !== 'service'
  }

  /**
   * Whether a host name in lower case may have a certificate of its own: the service itself or an active custom domain.
   * The hosts of sites are covered by one wildcard. UNAVAILABLE when it is not known and the store is away.
   */
  async mayHaveCertificate(name: string): Promise<boolean> {
    const host = this.#hosts.read(name)
    if (host.kind === 'service') return this.#hosts.isOwn(name)
    if (host.kind !== 'domain') return false
    const place = await this.#places.find(host, true)
    return place.kind === 'elsewhere' || (place.kind === 'site' && !this.#isOver(place))
  }

  /** These sites or domains changed; undefined when anything may have. For `store.onChange`. */
  forget(names: readonly string[] | undefined): void {
    this.#places.forget(names)
  }

  /**
   * What a GET or HEAD gets; a promise only when the store has to be asked, undefined when the host is not one of sites.
   */
  answer(asked: Asked): Answer | Promise<Answer> | undefined {
    asked.site = undefined
    try {
      if (isChallenge(asked.target.path)) return this.#challenged(asked)
      const host = this.#hosts.read(asked.host)
      if (host.kind === 'service') return undefined
      const place = this.#places.warm(host, asked.secure)
      return place ? this.#at(place, asked) : this.#visit(host, asked)
    } catch (error) {
      return this.#failed(asked, error)
    }
  }

  /** Counts what is sent to `visitor`, if it is a visit of a site. */
  count(asked: Asked, answer: Answer, visitor: Visitor): void {
    if (asked.site === undefined) return
    this.#counting!.count(asked, answer, visitor)
    asked.site = undefined
  }

  /** What a posted password gets. */
  async guess(asked: Asked, request: IncomingMessage): Promise<Answer> {
    try {
      const place = await this.#places.find(this.#hosts.read(asked.host), asked.secure)
      return this.#absent(place, asked) ?? (await this.#gate.guess(request, place as Site, asked.secure))
    } catch (error) {
      // Who went away before the form had come gets nothing, and nothing is wrong.
      if (request.destroyed && !request.complete) return MALFORMED
      return this.#failed(asked, error)
    }
  }

  /** What an OPTIONS gets, whatever the path: what the site's `_headers` say is what a preflight asks for. */
  async options(asked: Asked): Promise<Answer> {
    try {
      const place = await this.#places.find(this.#hosts.read(asked.host), asked.secure)
      const isOpen = place.kind === 'site' && !this.#isOver(place) && place.passwordHash === null
      return (isOpen && place.table?.headers?.on(OPTIONS, asked)) || OPTIONS
    } catch (error) {
      return this.#failed(asked, error)
    }
  }

  /** The bytes when they are in memory. */
  warm(content: Content): Buffer | undefined {
    return this.#bodies.warm(content)
  }

  /** An answer with its bytes, or another answer when they cannot be had. The caller has to close pieces. */
  async deliver(asked: Asked, answer: Answer): Promise<Delivery> {
    const { content } = answer
    if (!content) return { answer, body: answer.body }
    try {
      const body = await this.#bodies.open(content)
      if (body !== undefined) return { answer, body }
    } catch (error) {
      return whole(this.#failed(asked, error))
    }
    this.damaged(asked, content, new Error('the blob is missing or has another length'))
    return content.encoding ? this.#plainly(asked) : whole(BROKEN)
  }

  /** A published file could not be read to its end. */
  damaged({ host }: Asked, { path, hash, encoding }: Content, error: unknown): void {
    this.#log.error('a published file cannot be read', { host, path, hash, encoding, error })
  }

  #visit(host: Host, asked: Asked): Promise<Answer> {
    return this.#places
      .find(host, asked.secure)
      .then((found) => this.#at(found, asked))
      .catch((error: unknown) => this.#failed(asked, error))
  }

  /** What a CA looks for (RFC 8555, 8.3), on whatever host; without that, the site's own file; nobody is sent elsewhere. */
  async #challenged(asked: Asked): Promise<Answer> {
    const host = this.#hosts.read(asked.host)
    try {
      const body = await challengeAnswer(this.#store, asked, this.#clock())
      if (body) return body
    } catch (error) {
      this.#failed(asked, error)
    }
    return host.kind === 'service' ? NO_PAGE : this.#visit(host, { ...asked, secure: true })
  }

  #at(place: Place, asked: Asked): Answer {
    const absent = this.#absent(place, asked)
    if (absent) return absent
    const site = place as Site
    if (!this.#gate.admits(site, asked.headers.cookie)) return this.#gate.ask(asked.target)
    if (!site.table) return site.preview ? NO_VERSION : NOT_PUBLISHED
    const now = this.#clock()
    if (this.#counting && !site.preview) this.#counting.attend(asked, site, now)
    return answerTo(site.table, asked, now)
  }

  #absent(place: Place, { target }: Asked): Answer | undefined {
    if (place.kind === 'nothing') return NO_SITE
    if (place.kind === 'elsewhere') return isChallenge(target.path) ? NO_PAGE : sentTo(place, target)
    return place.kind === 'gone' || this.#isOver(place) ? EXPIRED : undefined
  }

  #isOver({ expiresAt }: Site): boolean {
    return expiresAt !== null && this.#clock() >= expiresAt
  }

  /** An encoding that is lost is not missed: the file itself is there. */
  async #plainly({ host, secure, target, headers }: Asked): Promise<Delivery> {
    const asked = { host, secure, target, headers: { ...headers, 'accept-encoding': 'identity' } }
    return this.deliver(asked, (await this.answer(asked)) ?? NO_SITE)
  }

  #failed({ host, target }: Asked, error: unknown): Answer {
    const away = error instanceof Failure
    this.#log[away ? 'warn' : 'error']('a visit failed', { host, path: target.path, error })
    return away ? unavailable(error.retryAfterSeconds ?? 5) : BROKEN
  }
}

function whole(answer: Answer): Delivery {
  return { answer, body: answer.body }
}

/**
 * The same path elsewhere. Browsers may remember for a while what leads to HTTPS; a redirect to another name that they
 * remembered could lead in a circle with one the other way round.
 */
function sentTo({ origin, sameName }: Elsewhere, { path, query }: Target): Answer {
  const location = `${origin}${path}${query}`
  const kept = sameName ? 'public, max-age=3600' : 'public, max-age=0, must-revalidate'
  return { status: 308, headers: ['Location', location, 'Content-Length', '0', 'Cache-Control', kept] }
}
