import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Addresses } from '../address.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { Failure } from '../failure.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/store.ts'
import { type Answer, answerTo, type Content } from './answer.ts'
import { Bodies, streamBody } from './bodies.ts'
import { Hosts } from './host.ts'
import { Budget } from './kept.ts'
import {
  BROKEN,
  EXPIRED,
  MALFORMED,
  NO_SITE,
  NO_VERSION,
  NOT_ALLOWED,
  NOT_PUBLISHED,
  PASSWORD_PATH,
  unavailable,
} from './pages.ts'
import { PasswordGate } from './password-gate.ts'
import { type Place, Places, type Site } from './places.ts'
import { resolve } from './resolve.ts'
import { readTarget, type Target } from './target.ts'

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
  addressOf: (request: IncomingMessage) => string
  /** Bytes that sites and files may take in memory. */
  cacheBytes?: number
}

const CACHE_BYTES = 256 * 2 ** 20

/** Bytes of a body without use that are read and dropped, so that the connection can go on. */
const MOST_DROPPED = 2 ** 20

/** One request and what is to become of it. */
interface Visit {
  request: IncomingMessage
  response: ServerResponse
  target: Target
}

/** A file that is being read for an answer. */
interface Reading {
  place: Place
  answer: Answer
  content: Content
}

/**
 * Door 2, for visitors: host → site → version → path → bytes (contract, "Serving"). What is in memory is answered
 * at once, without the store and without a promise; only what is cold waits.
 */
export class Edge {
  readonly #clock: () => number
  readonly #log: Log
  readonly #hosts: Hosts
  readonly #places: Places
  readonly #bodies: Bodies
  readonly #gate: PasswordGate

  constructor({ store, blobs, addresses, clock, log, secret, addressOf, cacheBytes }: EdgeOptions) {
    const budget = new Budget(cacheBytes ?? CACHE_BYTES)
    this.#clock = clock
    this.#log = log
    this.#hosts = new Hosts(addresses)
    this.#places = new Places({ store, clock, budget })
    this.#bodies = new Bodies({ blobs, budget })
    const secure = addresses.base.startsWith('https:')
    this.#gate = new PasswordGate({ store, clock, secret, secure, addressOf })
  }

  /** Whether a Host header belongs to sites rather than to the API. */
  knows(host: string | undefined): boolean {
    return this.#hosts.read(host).kind !== 'service'
  }

  /** These sites changed; undefined when anything may have. For `store.onChange`. */
  forget(slugs: readonly string[] | undefined): void {
    this.#places.forget(slugs)
  }

  /** Answers a request of a visitor. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const target = readTarget(request)
    const visit = { request, response, target: target ?? { path: '/', query: '' } }
    try {
      if (!target) send(visit, MALFORMED)
      else if (!isAllowed(visit)) send(visit, NOT_ALLOWED)
      else this.#find(visit)
    } catch (error) {
      this.#fail(visit, error)
    }
  }

  #find(visit: Visit): void {
    const host = this.#hosts.read(visit.request.headers.host)
    const place = this.#places.warm(host)
    if (place) this.#enter(visit, place)
    else this.#wait(visit, this.#places.find(host), (found) => this.#enter(visit, found))
  }

  #enter(visit: Visit, place: Place): void {
    const answer = this.#answer(visit, place)
    if (answer instanceof Promise) this.#wait(visit, answer, (later) => send(visit, later))
    else this.#deliver(visit, place, answer)
  }

  #answer({ request, target }: Visit, place: Place): Answer | Promise<Answer> {
    if (place.kind === 'nothing') return NO_SITE
    if (place.kind === 'gone' || this.#isOver(place)) return EXPIRED
    if (request.method === 'POST') return this.#gate.guess(request, place)
    if (!this.#gate.admits(place, request.headers.cookie)) return this.#gate.ask(target)
    if (!place.table) return place.preview ? NO_VERSION : NOT_PUBLISHED
    return answerTo(resolve(place.table, target.path), target, request.headers)
  }

  #deliver(visit: Visit, place: Place, answer: Answer): void {
    const { content } = answer
    const bytes = content && this.#bodies.warm(content)
    if (!content || bytes || visit.request.method === 'HEAD') send(visit, answer, bytes)
    else
      this.#wait(visit, this.#open(visit, content), (body) =>
        this.#read(visit, { place, answer, content }, body),
      )
  }

  /** Requests may come all at once on one connection; their files are opened one after another, as they are sent. */
  async #open({ response }: Visit, content: Content): Promise<Buffer | Readable | undefined> {
    if (!response.socket && !response.destroyed) await once(response, 'socket')
    return this.#bodies.open(content)
  }

  #read(visit: Visit, { place, answer, content }: Reading, body: Buffer | Readable | undefined): void {
    const damaged = (error: unknown) => {
      const slug = place.kind === 'site' ? place.slug : undefined
      this.#log.error('a published file cannot be read', {
        slug,
        path: content.path,
        hash: content.hash,
        error,
      })
    }
    if (body === undefined) {
      damaged(new Error('the blob is missing or has another length'))
      send(visit, BROKEN)
    } else if (Buffer.isBuffer(body)) send(visit, answer, body)
    else {
      visit.response.writeHead(answer.status, headersFor(visit.request, answer))
      streamBody(body, visit.response, { size: content.size, failed: damaged })
    }
  }

  #isOver({ expiresAt }: Site): boolean {
    return expiresAt !== null && this.#clock() >= expiresAt
  }

  #wait<T>(visit: Visit, promise: Promise<T>, then: (value: T) => void): void {
    promise.then(then).catch((error: unknown) => this.#fail(visit, error))
  }

  #fail(visit: Visit, error: unknown): void {
    const { request, response } = visit
    if (response.destroyed || (request.destroyed && !request.complete)) return
    const away = error instanceof Failure
    this.#log[away ? 'warn' : 'error']('a visit failed', {
      host: request.headers.host,
      path: visit.target.path,
      error,
    })
    if (response.headersSent) return void response.destroy()
    send(visit, away ? unavailable(error.retryAfterSeconds ?? 5) : BROKEN)
  }
}

function isAllowed({ request: { method }, target }: Visit): boolean {
  return method === 'GET' || method === 'HEAD' || (method === 'POST' && target.path === PASSWORD_PATH)
}

function send({ request, response }: Visit, answer: Answer, body = answer.body): void {
  response.writeHead(answer.status, headersFor(request, answer))
  if (body && request.method !== 'HEAD') response.end(body)
  else response.end()
}

/** A long body that nobody reads ends the connection: it is not ours to take in. */
function headersFor(request: IncomingMessage, { headers }: Answer): string[] {
  const lines = headers as string[]
  return !request.complete && hasLongBody(request) ? [...lines, 'Connection', 'close'] : lines
}

function hasLongBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > MOST_DROPPED
}
