import type { CaaRecord, Dns } from './dns/dns.ts'

export interface CaaPolicy {
  /** RFC 8555, 9.7.6, in lower case; empty when the authority does not publish them. */
  identities: readonly string[]
  /** Undefined before the account is registered. */
  accountUrl: string | undefined
  validationMethods: readonly string[]
}

/** Properties that authorities understand (RFC 8659, 4; RFC 9495). */
const KNOWN_TAGS = new Set(['issue', 'issuewild', 'iodef', 'issuemail'])

/** More labels than the names in use have; the certificate authority checks the other ones. */
const MAX_NAMES = 12

const MAX_SHOWN_LENGTH = 200

/**
 * A clause that names the record and what permits it; undefined when the authority may issue, when the records cannot
 * be looked up, and for an authority without identities. The records are those of the domain or of the nearest name
 * above that has any (RFC 8659, 3).
 */
export async function findCaaProblem(
  dns: Pick<Dns, 'caa'>,
  domain: string,
  policy: CaaPolicy,
): Promise<string | undefined> {
  const [identity] = policy.identities
  if (identity === undefined) return undefined
  const labels = domain.split('.')
  const names = labels.map((_, at) => labels.slice(at).join('.')).slice(0, MAX_NAMES)
  const found = await Promise.all(names.map((name) => dns.caa(name)))
  // An unknown nearer set would have precedence.
  const at = found.findIndex(({ records, error }) => records.length > 0 || error !== undefined)
  const { records, error } = found[at] ?? { records: [] }
  if (at < 0 || error !== undefined) return undefined
  const name = names[at]!
  const unknown = records.find(({ critical, tag }) => critical && !KNOWN_TAGS.has(tag))
  if (unknown)
    return `${name} has the CAA record ${formatCaa(unknown)}, which is critical and unknown to certificate authorities: remove it`
  const issue = records.filter(({ tag }) => tag === 'issue')
  if (issue.length === 0 || issue.some(({ value }) => isPermitted(value, policy))) return undefined
  const some = issue.slice(0, 3).map(formatCaa).join(', ')
  const which =
    issue.length === 1 ? `the CAA record ${some}, which does` : `the CAA records ${some}, which do`
  return `${name} has ${which} not permit the certificate authority of this server: add the CAA record 0 issue "${identity}" to ${name}`
}

/** RFC 8659, 4.2, and RFC 8657, 3 and 4: a value of another form permits nothing. */
function isPermitted(value: string, { identities, accountUrl, validationMethods }: CaaPolicy): boolean {
  const [issuer = '', ...rest] = value.split(';').map((part) => part.trim())
  if (!identities.includes(issuer.toLowerCase())) return false
  const parameters = rest.join('') === '' && rest.length < 2 ? [] : rest.map(readParameter)
  if (parameters.includes(undefined)) return false
  const valuesOf = (tag: string) =>
    parameters.flatMap((parameter) => (parameter!.tag === tag ? parameter!.value : []))
  const accounts = valuesOf('accounturi')
  const methods = valuesOf('validationmethods')
  if (accounts.length > 1 || methods.length > 1) return false
  const permitted = methods[0]?.split(',')
  const hasMethod = permitted === undefined || validationMethods.some((method) => permitted.includes(method))
  return hasMethod && (accounts.length === 0 || accounts[0] === accountUrl)
}

function readParameter(text: string): { tag: string; value: string } | undefined {
  const at = text.indexOf('=')
  const [tag, value] = [text.slice(0, Math.max(at, 0)).trimEnd(), text.slice(at + 1).trimStart()]
  if (!/^[a-z0-9]+$/i.test(tag) || !/^[\x21-\x3a\x3c-\x7e]*$/.test(value)) return undefined
  return { tag: tag.toLowerCase(), value }
}

/** As zone files have it, in printable ASCII. */
function formatCaa({ critical, tag, value }: CaaRecord): string {
  const short = value.length > MAX_SHOWN_LENGTH ? `${value.slice(0, MAX_SHOWN_LENGTH)}…` : value
  return `${critical ? 128 : 0} ${tag} "${short.replace(/[^ -~…]/g, '?')}"`
}
