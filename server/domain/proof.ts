import type { Answered, Dns } from '../dns/dns.ts'
import type { DomainRow } from '../store/schema.ts'
import { proofName } from './name.ts'

/** What DNS answered, as it is kept and shown; null where nobody could say. */
export interface Found {
  /** Where aliases lead, else the addresses. */
  pointing: string[] | null
  texts: string[] | null
  /** Whether each of the two is what it has to be; null where nobody could say. */
  right: { pointing: boolean | null; text: boolean | null }
}

/** Whether one of the two proofs is there, and if not, in words: what was found and what was expected. */
export type Verdict =
  | { is: 'there' }
  | { is: 'missing'; words: string }
  /** `ours`: not for anything about the name, but because nobody could look up the service's own. */
  | { is: 'unclear'; words: string; ours: boolean }

/** What one look at both records of a name saw (spec 5.3). */
export interface Look {
  pointing: Verdict
  text: Verdict
  found: Found
  /** Every TXT value that was there. */
  texts: readonly string[]
}

const MOST_SHOWN = 20
const MOST_CHARACTERS = 300
const MOST_IN_WORDS = 4

/** A value of more characters is nobody's proof: anybody may have written it, and to read it to its end takes too long. */
const MOST_PROVING = 255

const THERE: Verdict = { is: 'there' }

/** Looks at both records of a name. Never throws; bounded as the DNS room is. */
export async function lookAt(
  dns: Dns,
  { domain, proof }: Pick<DomainRow, 'domain' | 'proof'>,
  proxyHost: string,
): Promise<Look> {
  const [place, texts] = await Promise.all([pointing(dns, domain, proxyHost), dns.texts(proofName(domain))])
  const text = proven(domain, proof, texts)
  const right = { pointing: isRight(place.verdict), text: isRight(text) }
  return {
    pointing: place.verdict,
    text,
    found: { pointing: place.found, texts: shown(texts), right },
    texts: texts.values,
  }
}

/** The TXT values at a name; undefined when nobody could say. */
export async function textsOf(dns: Dns, domain: string): Promise<readonly string[] | undefined> {
  const { values, trouble } = await dns.texts(proofName(domain))
  return trouble === undefined ? values : undefined
}

/** Whether a proof is among TXT values, also as forms keep it that take the quotes and spaces around it for a part of it. */
export function holds(texts: readonly string[], proof: string): boolean {
  return texts.some((text) => text.length <= MOST_PROVING && text.replace(/^[\s"]+|[\s"]+$/g, '') === proof)
}

/** A name points here by its aliases or, since roots have none, by having no other addresses than `proxyHost`. */
async function pointing(
  dns: Dns,
  domain: string,
  proxyHost: string,
): Promise<{ verdict: Verdict; found: string[] | null }> {
  const [aliases, addresses] = await Promise.all([dns.aliases(domain), dns.addresses(domain)])
  const found = aliases.values.length > 0 ? shown(aliases) : shown(addresses)
  if (aliases.values.includes(proxyHost)) return { verdict: THERE, found }
  const expected = await dns.addresses(proxyHost)
  const verdict = compared(domain, proxyHost, { aliases, addresses, expected: expected.values })
  const isPartly = addresses.values.some((address) => expected.values.includes(address))
  const isKnown = expected.values.length > 0 && (expected.trouble === undefined || !isPartly)
  const ours = verdict.is !== 'there' && !isKnown
  return { verdict: ours ? notOurs(verdict.words, proxyHost, expected) : verdict, found }
}

function compared(
  domain: string,
  proxyHost: string,
  { aliases, addresses, expected }: { aliases: Answered; addresses: Answered; expected: readonly string[] },
): Verdict {
  const here = addresses.values.filter((address) => expected.includes(address))
  const trouble = addresses.trouble ?? aliases.trouble
  if (addresses.trouble === undefined && here.length > 0 && here.length === addresses.values.length)
    return THERE
  const target = aliases.values.at(-1)
  const alias = target && `${domain} is an alias of ${clean(target)}, expected ${proxyHost}`
  if (trouble !== undefined) {
    const { is, words, ours } = unknown(target ?? domain, aliases.trouble ?? trouble)
    return { is, words: alias ? `${alias}; and ${words}` : words, ours }
  }
  if (alias) return missing(alias)
  if (addresses.values.length === 0)
    return missing(`${domain} has no record that leads here, expected ${proxyHost}`)
  const found = `${domain} has the ${plural('address', addresses.values)} ${listed(addresses.values)}`
  const only = here.length > 0 ? 'only those' : 'those'
  return missing(`${found}, expected ${only} of ${proxyHost}: ${listed(expected)}`)
}

/** Without the addresses of the service nothing can be said for sure, and that is not the fault of the name. */
function notOurs(words: string, proxyHost: string, { trouble }: Answered): Verdict {
  const why = trouble === undefined ? 'has no addresses' : `could not be looked up: ${clean(trouble)}`
  const ours = `${proxyHost}, where it has to lead, ${why}, which whoever runs this service has to mend`
  return { is: 'unclear', words: `${words}; and ${ours}`, ours: true }
}

function proven(domain: string, proof: string, { values, trouble }: Answered): Verdict {
  if (holds(values, proof)) return THERE
  const name = proofName(domain)
  if (trouble !== undefined) return unknown(name, trouble)
  if (values.length === 0) return missing(`${name} has no TXT record, expected "${proof}"`)
  const quoted = listed(values.map((value) => `"${value}"`))
  return missing(`${name} has the TXT ${plural('value', values)} ${quoted}, expected "${proof}"`)
}

function isRight({ is }: Verdict): boolean | null {
  return is === 'unclear' ? null : is === 'there'
}

function missing(words: string): Verdict {
  return { is: 'missing', words }
}

function unknown(name: string, trouble: string): Verdict & { is: 'unclear' } {
  return { is: 'unclear', words: `${clean(name)} could not be looked up: ${clean(trouble)}`, ours: false }
}

function shown({ values, trouble }: Answered): string[] | null {
  if (trouble !== undefined && values.length === 0) return null
  return values.slice(0, MOST_SHOWN).map(clean)
}

/** Some of what was found, in a sentence. */
function listed(values: readonly string[]): string {
  const some = values.slice(0, MOST_IN_WORDS).map((value) => clean(value))
  const more = values.length - some.length
  return more > 0 ? `${some.join(', ')} and ${more} more` : some.join(', ')
}

/** Anybody may have written it, and terminals show it: no control characters, no direction marks, not endless. */
function clean(value: string): string {
  const short = value.length > MOST_CHARACTERS ? `${value.slice(0, MOST_CHARACTERS)}…` : value
  return short.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '\ufffd')
}

function plural(noun: string, values: readonly string[]): string {
  if (values.length === 1) return noun
  return noun === 'address' ? 'addresses' : `${noun}s`
}
