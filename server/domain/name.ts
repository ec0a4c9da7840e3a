import { domainToASCII } from 'node:url'
import { type Failure, invalid } from '../failure.ts'

const MOST_CHARACTERS = 253
/** What stands before a name where its TXT record is (spec 5.3). */
const PROOF_LABEL = '_slipway.'
const MOST_CHARACTERS_WITH_PROOF = MOST_CHARACTERS - PROOF_LABEL.length

/** A name as its parts: `shop.example.co.uk` is `shop` of `example.co.uk`; the label of a root domain is empty. */
export interface NameParts {
  label: string
  root: string
}

/** A host name as it was typed, as lower-case IDNA A-labels. VALIDATION_ERROR for what is none. */
export function readName(typed: string): string {
  const name = domainToASCII(typed.trim().replace(/\.$/, '').toLowerCase())
  // Of an address, `domainToASCII` would take the host and drop the rest.
  if (/[/?#\\]/.test(typed) || !isHostName(name)) throw refused('must be a host name such as www.example.com')
  return name
}

/**
 * The same for a name that is to be added. VALIDATION_ERROR for what cannot be a domain of one's own, too: an address, a
 * single label, a public suffix, one of the service's `own` names or a name below these.
 */
export async function readDomain(typed: string, own: readonly string[]): Promise<string> {
  const { parse } = await import('tldts')
  const domain = readName(typed)
  const parsed = parse(domain, { allowPrivateDomains: true })
  if (parsed.isIp) throw refused('must be a host name, not an IP address')
  if (!domain.includes('.')) throw refused('must have at least two labels, such as example.com')
  if (parsed.domain === null) throw refused(`must be a name of your own; ${domain} is a public suffix`)
  if (own.some((name) => domain === name || domain.endsWith(`.${name}`)))
    throw refused('must be a name of your own, not one of this service')
  if (domain.length > MOST_CHARACTERS_WITH_PROOF) {
    const limit = `must have at most ${MOST_CHARACTERS_WITH_PROOF} characters`
    throw refused(`${limit}, so that a name in DNS has room for ${PROOF_LABEL} before it`)
  }
  return domain
}

export async function partsOf(domain: string): Promise<NameParts> {
  const { parse } = await import('tldts')
  const { domain: root, subdomain } = parse(domain, { allowPrivateDomains: true })
  return { label: subdomain ?? '', root: root ?? domain }
}

/** The `www` of a root domain, or the root of a `www`; null for every other name. */
export async function counterpartOf(domain: string): Promise<string | null> {
  const { label, root } = await partsOf(domain)
  if (label === 'www') return root
  return label === '' && domain.length + 4 <= MOST_CHARACTERS_WITH_PROOF ? `www.${domain}` : null
}

/** Where in DNS the TXT record of a name is (spec 5.3). */
export function proofName(domain: string): string {
  return PROOF_LABEL + domain
}

/** RFC 1123, 2.1: labels of letters, digits and hyphens, 63 characters each and 253 together. */
function isHostName(name: string): boolean {
  return (
    name.length <= MOST_CHARACTERS && /^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/.test(name)
  )
}

function refused(message: string): Failure {
  return invalid([{ field: 'domain', message }])
}
