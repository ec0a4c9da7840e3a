import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { SNIFFED_BYTES } from '../../../protocol/manifest/media-type.ts'
import type { FileContents, FoundSecret, ScanResult } from './secret-scan.ts'

interface Rule {
  kind: string
  /** The search for these texts is the only work for most files. */
  anchors: readonly string[]
  /** Begins with the anchor, or with what stands directly before it. */
  pattern: RegExp
  /** Characters of the pattern before the anchor. */
  before?: number
  /** Whether the anchor stands within words, too. */
  isPart?: true
  /** The secret, when the match is one. Default: a match whose characters vary. */
  read?: (found: Match) => string | undefined
}

interface Match {
  text: string
  index: number
  match: string
}

/** Characters around a match in which the rest of a pair of credentials is looked for. */
const NEARBY_CHARACTERS = 300

/** A private key of 4,096 bits has 3,300. */
const MAX_KEY_CHARACTERS = 8000

/** More occurrences of anchors are no text that a person or a program wrote. */
const MAX_PLACES = 20_000

/** Published formats; docs/decisions/050-secret-scan.md says why these. Every expression is bounded in length. */
// biome-ignore format: one rule a line
const RULES: readonly Rule[] = [
  { kind: 'private key', anchors: ['-----BEGIN ', '-----BEGIN+', '-----BEGIN%20'], pattern: /-----BEGIN(?: |\+|%20)(?:(?:RSA|EC|DSA|OPENSSH|ENCRYPTED)(?: |\+|%20))?PRIVATE(?: |\+|%20)KEY-----/y, read: readPrivateKey },
  { kind: 'PGP private key', anchors: ['-----BEGIN '], pattern: /-----BEGIN PGP PRIVATE KEY BLOCK-----/y, read: readPrivateKey },
  { kind: 'PuTTY private key', anchors: ['Private-Lines: '], pattern: /Private-Lines: \d{1,3}(?:\\[nr]|\s){1,4}[A-Za-z0-9+/=]{40,64}/y },
  { kind: 'JSON Web Key', anchors: ['kty'], pattern: /kty(?:[\\"':\s]|&quot;|%(?:20|22|3A)){2,20}(?:RSA|EC|OKP)\b/y, read: readJsonWebKey },
  { kind: 'age secret key', anchors: ['AGE-SECRET-KEY-1', 'AGE-SECRET-KEY-PQ-1'], pattern: /AGE-SECRET-KEY-(?:PQ-)?1[02-9AC-HJ-NP-Z]{58}(?!\w)/y },
  { kind: 'AWS access key', anchors: ['AKIA', 'ASIA'], pattern: /A[KS]IA[A-Z2-7]{16}(?!\w)/y, read: readAws },
  { kind: 'Azure key', anchors: ['AccountKey=', 'AccountKey%3D', 'SharedAccessKey=', 'SharedAccessKey%3D'], pattern: /(?:Account|SharedAccess)Key(?:=|%3D)(?:(?:[A-Za-z0-9+]|\\?\/|%2[BF]){43}){1,2}(?:=|%3D){1,2}(?!\w)/y },
  { kind: 'Google OAuth client secret', anchors: ['GOCSPX-'], pattern: /GOCSPX-[\w-]{28}(?![\w-])/y },
  { kind: 'Stripe secret key', anchors: ['sk_live_', 'rk_live_'], pattern: /[sr]k_live_[A-Za-z0-9]{20,250}/y },
  { kind: 'Slack token', anchors: ['xoxa-', 'xoxb-', 'xoxe-', 'xoxp-', 'xoxr-', 'xoxs-'], pattern: /xox[abeprs]-(?:\d{1,14}-){1,4}[A-Za-z0-9]{20,170}/y },
  { kind: 'Slack app token', anchors: ['xapp-'], pattern: /xapp-\d-[A-Z0-9]{8,14}-\d{8,16}-[a-z0-9]{40,80}/y },
  { kind: 'Slack webhook', anchors: ['hooks.slack.com'], pattern: /hooks\.slack\.com(?:\\?\/|%2F)(?:services|workflows)(?:\\?\/|%2F)[TA][A-Z0-9]{7,12}(?:\\?\/|%2F)[AB][A-Z0-9]{7,12}(?:\\?\/|%2F)(?:[A-Za-z0-9]|\\?\/|%2F){20,64}/y },
  { kind: 'GitHub token', anchors: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], pattern: /gh[oprsu]_[A-Za-z0-9]{36}(?![A-Za-z0-9])/y, read: readChecked },
  { kind: 'GitHub token', anchors: ['github_pat_'], pattern: /github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}(?!\w)/y },
  { kind: 'GitLab token', anchors: ['glpat-', 'gldt-', 'glrt-', 'glptt-', 'glcbt-', 'glsoat-', 'gloas-', 'glagent-', 'glimt-'], pattern: /gl(?:pat|dt|rt|ptt|cbt|soat|oas|agent|imt)-[\w-]{20,300}/y },
  { kind: 'Bitbucket token', anchors: ['ATATT3xFfGF0', 'ATCTT3xFfGN0'], pattern: /AT[AC]TT3xFfG[FN]0[\w-]{100,250}(?:=|\\u003[dD]|%3[dD])[0-9A-F]{8}(?!\w)/y },
  { kind: 'npm token', anchors: ['npm_'], pattern: /npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])/y, read: readChecked },
  // The text after the prefix is "pypi.org" in the header of the token.
  { kind: 'PyPI token', anchors: ['pypi-AgEIcHlwaS5vcmc'], pattern: /pypi-AgEIcHlwaS5vcmc[\w-]{50,400}/y },
  { kind: 'RubyGems key', anchors: ['rubygems_'], pattern: /rubygems_[0-9a-f]{48}(?!\w)/y },
  { kind: 'Docker token', anchors: ['dckr_pat_', 'dckr_oat_'], pattern: /dckr_[op]at_[\w-]{27,40}/y },
  { kind: 'SendGrid key', anchors: ['SG.'], pattern: /SG\.[\w-]{22}\.[\w-]{43}(?![\w-])/y },
  { kind: 'Mailgun key', anchors: ['key-'], pattern: /key-[0-9a-f]{32}(?![0-9a-f])/y, read: (found) => (/mailgun/i.test(nearby(found)) ? readVaried(found) : undefined) },
  { kind: 'Twilio key', anchors: ['wilio', 'WILIO'], isPart: true, pattern: /wilio|WILIO/y, read: readTwilio },
  { kind: 'OpenAI key', anchors: ['sk-proj-', 'sk-svcacct-', 'sk-admin-'], pattern: /sk-(?:proj|svcacct|admin)-[\w-]{20,180}/y, read: (found) => (found.match.includes('T3BlbkFJ') ? readVaried(found) : undefined) },
  { kind: 'OpenAI key', anchors: ['T3BlbkFJ'], before: 23, pattern: /sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}(?!\w)/y },
  { kind: 'Anthropic key', anchors: ['sk-ant-'], pattern: /sk-ant-[a-z]{3,8}\d\d-[\w-]{80,120}/y },
  { kind: 'Square secret', anchors: ['sq0csp-', 'sq0atp-'], pattern: /sq0(?:csp-[\w-]{43}|atp-[\w-]{22})(?![\w-])/y },
  { kind: 'Braintree token', anchors: ['access_token$production$'], pattern: /access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}(?!\w)/y },
  { kind: 'Shopify token', anchors: ['shpat_', 'shpss_', 'shpca_', 'shppa_'], pattern: /shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}(?!\w)/y },
  { kind: 'DigitalOcean token', anchors: ['dop_v1_', 'doo_v1_', 'dor_v1_'], pattern: /do[opr]_v1_[0-9a-f]{64}(?!\w)/y },
  { kind: 'Hugging Face token', anchors: ['hf_'], pattern: /hf_[A-Za-z]{34}(?!\w)/y },
  { kind: 'Supabase secret key', anchors: ['sb_secret_'], pattern: /sb_secret_[\w-]{22}_[\w-]{8}(?![\w-])/y },
  { kind: 'Vault token', anchors: ['hvs.'], pattern: /hvs\.[\w-]{90,120}(?![\w-])/y },
  { kind: 'Slipway key', anchors: ['sl_live_'], pattern: /sl_live_[0-9a-f]{32}(?!\w)/y },
  { kind: 'Slipway claim token', anchors: ['/claim?slug='], isPart: true, pattern: /\/claim\?slug=[a-z0-9-]{3,63}(?:&(?:amp;)?|\\{0,7}u0026)token=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/y },
  { kind: 'Slipway claim token', anchors: ['claimToken', 'Claim-Token', 'claim-token', 'CLAIM_TOKEN'], pattern: /(?:claimToken|[Cc]laim-[Tt]oken|CLAIM_TOKEN)(?:\\{0,7}["']|&quot;|&#3[49];|\\u0022|%22)?\s?(?:[:=]|%3[aAdD])\s?(?:\\{0,7}["']|&quot;|&#3[49];|\\u0022|%22)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/y },
]

/** In programs; at least one in each anchor, of which the first one here counts. */
const RARE_CHARACTERS = [...'JWKG?-kwI_v']

/** The end of an anchor, from a rare character on. */
function endOf(anchor: string): string {
  return anchor.slice(anchor.lastIndexOf(RARE_CHARACTERS.find((one) => anchor.includes(one))!))
}

const BY_END = Map.groupBy(
  RULES.flatMap((rule) => rule.anchors.map((anchor) => ({ anchor, rule }))),
  ({ anchor }) => endOf(anchor),
)

/** One expression, in which the engine skips to the next rare character: for programs, four times as fast as without. */
const ENDS = new RegExp([...BY_END].map(toSource).join('|'), 'g')

function toSource([end, rules]: [string, readonly { anchor: string }[]]): string {
  const anchors = rules.map(({ anchor }) => RegExp.escape(anchor))
  return `${RegExp.escape(end)}(?<=${anchors.join('|')})`
}

/** Null, too, when there are more places to look at. */
export function scan(read: () => Buffer, { isText }: Pick<FileContents, 'isText'>): ScanResult {
  try {
    return findSecrets(decodeText(read(), isText)).map(({ value, ...found }) => ({
      ...found,
      digest: hash('sha256', value),
    }))
  } catch {
    return null
  }
}

/** Other encodings have the characters of secrets in common. Not what is binary. */
function decodeText(bytes: Buffer, isText: boolean): string {
  const mark = bytes.toString('latin1', 0, 2)
  if (mark === '\xff\xfe') return bytes.toString('utf16le')
  const pairs = bytes.subarray(0, bytes.length & ~1)
  if (mark === '\xfe\xff') return pairs.swap16().toString('utf16le')
  const isBinary = !isText && bytes.subarray(0, SNIFFED_BYTES).includes(0)
  return isBinary ? '' : bytes.toString('latin1')
}

/** The secrets of a text, each once, in its order. Throws when the text has too many places to look at. */
export function findSecrets(text: string): FoundSecret[] {
  const found = new Map<string, FoundSecret>()
  let [line, counted] = [1, 0]
  let places = 0
  for (const { 0: end, index } of text.matchAll(ENDS)) {
    if (++places > MAX_PLACES) throw new Error('The text has too many places that could be secrets')
    for (const { anchor, rule } of BY_END.get(end)!) {
      const first = index + end.length - anchor.length
      const start = first - (rule.before ?? 0)
      if (start < 0 || !text.startsWith(anchor, first) || (!rule.isPart && isInsideWord(text, start)))
        continue
      rule.pattern.lastIndex = start
      const [match] = rule.pattern.exec(text) ?? []
      const value = match && (rule.read ?? readVaried)({ text, index: start, match })
      if (!value || found.has(value)) continue
      for (let at = text.indexOf('\n', counted); at >= 0 && at < start; at = text.indexOf('\n', counted)) {
        line++
        counted = at + 1
      }
      const { kind } = rule
      found.set(value, { kind, line, value, excerpt: match.startsWith('-----') ? match : `${anchor}…` })
    }
  }
  return [...found.values()]
}

/** The end of an escape of JSON, of a program or of a URL, or of the codes of a terminal. */
const ESCAPE = /(?:\\(?:[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4})|%(?:25)?[0-9a-f]{2}|\[[\d;]{0,20}m)$/i

/** A longer word, such as base64 of other bytes. */
function isInsideWord(text: string, index: number): boolean {
  return /\w|\+/.test(text.charAt(index - 1)) && !ESCAPE.test(text.slice(Math.max(0, index - 22), index))
}

/** Without escapes. */
function nearby({ text, index, match }: Match): string {
  return text
    .slice(Math.max(0, index - NEARBY_CHARACTERS), index + match.length + NEARBY_CHARACTERS)
    .replaceAll('\\/', '/')
    .replaceAll(/\\[nrt]|(?:\\x|\\u00|%)([0-9a-f]{2})/gi, (_, code?: string) =>
      code ? String.fromCharCode(Number.parseInt(code, 16)) : ' ',
    )
}

/** Words of documentation, keys of Azure's and Supabase's emulators, and characters that repeat or count, are examples. */
function isExample(value: string): boolean {
  if (/example|your|Eby8vdM02xNOcqFl|N7UND0UgjKTVK|xxxx|1234567|abcdefg|(.)\1{5}/i.test(value)) return true
  return new Set(value.slice(-20)).size < 8
}

function readVaried({ match }: Match): string | undefined {
  return isExample(match) ? undefined : match
}

/** The last six characters are the CRC-32 of the 30 before, in base 62. */
function readChecked({ match }: Match): string | undefined {
  const [body, digits] = [match.slice(4, -6), match.slice(-6)]
  return toBase62(crc32(body)) === digits ? match : undefined
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export function toBase62(number: number): string {
  let text = ''
  for (let rest = number; text.length < 6; rest = Math.floor(rest / 62)) text = BASE62[rest % 62] + text
  return text
}

/** A header alone, or with an ellipsis, is part of a program or of documentation. */
function readPrivateKey({ text, index, match }: Match): string | undefined {
  const start = index + match.length
  const rest = text.slice(start, start + MAX_KEY_CHARACTERS)
  const end = rest.indexOf('-----')
  const body = end < 0 ? rest : rest.slice(0, end)
  const [first] = /(?:[A-Za-z0-9+/=]|%2[BF]){40}/.exec(body.slice(0, 1000)) ?? []
  return first === undefined || isExample(first) ? undefined : body.replace(/\\[nr]|[^A-Za-z0-9+/=]/g, '')
}

/** Only a private one has "d", in any place of the object (RFC 7518, 6.2.2 and 6.3.2; RFC 8037, 2). */
function readJsonWebKey({ text, index }: Match): string | undefined {
  const before = text.slice(Math.max(0, index - MAX_KEY_CHARACTERS), index)
  const after = text.slice(index, index + MAX_KEY_CHARACTERS)
  const object = before.slice(before.lastIndexOf('{') + 1) + after.split('}', 1)[0]
  const [, d] = /(?<![A-Za-z_])d(?:[\\"':\s]|&quot;|%(?:20|22|3A)){2,20}([\w-]{40,1400})/.exec(object) ?? []
  return d === undefined || isExample(d.slice(0, 43)) ? undefined : d
}

/** An id alone opens nothing. The secret has letters of both cases and digits, unlike a path or a hash. */
function readAws(found: Match): string | undefined {
  if (isExample(found.match)) return undefined
  for (const [secret] of nearby(found).matchAll(/(?<![\w+/])[A-Za-z0-9+/]{40}(?![\w+/=])/g)) {
    const isVaried = /[a-z]/.test(secret) && /[A-Z]/.test(secret) && /\d/.test(secret)
    if (isVaried && !isExample(secret)) return `${found.match} ${secret}`
  }
  return undefined
}

/** The id of an account or of a key, and its token, beside the name of the service. Pages have the id beside hashes. */
function readTwilio(found: Match): string | undefined {
  const around = nearby(found)
  const [id] = /\b(?:AC|SK)[0-9a-f]{32}\b/.exec(around) ?? []
  if (id === undefined || isExample(id)) return undefined
  const [, token] =
    /(?:[Tt]oken|TOKEN|[Ss]ecret|SECRET|[Pp]assword|\b(?:AC|SK)[0-9a-f]{32})\W{1,9}(?!AC|SK)([0-9a-zA-Z]{32})\b/.exec(
      around,
    ) ?? []
  return token === undefined || isExample(token) ? undefined : `${id} ${token}`
}
