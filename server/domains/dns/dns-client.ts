import { Resolver } from 'node:dns'
import { performance } from 'node:perf_hooks'
import { Semaphore } from '../../lib/semaphore.ts'

export type RecordType = 'A' | 'AAAA' | 'CNAME' | 'TXT'

/** The records of one type at a name as c-ares returns them; TXT as lists of strings. */
export interface LookupResult<T> {
  records: readonly T[]
  /** As in `Answered`. */
  error?: string
}

export interface DnsClientOptions {
  /** Addresses in the form of `Resolver.setServers`; empty for those of the system. */
  servers: readonly string[]
  /** Milliseconds for all lookups of one call. */
  timeoutMs: number
}

interface LookupAttempt {
  records?: unknown[]
  /** An error code of node:dns. */
  code?: string
}

/**
 * Maximum number of concurrent lookups: enough for all checks of the service, so that slow servers of one
 * name do not delay the others; more would use the sockets and memory of other work.
 */
const MAX_CONCURRENT_LOOKUPS = 256
const MAX_QUEUED_LOOKUPS = 10_000

/** Maximum number of servers, as in resolv.conf(5). */
const MAX_SERVERS = 3

/** Codes of node:dns for a negative result. */
const NO_RECORD_CODES = new Set(['ENOTFOUND', 'ENODATA'])
const TIMEOUT_CODES = new Set(['ETIMEOUT', 'ECANCELLED'])

/**
 * Sends lookups to DNS servers, each with a resolver of its own: nothing is cached, and no lookup waits for
 * another one. A server that times out is tried twice, one that fails once; then the next server is tried.
 */
export class DnsClient {
  readonly #servers: readonly string[]
  readonly #timeoutMs: number
  readonly #semaphore = new Semaphore({ running: MAX_CONCURRENT_LOOKUPS, waiting: MAX_QUEUED_LOOKUPS })

  constructor({ servers, timeoutMs }: DnsClientOptions) {
    this.#servers = servers
    this.#timeoutMs = timeoutMs
  }

  /** Deadline of a call that begins now, by `performance.now()`. */
  deadline(): number {
    return performance.now() + this.#timeoutMs
  }

  /** Never throws, and returns by the deadline. */
  async lookUp<T>(name: string, type: RecordType, deadline: number): Promise<LookupResult<T>> {
    if (!isName(name))
      return { records: [], error: `${sanitizeDnsName(name)} is not a name that DNS can have` }
    const late = Promise.withResolvers<LookupResult<T>>()
    const timer = setTimeout(
      () => late.resolve({ records: [], error: formatDnsError('ETIMEOUT', name) }),
      deadline - performance.now(),
    )
    try {
      return await Promise.race([
        late.promise,
        this.#semaphore.run(() => this.#tryServers<T>(name, type, deadline)),
      ])
    } catch {
      return { records: [], error: 'too many names are being looked up at once' }
    } finally {
      clearTimeout(timer)
    }
  }

  async #tryServers<T>(name: string, type: RecordType, deadline: number): Promise<LookupResult<T>> {
    const servers = (this.#servers.length > 0 ? this.#servers : new Resolver().getServers()).slice(
      0,
      MAX_SERVERS,
    )
    const share = this.#timeoutMs / (2 * Math.max(1, servers.length))
    const failed = new Set<string>()
    let code = servers.length > 0 ? 'ETIMEOUT' : 'ECONNREFUSED'
    for (const server of [...servers, ...servers]) {
      if (failed.has(server)) continue
      const left = deadline - performance.now()
      if (left <= 0) break
      const attempt = await queryServer(server, name, type, Math.ceil(Math.min(share, left)))
      if (attempt.records) return { records: attempt.records as T[] }
      code = attempt.code!
      if (NO_RECORD_CODES.has(code)) return { records: [] }
      if (!TIMEOUT_CODES.has(code)) failed.add(server)
    }
    return { records: [], error: formatDnsError(code, name) }
  }
}

/** Queries one server with a time-out in milliseconds. */
function queryServer(
  server: string,
  name: string,
  type: RecordType,
  milliseconds: number,
): Promise<LookupAttempt> {
  return new Promise((resolve) => {
    const resolver = new Resolver({ timeout: milliseconds, tries: 1 })
    // The resolver's own time-out applies to each packet; this one bounds the whole lookup.
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

/** Printable ASCII of at most 253 characters (RFC 1035, 2.3.4); c-ares checks the rest. */
function isName(name: string): boolean {
  return /^[!-~]{1,253}$/.test(name)
}

function formatDnsError(code: string, name: string): string {
  switch (code) {
    case 'ETIMEOUT':
    case 'ECANCELLED':
      return `DNS does not answer about ${sanitizeDnsName(name)} in time`
    case 'ESERVFAIL':
      return `the DNS servers of ${sanitizeDnsName(name)} fail or do not answer`
    case 'EREFUSED':
      return `DNS refuses to answer about ${sanitizeDnsName(name)}`
    case 'ECONNREFUSED':
      return 'no DNS server can be reached to ask'
    case 'EBADNAME':
      return `${sanitizeDnsName(name)} is not a name that DNS can have`
    default:
      return `DNS gives an answer about ${sanitizeDnsName(name)} that makes no sense`
  }
}

/** Names may come from DNS: the owner of an alias chooses its target. */
function sanitizeDnsName(name: string): string {
  const printable = name.replaceAll(/[^!-~]/g, '?')
  return printable.length > 100 ? `${printable.slice(0, 100)}…` : printable
}
