import { promises } from 'node:dns'
import { addAbortListener } from 'node:events'
import { DEADLINES } from '../../lib/deadlines.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import type { CaaRecord, Dns, DnsRecords, LookupResult } from './dns.ts'

interface ResolverOptions {
  /** In the form of `Resolver.setServers` of node:dns; empty for those of the system. */
  servers: readonly string[]
  /** For each call, at most 10,000. */
  timeoutMs?: number
}

/** Looks up records until the signal aborts; never throws. */
type LookUp = <T>(name: string, type: RecordType, signal: AbortSignal) => Promise<LookupResult<T>>
type RecordType = 'A' | 'AAAA' | 'CNAME' | 'TXT' | 'CAA'

/** As in resolv.conf(5). */
const MAX_SERVERS = 3
const TRIES_PER_SERVER = 2

/** For all checks, so that slow servers of one name delay no others; more would take sockets and memory. */
const MAX_CONCURRENT_LOOKUPS = 256
const MAX_QUEUED_LOOKUPS = 10_000

const MAX_CNAME_HOPS = 8
const MAX_VALUES = 100

/** Codes of node:dns for a negative result, for a time-out, and for a name that cannot exist. */
const NO_RECORD_CODES = ['ENOTFOUND', 'ENODATA']
const TIMEOUT_CODES = ['ETIMEOUT', 'ECANCELLED']
const INVALID_NAME_CODE = 'EBADNAME'

/** Queries the configured resolvers, whose responses are trusted; a name's own servers are not. */
export function resolverDns({ servers, timeoutMs = DEADLINES.dns }: ResolverOptions): Dns {
  const semaphore = new Semaphore({ running: MAX_CONCURRENT_LOOKUPS, waiting: MAX_QUEUED_LOOKUPS })
  // A queued lookup has its slot in time: those ahead of it end by a deadline that is not later.
  const lookUp: LookUp = async <T>(name: string, type: RecordType, signal: AbortSignal) => {
    try {
      return await semaphore.run(() => query<T>(name, type, { servers, timeoutMs, signal }))
    } catch {
      return { records: [], error: 'too many DNS lookups are in progress' }
    }
  }
  return {
    cname: (name) => resolveCname(name, lookUp, AbortSignal.timeout(timeoutMs)),
    addresses: (name) => resolveAddresses(name, lookUp, AbortSignal.timeout(timeoutMs)),
    txt: (name) => resolveTxt(name, lookUp, AbortSignal.timeout(timeoutMs)),
    caa: (name) => resolveCaa(name, lookUp, AbortSignal.timeout(timeoutMs)),
  }
}

async function resolveCname(name: string, lookUp: LookUp, signal: AbortSignal): Promise<DnsRecords> {
  const hops: string[] = []
  const seen = new Set([canonicalName(name)])
  for (let at = name; ; at = hops.at(-1)!) {
    const { records, error } = await lookUp<string>(at, 'CNAME', signal)
    const [next] = records.map(canonicalName)
    if (error !== undefined) return { values: hops, error }
    if (next === undefined) return { values: hops }
    if (seen.has(next)) return { values: hops, error: 'its CNAME records form a loop' }
    if (hops.length === MAX_CNAME_HOPS) {
      return { values: hops, error: `its chain of CNAME records is longer than ${MAX_CNAME_HOPS}` }
    }
    seen.add(next)
    hops.push(next)
  }
}

async function resolveAddresses(name: string, lookUp: LookUp, signal: AbortSignal): Promise<DnsRecords> {
  const results = await Promise.all([lookUp<string>(name, 'A', signal), lookUp<string>(name, 'AAAA', signal)])
  const values = [...new Set(results.flatMap(({ records }) => records))].sort()
  return limitValues(values, 'addresses', results)
}

async function resolveTxt(name: string, lookUp: LookUp, signal: AbortSignal): Promise<DnsRecords> {
  const result = await lookUp<string[]>(name, 'TXT', signal)
  const values = result.records.map((strings) => toPrintable(strings.join('')))
  return limitValues(values, 'TXT records', [result])
}

async function resolveCaa(
  name: string,
  lookUp: LookUp,
  signal: AbortSignal,
): Promise<LookupResult<CaaRecord>> {
  const { records, error } = await lookUp<Record<string, unknown>>(name, 'CAA', signal)
  const tooMany = records.length > MAX_VALUES ? `it has more than ${MAX_VALUES} CAA records` : undefined
  const problem = error ?? tooMany
  // Node returns the tag as a name of a field, and since version 23 also the type.
  const found = records.slice(0, MAX_VALUES).flatMap(({ critical, type: _, ...property }) =>
    Object.entries(property).map(([tag, value]): CaaRecord => {
      return { critical: Number(critical) >= 128, tag: tag.toLowerCase(), value: String(value) }
    }),
  )
  return { records: found, ...(problem === undefined ? {} : { error: problem }) }
}

function limitValues(
  values: readonly string[],
  noun: string,
  results: readonly LookupResult<unknown>[],
): DnsRecords {
  const tooMany = values.length > MAX_VALUES ? `it has more than ${MAX_VALUES} ${noun}` : undefined
  const error = results.find((one) => one.error !== undefined)?.error ?? tooMany
  return { values: values.slice(0, MAX_VALUES), ...(error === undefined ? {} : { error }) }
}

/**
 * A resolver for each query caches nothing and sends from a port of its own. It tries the next server after
 * silence; after a failure response, such as SERVFAIL, the query is repeated without the first server.
 */
async function query<T>(
  name: string,
  type: RecordType,
  { servers, timeoutMs, signal }: Required<ResolverOptions> & { signal: AbortSignal },
): Promise<LookupResult<T>> {
  if (!NAME.test(name)) return { records: [], error: formatDnsError(INVALID_NAME_CODE, name) }
  const all = (servers.length > 0 ? servers : new promises.Resolver().getServers()).slice(0, MAX_SERVERS)
  // The second try of a server has twice the time of the first.
  const timeout = Math.ceil(timeoutMs / (3 * all.length))
  let code = 'ETIMEOUT'
  for (let first = 0; first < all.length && !signal.aborted; first++) {
    const resolver = new promises.Resolver({ timeout, tries: TRIES_PER_SERVER })
    resolver.setServers(all.slice(first))
    using _ = addAbortListener(signal, () => resolver.cancel())
    try {
      return { records: (await resolver.resolve(name, type)) as T[] }
    } catch (error) {
      code = (error as NodeJS.ErrnoException).code ?? 'EBADRESP'
    }
    if (NO_RECORD_CODES.includes(code)) return { records: [] }
    if (TIMEOUT_CODES.includes(code)) break
  }
  return { records: [], error: formatDnsError(code, name) }
}

function canonicalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Removes bytes that no verification token contains and that neither a database nor a terminal accepts. */
function toPrintable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, '\ufffd')
}

/** Printable ASCII of at most 253 characters (RFC 1035, 2.3.4); c-ares checks the rest. */
const NAME = /^[!-~]{1,253}$/

function formatDnsError(code: string, name: string): string {
  switch (code) {
    case 'ETIMEOUT':
    case 'ECANCELLED':
      return `the DNS lookup of ${sanitizeDnsName(name)} timed out`
    case 'ESERVFAIL':
      return `the DNS servers of ${sanitizeDnsName(name)} fail or do not respond`
    case 'EREFUSED':
      return `the DNS server refused the lookup of ${sanitizeDnsName(name)}`
    case 'ECONNREFUSED':
      return 'no DNS server is reachable'
    case INVALID_NAME_CODE:
      return `${sanitizeDnsName(name)} is not a valid DNS name`
    default:
      return `the DNS response for ${sanitizeDnsName(name)} is invalid`
  }
}

/** Names may come from DNS: the owner of an alias chooses its target. */
function sanitizeDnsName(name: string): string {
  const printable = name.replaceAll(/[^!-~]/g, '?')
  return printable.length > 100 ? `${printable.slice(0, 100)}…` : printable
}
