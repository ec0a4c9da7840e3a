import { MAX_HOST_NAME_LENGTH, toHostName } from '../../packages/http-server/host-name.ts'
import { type ApiError, invalidField } from '../lib/errors.ts'

/** Spec 5.3. */
const PROOF_LABEL = '_slipway.'
const MAX_NAME_LENGTH_WITH_PROOF = MAX_HOST_NAME_LENGTH - PROOF_LABEL.length

/** Top-level domains without a public registry (RFC 6762, appendix G), for which no certificate authority can certify a name. */
const NO_CERTIFICATES = new Set(
  'alt arpa corp home i2p internal intranet invalid lan local localdomain localhost mail onion private'.split(
    ' ',
  ),
)

/** Whether custom domains can point to this host: the default of a local service leads each device to itself. */
export function canReceiveDomains(proxyHost: string): boolean {
  return !/(^|\.)localhost$/.test(proxyHost)
}

/** Normalizes a typed host name to lower-case IDNA A-labels. VALIDATION_ERROR when it is not a host name. */
export function parseHostName(typed: string): string {
  const name = toHostName(typed.trim().replace(/\.$/, ''))
  if (name === undefined) {
    const reason = typed.includes('_') ? ', without an underscore, for which there are no certificates' : ''
    throw invalidDomain(`must be a host name such as www.example.com${reason}`)
  }
  return name
}

/** VALIDATION_ERROR also for IP addresses, single labels, public suffixes, names without certificates, `own` ones. */
export async function parseDomain(typed: string, own: readonly string[]): Promise<string> {
  const { parse } = await import('tldts')
  const domain = parseHostName(typed)
  const parsed = parse(domain, { allowPrivateDomains: true })
  if (parsed.isIp) throw invalidDomain('must be a host name, not an IP address')
  if (!domain.includes('.')) throw invalidDomain('must have at least two labels, such as example.com')
  const top = domain.slice(domain.lastIndexOf('.') + 1)
  if (NO_CERTIFICATES.has(top))
    throw invalidDomain(
      `must be a domain of the public DNS; no certificate authority certifies .${top} names`,
    )
  if (parsed.domain === null)
    throw invalidDomain(`must be a domain that you own; ${domain} is a public suffix`)
  if (own.some((name) => domain === name || domain.endsWith(`.${name}`)))
    throw invalidDomain('must be a domain that you own, not a name of this server')
  if (domain.length > MAX_NAME_LENGTH_WITH_PROOF) {
    const limit = `must have at most ${MAX_NAME_LENGTH_WITH_PROOF} characters`
    throw invalidDomain(`${limit}, so that ${PROOF_LABEL} fits before it in DNS`)
  }
  return domain
}

/** `shop.example.co.uk` is `shop` of `example.co.uk`; the label of a root domain is empty. */
export async function splitName(domain: string): Promise<{ label: string; root: string }> {
  const { parse } = await import('tldts')
  const { domain: root, subdomain } = parse(domain, { allowPrivateDomains: true })
  return { label: subdomain ?? '', root: root ?? domain }
}

/** The `www` name of a root domain, or its inverse; null for other names. */
export async function wwwCounterpart(domain: string): Promise<string | null> {
  const { label, root } = await splitName(domain)
  if (label === 'www') return root
  return label === '' && domain.length + 4 <= MAX_NAME_LENGTH_WITH_PROOF ? `www.${domain}` : null
}

/**
 * The registrable domain that the service and its sites have in common: browsers let the sites set cookies for it.
 * Undefined when they have none, when sites live at a public suffix, and on localhost.
 */
export async function findSharedDomain(serviceHost: string, siteDomain: string): Promise<string | undefined> {
  if (siteDomain === 'localhost' || siteDomain.endsWith('.localhost')) return undefined
  const { getDomain } = await import('tldts')
  const [service, site] = [serviceHost, `any.${siteDomain}`].map((host) =>
    getDomain(host, { allowPrivateDomains: true }),
  )
  return service !== null && service === site ? service : undefined
}

/** Spec 5.3. */
export function proofName(domain: string): string {
  return PROOF_LABEL + domain
}

/** Within the zone of the domain, as the forms of DNS providers take it. */
export function proofEntry(label: string): string {
  return label ? PROOF_LABEL + label : PROOF_LABEL.slice(0, -1)
}

function invalidDomain(message: string): ApiError {
  return invalidField('domain', message)
}
