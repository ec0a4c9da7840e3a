import type { Dns, DnsRecords } from './dns.ts'
import { DnsClient, type LookupResult } from './dns-client.ts'

interface ResolverOptions {
  /** Addresses in the form of `Resolver.setServers` of node:dns; empty for those of the system. */
  servers: readonly string[]
  /** Milliseconds for each call, at most 10,000. */
  timeoutMs?: number
}

/** Below the ten seconds of the contract by the delay of a busy event loop. */
const LOOKUP_TIMEOUT_MS = 9000

const MAX_CNAME_HOPS = 8
const MAX_VALUES = 100

/** Queries trusted resolvers: a name's own servers may lie about it, the resolvers are believed. */
export function resolverDns({ servers, timeoutMs = LOOKUP_TIMEOUT_MS }: ResolverOptions): Dns {
  const client = new DnsClient({ servers, timeoutMs })
  return {
    cname: (name) => resolveCname(client, name),
    addresses: (name) => resolveAddresses(client, name),
    txt: (name) => resolveTxt(client, name),
  }
}

async function resolveCname(questions: DnsClient, name: string): Promise<DnsRecords> {
  const deadline = questions.deadline()
  const hops: string[] = []
  const seen = new Set([canonicalName(name)])
  for (let at = name; ; at = hops.at(-1)!) {
    const { records, error } = await questions.lookUp<string>(at, 'CNAME', deadline)
    const [next] = records.map(canonicalName)
    if (error !== undefined) return { values: hops, error }
    if (next === undefined) return { values: hops }
    if (seen.has(next)) return { values: hops, error: 'its CNAME records lead in a circle' }
    if (hops.length === MAX_CNAME_HOPS) {
      return { values: hops, error: `its CNAME records lead through more than ${MAX_CNAME_HOPS} names` }
    }
    seen.add(next)
    hops.push(next)
  }
}

async function resolveAddresses(questions: DnsClient, name: string): Promise<DnsRecords> {
  const deadline = questions.deadline()
  const heard = await Promise.all([
    questions.lookUp<string>(name, 'A', deadline),
    questions.lookUp<string>(name, 'AAAA', deadline),
  ])
  const values = [...new Set(heard.flatMap(({ records }) => records))].sort()
  return limitValues(values, 'addresses', heard)
}

async function resolveTxt(questions: DnsClient, name: string): Promise<DnsRecords> {
  const heard = await questions.lookUp<string[]>(name, 'TXT', questions.deadline())
  const values = heard.records.map((strings) => toPrintable(strings.join('')))
  return limitValues(values, 'TXT records', [heard])
}

function limitValues(
  values: readonly string[],
  noun: string,
  heard: readonly LookupResult<unknown>[],
): DnsRecords {
  const tooMany = values.length > MAX_VALUES ? `it has more than ${MAX_VALUES} ${noun}` : undefined
  const error = heard.find((one) => one.error !== undefined)?.error ?? tooMany
  return { values: values.slice(0, MAX_VALUES), ...(error === undefined ? {} : { error }) }
}

function canonicalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Removes bytes that no verification token contains and that neither a database nor a terminal accepts. */
function toPrintable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, '\ufffd')
}
