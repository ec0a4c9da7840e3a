import type { DnsFindings, Domain } from '../store/tables/domains.ts'
import type { Dns, DnsRecords } from './dns/dns.ts'
import { proofEntry, proofName, splitName } from './name.ts'

/** Whether a record is proven; if not, a message with the found and expected values. */
export type CheckVerdict =
  | { is: 'there' }
  | { is: 'missing'; message: string }
  /** `isOurFault`: the lookup of the service's own name failed, not that of the domain. */
  | { is: 'unclear'; message: string; isOurFault: boolean }

export interface CheckResult {
  pointing: CheckVerdict
  text: CheckVerdict
  found: DnsFindings
  texts: readonly string[]
  /** Why the certificate authority may not certify the name. */
  caaProblem?: string | undefined
}

const MAX_STORED_VALUES = 20
const MAX_VALUE_LENGTH = 300
const MAX_LISTED_VALUES = 4

/** A longer value is not a verification token, and reading all of it would take too long. */
const MAX_PROOF_LENGTH = 255

const PRESENT: CheckVerdict = { is: 'there' }

/** Spec 5.3. Never throws; bounded like the DNS lookups. */
export async function checkRecords(
  dns: Dns,
  { domain, verificationToken }: Pick<Domain, 'domain' | 'verificationToken'>,
  proxyHost: string,
): Promise<CheckResult> {
  const [place, texts] = await Promise.all([
    checkPointing(dns, domain, proxyHost),
    dns.txt(proofName(domain)),
  ])
  const [pointing, text] = await Promise.all([
    place.found?.length === 0 ? locateAlias(dns, { domain, proxyHost }, place.verdict) : place.verdict,
    locateText(dns, { domain, verificationToken }, checkText(domain, verificationToken, texts)),
  ])
  const right = { pointing: toRight(pointing), text: toRight(text) }
  return {
    pointing,
    text,
    found: { pointing: place.found, texts: toFindings(texts), right },
    texts: texts.values,
  }
}

/** Undefined when the lookup failed. */
export async function lookUpTexts(dns: Dns, domain: string): Promise<readonly string[] | undefined> {
  const { values, error } = await dns.txt(proofName(domain))
  return error === undefined ? values : undefined
}

/** Ignores the quotes and spaces that some DNS forms keep. */
export function hasProof(texts: readonly string[], verificationToken: string): boolean {
  return texts.some(
    (text) => text.length <= MAX_PROOF_LENGTH && text.replace(/^[\s"]+|[\s"]+$/g, '') === verificationToken,
  )
}

/** By its aliases or, since a root domain has none, by having no other addresses than `proxyHost`. */
async function checkPointing(
  dns: Dns,
  domain: string,
  proxyHost: string,
): Promise<{ verdict: CheckVerdict; found: string[] | null }> {
  const [aliases, addresses] = await Promise.all([dns.cname(domain), dns.addresses(domain)])
  const found = aliases.values.length > 0 ? toFindings(aliases) : toFindings(addresses)
  const zone = (await splitName(domain)).root.replace(/^[^.]+\./, '')
  const failed = (addresses.error ?? aliases.error) !== undefined
  const [expected, above] = await Promise.all([dns.addresses(proxyHost), failed ? dns.caa(zone) : undefined])
  if (aliases.values.includes(proxyHost)) {
    const leadsNowhere = expected.values.length === 0 && expected.error === undefined
    const message = `${domain} is an alias of ${proxyHost}`
    return { verdict: leadsNowhere ? checkOwnAddresses(message, proxyHost, expected) : PRESENT, found }
  }
  const verdict = comparePointing(domain, proxyHost, { aliases, addresses, expected: expected.values })
  if (verdict.is === 'unclear' && above?.error !== undefined) {
    const cause = `Lookups of this server fail for ${zone}, too: contact the administrator`
    return { verdict: { is: 'unclear', message: `${verdict.message}. ${cause}`, isOurFault: true }, found }
  }
  const isPartly = addresses.values.some((address) => expected.values.includes(address))
  const isKnown = expected.values.length > 0 && (expected.error === undefined || !isPartly)
  const isOurFault = verdict.is !== 'there' && !isKnown
  return { verdict: isOurFault ? checkOwnAddresses(verdict.message, proxyHost, expected) : verdict, found }
}

function comparePointing(
  domain: string,
  proxyHost: string,
  records: { aliases: DnsRecords; addresses: DnsRecords; expected: readonly string[] },
): CheckVerdict {
  const { aliases, addresses, expected } = records
  const here = addresses.values.filter((address) => expected.includes(address))
  const error = addresses.error ?? aliases.error
  if (addresses.error === undefined && here.length > 0 && here.length === addresses.values.length)
    return PRESENT
  const target = aliases.values.at(-1)
  const alias = target && `${domain} is an alias of ${sanitizeValue(target)} (expected ${proxyHost})`
  if (error !== undefined) {
    const { is, message, isOurFault } = unclear(target ?? domain, aliases.error ?? error)
    return { is, message: alias ? `${alias}, and ${message}` : message, isOurFault }
  }
  if (alias) return missing(alias)
  if (addresses.values.length === 0)
    return missing(`No CNAME or address record found for ${domain} (expected ${proxyHost})`)
  const found = `${domain} has the ${plural('address', addresses.values)} ${formatValues(addresses.values)}`
  const only = here.length > 0 ? 'only those' : 'those'
  return missing(`${found} (expected ${only} of ${proxyHost}: ${formatValues(expected)})`)
}

/** Without the addresses of the service the result is unknown, which is not an error of the domain. */
function checkOwnAddresses(message: string, proxyHost: string, { error }: DnsRecords): CheckVerdict {
  const why = error === undefined ? 'has no addresses' : `could not be looked up (${sanitizeValue(error)})`
  const cause = `This server's domain target, ${proxyHost}, ${why}: contact the administrator`
  return { is: 'unclear', message: `${message}. ${cause}`, isOurFault: true }
}

function checkText(domain: string, verificationToken: string, { values, error }: DnsRecords): CheckVerdict {
  if (hasProof(values, verificationToken)) return PRESENT
  const name = proofName(domain)
  if (error !== undefined) return unclear(name, error)
  if (values.length === 0) return missing(`No TXT record found for ${name} (expected "${verificationToken}")`)
  const quoted = formatValues(values.map((value) => `"${value}"`))
  return missing(`${name} has the TXT ${plural('value', values)} ${quoted} (expected "${verificationToken}")`)
}

/** Has another message when the record is at a name that forms of DNS providers make of what people enter. */
async function locateText(
  dns: Dns,
  { domain, verificationToken }: Pick<Domain, 'domain' | 'verificationToken'>,
  verdict: CheckVerdict,
): Promise<CheckVerdict> {
  if (verdict.is !== 'missing') return verdict
  const { label, root } = await splitName(domain)
  const expected = proofName(domain)
  const names = new Set([`${expected}.${root}`, domain, proofName(root), root, `${expected}.${domain}`])
  names.delete(expected)
  const found = await Promise.all(
    Array.from(names, async (name) => ({ name, texts: (await dns.txt(name)).values })),
  )
  const misplaced = found.find(({ texts }) => hasProof(texts, verificationToken))
  return misplaced
    ? missing(wrongName('TXT', misplaced.name, { expected, entry: proofEntry(label), root }))
    : verdict
}

async function locateAlias(
  dns: Dns,
  { domain, proxyHost }: { domain: string; proxyHost: string },
  verdict: CheckVerdict,
): Promise<CheckVerdict> {
  if (verdict.is !== 'missing') return verdict
  const { label, root } = await splitName(domain)
  const name = `${domain}.${root}`
  const { values } = await dns.cname(name)
  return values.includes(proxyHost)
    ? missing(wrongName('CNAME', name, { expected: domain, entry: label || '@', root }))
    : verdict
}

function wrongName(
  type: string,
  found: string,
  { expected, entry, root }: { expected: string; entry: string; root: string },
): string {
  return `The ${type} record is at ${found} (expected ${expected}): in the zone ${root} its name is ${entry}`
}

function toRight({ is }: CheckVerdict): boolean | null {
  return is === 'unclear' ? null : is === 'there'
}

function missing(message: string): CheckVerdict {
  return { is: 'missing', message }
}

function unclear(name: string, error: string): CheckVerdict & { is: 'unclear' } {
  return {
    is: 'unclear',
    message: `${sanitizeValue(name)} could not be looked up: ${sanitizeValue(error)}`,
    isOurFault: false,
  }
}

function toFindings({ values, error }: DnsRecords): string[] | null {
  if (error !== undefined && values.length === 0) return null
  return values.slice(0, MAX_STORED_VALUES).map(sanitizeValue)
}

function formatValues(values: readonly string[]): string {
  const some = values.slice(0, MAX_LISTED_VALUES).map((value) => sanitizeValue(value))
  const more = values.length - some.length
  return more > 0 ? `${some.join(', ')} and ${more} more` : some.join(', ')
}

/** DNS content is untrusted, and terminals show it: no control characters or direction marks, and a limited length. */
function sanitizeValue(value: string): string {
  const short = value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value
  return short.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '\ufffd')
}

function plural(noun: string, values: readonly string[]): string {
  if (values.length === 1) return noun
  return noun === 'address' ? 'addresses' : `${noun}s`
}
