import { Resolver } from 'node:dns'
import { performance } from 'node:perf_hooks'
import { Turns } from '../limits/turns.ts'

export type RecordType = 'A' | 'AAAA' | 'CNAME' | 'TXT'

/** The records of one type at a name, as c-ares writes them; TXT as lists of strings. */
export interface Heard<T> {
  records: readonly T[]
  /** As in `Answered`. */
  trouble?: string
}

export interface QuestionsOptions {
  /** Addresses as `Resolver.setServers` takes them; none for those of the system. */
  servers: readonly string[]
  /** Milliseconds for all that one caller wants to know. */
  patience: number
}

interface Attempt {
  records?: unknown[]
  /** A code of node:dns. */
  code?: string
}

/**
 * Room for all the looks that the service ever has under way, so that nobody's question waits for those of names whose
 * servers are slow; more would not fit into the sockets and the memory that other work needs.
 */
const MOST_AT_ONCE = 256
const MOST_WAITING = 10_000

/** More servers than resolv.conf(5) takes are not asked. */
const MOST_SERVERS = 3

/** Codes of node:dns that say that there is nothing. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA'])
const LATE = new Set(['ETIMEOUT', 'ECANCELLED'])

/**
 * Asks DNS servers one question after the other, each with a resolver of its own: nothing is kept between questions, and no
 * question waits for another's. One that is late is asked twice, one that fails once; then it is the next one's turn.
 */
export class Questions {
  readonly #servers: readonly string[]
  readonly #patience: number
  readonly #turns = new Turns({ running: MOST_AT_ONCE, waiting: MOST_WAITING })

  constructor({ servers, patience }: QuestionsOptions) {
    this.#servers = servers
    this.#patience = patience
  }

  /** When whoever begins to ask now wants to have heard everything, by the clock of `performance`. */
  deadline(): number {
    return performance.now() + this.#patience
  }

  /** Never throws, and answers by the deadline. */
  async ask<T>(name: string, type: RecordType, deadline: number): Promise<Heard<T>> {
    if (!isName(name)) return { records: [], trouble: `${shown(name)} is not a name that DNS can have` }
    const late = Promise.withResolvers<Heard<T>>()
    const timer = setTimeout(
      () => late.resolve({ records: [], trouble: troubleOf('ETIMEOUT', name) }),
      deadline - performance.now(),
    )
    try {
      return await Promise.race([late.promise, this.#turns.take(() => this.#askAll<T>(name, type, deadline))])
    } catch {
      return { records: [], trouble: 'too many names are being looked up at once' }
    } finally {
      clearTimeout(timer)
    }
  }

  async #askAll<T>(name: string, type: RecordType, deadline: number): Promise<Heard<T>> {
    const servers = (this.#servers.length > 0 ? this.#servers : new Resolver().getServers()).slice(
      0,
      MOST_SERVERS,
    )
    const share = this.#patience / (2 * Math.max(1, servers.length))
    const failed = new Set<string>()
    let code = servers.length > 0 ? 'ETIMEOUT' : 'ECONNREFUSED'
    for (const server of [...servers, ...servers]) {
      if (failed.has(server)) continue
      const left = deadline - performance.now()
      if (left <= 0) break
      const attempt = await askOne(server, name, type, Math.ceil(Math.min(share, left)))
      if (attempt.records) return { records: attempt.records as T[] }
      code = attempt.code!
      if (NOTHING.has(code)) return { records: [] }
      if (!LATE.has(code)) failed.add(server)
    }
    return { records: [], trouble: troubleOf(code, name) }
  }
}

/** What one server says within so many milliseconds. */
function askOne(server: string, name: string, type: RecordType, milliseconds: number): Promise<Attempt> {
  return new Promise((resolve) => {
    const resolver = new Resolver({ timeout: milliseconds, tries: 1 })
    // The resolver's own time is for each packet; this one is for everything, however slowly it comes.
    const timer = setTimeout(() => {
      resolver.cancel()
      resolve({ code: 'ETIMEOUT' })
    }, milliseconds)
    resolver.setServers([server])
    resolver.resolve(name, type, (error, records) => {
      clearTimeout(timer)
      resolve(error ? { code: error.code ?? 'EBADRESP' } : { records: records as unknown[] })
    })
  })
}

/** Printable ASCII of at most 253 characters (RFC 1035, 2.3.4); what else is wrong with a name c-ares says. */
function isName(name: string): boolean {
  return /^[!-~]{1,253}$/.test(name)
}

function troubleOf(code: string, name: string): string {
  switch (code) {
    case 'ETIMEOUT':
    case 'ECANCELLED':
      return `DNS does not answer about ${shown(name)} in time`
    case 'ESERVFAIL':
      return `the DNS servers of ${shown(name)} fail or do not answer`
    case 'EREFUSED':
      return `DNS refuses to answer about ${shown(name)}`
    case 'ECONNREFUSED':
      return 'no DNS server can be reached to ask'
    case 'EBADNAME':
      return `${shown(name)} is not a name that DNS can have`
    default:
      return `DNS gives an answer about ${shown(name)} that makes no sense`
  }
}

/** Names come from DNS, too: where an alias leads is anybody's choice. */
function shown(name: string): string {
  const printable = name.replaceAll(/[^!-~]/g, '?')
  return printable.length > 100 ? `${printable.slice(0, 100)}…` : printable
}
