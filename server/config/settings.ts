import { resolve } from 'node:path'
import { LOG_LEVELS } from '../lib/log.ts'
import {
  address,
  base64url,
  bytesOrPercent,
  certificateFile,
  dnsServers,
  file,
  hostName,
  integer,
  mailAddress,
  oneOf,
  optional,
  origin,
  program,
  renamed,
  type Setting,
  secret,
  sender,
  text,
  variableNames,
} from './setting-types.ts'

const settings = {
  host: text('SLIPWAY_HOST', 'localhost', 'Where HTTP listens; localhost means both loopback addresses.'),
  port: integer('SLIPWAY_PORT', 8080, [0, 65535], 'The port of HTTP; 0 takes a free one.'),
  baseUrl: origin('SLIPWAY_BASE_URL', 'The address of the API and the web pages, {base_url}.'),
  siteDomain: hostName('SLIPWAY_SITE_DOMAIN', 'localhost', 'Sites live at <slug>.{site_domain}.'),
  proxyHost: hostName(
    'SLIPWAY_PROXY_HOST',
    '',
    'What custom domains point to, {proxy_host}; domains.{site_domain} without it.',
  ),
  httpsPort: optional(
    integer('SLIPWAY_HTTPS_PORT', 0, [0, 65535], 'The port of HTTPS, usually 443; 0 takes a free one.'),
    'off',
  ),
  internalPort: optional(
    integer(
      'SLIPWAY_INTERNAL_PORT',
      0,
      [0, 65535],
      'A port on the loopback address for proxies in front: /internal/tls-allowed.',
    ),
    'off',
  ),
  acmeUrl: address(
    'SLIPWAY_ACME_URL',
    'Directory of the CA (RFC 8555) that certificates come from.',
    ['https:'],
    'https://acme-v02.api.letsencrypt.org/directory',
  ),
  acmeEmail: mailAddress('SLIPWAY_ACME_EMAIL', 'Where the CA may write to.'),
  acmeCaFile: certificateFile('SLIPWAY_ACME_CA_FILE', 'PEM file of a root to trust when talking to the CA.'),
  acmeProfile: text('SLIPWAY_ACME_PROFILE', '', 'Profile of certificates to ask the CA for.'),
  acmeEabKeyId: text('SLIPWAY_ACME_EAB_KEY_ID', '', 'Key id of an external account, where the CA wants one.'),
  acmeEabHmacKey: base64url('SLIPWAY_ACME_EAB_HMAC_KEY', 'Its key, in base64url.'),
  tlsCertFile: file('SLIPWAY_TLS_CERT_FILE', 'PEM chain of the wildcard certificate of {site_domain}.'),
  tlsKeyFile: file('SLIPWAY_TLS_KEY_FILE', 'PEM file of its key.'),
  dnsHook: program(
    'SLIPWAY_DNS_HOOK',
    'Program that enters and removes TXT records, to get the wildcard certificate by DNS-01.',
  ),
  dnsHookVariables: variableNames(
    'SLIPWAY_DNS_HOOK_VARIABLES',
    'Environment variables that the DNS hook gets, beside PATH, HOME, LANG, TZ, TMPDIR and DNS_HOOK_….',
  ),
  dnsServers: dnsServers(
    'SLIPWAY_DNS_SERVERS',
    'Servers that domains are looked up at; those of the system without it.',
  ),
  data: text('SLIPWAY_DATA', './data', 'Folder of the database, blobs, letters and the secret.'),
  diskReserve: optional(
    bytesOrPercent(
      'SLIPWAY_DISK_RESERVE',
      'Free space of the data folder that publishing leaves alone, in bytes or percent; automatic is 5 %, at least 256 MiB and at most 1 GiB.',
    ),
    'automatic',
  ),
  smtpUrl: {
    ...address(
      'SLIPWAY_SMTP_URL',
      'smtp:// or smtps:// with user and password; letters become files without it.',
      ['smtp:', 'smtps:'],
    ),
    secret: true,
  },
  mailFrom: sender('SLIPWAY_MAIL_FROM', 'Sender of letters.'),
  trustedProxies: integer(
    'SLIPWAY_TRUSTED_PROXIES',
    0,
    [0, 32],
    'Proxies in front that append to X-Forwarded-For.',
  ),
  secret: secret(
    'SLIPWAY_SECRET',
    'Signs upload targets and cookies, and seals the keys of certificates; made once in the data folder without it.',
  ),
  workers: integer('SLIPWAY_WORKERS', 1, [1, 256], 'Processes that share the port.'),
  rateAnonymous: integer(
    'SLIPWAY_RATE_ANONYMOUS',
    5,
    [1, 1e9],
    'Requests an hour for an address without a key.',
  ),
  rateFree: integer('SLIPWAY_RATE_FREE', 60, [1, 1e9], 'Requests an hour for an account on the Free plan.'),
  rateHobby: integer(
    'SLIPWAY_RATE_HOBBY',
    200,
    [1, 1e9],
    'Requests an hour for an account on the Hobby plan.',
  ),
  rateSession: integer(
    'SLIPWAY_RATE_SESSION',
    1000,
    [1, 1e9],
    'Requests an hour for the browser sessions of an account.',
  ),
  rateSignIn: integer('SLIPWAY_RATE_SIGN_IN', 60, [1, 1e9], 'Sign-in requests an hour for an address.'),
  anonymousLifetime: integer(
    'SLIPWAY_ANONYMOUS_LIFETIME',
    86_400,
    [1, 31_536_000],
    'Seconds an anonymous site lives.',
  ),
  anonymousFileBytes: integer(
    'SLIPWAY_ANONYMOUS_FILE_BYTES',
    250 * 2 ** 20,
    [1, 2 ** 40],
    'Largest file, anonymous.',
  ),
  anonymousSiteBytes: integer(
    'SLIPWAY_ANONYMOUS_SITE_BYTES',
    2 ** 30,
    [1, 2 ** 44],
    'Largest site, anonymous.',
  ),
  ownedFileBytes: integer('SLIPWAY_FILE_BYTES', 5 * 2 ** 30, [1, 2 ** 40], 'Largest file of an account.'),
  ownedSiteBytes: integer('SLIPWAY_SITE_BYTES', 10 * 2 ** 30, [1, 2 ** 44], 'Largest site of an account.'),
  manifestBytes: integer('SLIPWAY_MANIFEST_BYTES', 2 * 2 ** 20, [1024, 2 ** 28], 'Largest JSON body.'),
  versionsKept: integer(
    'SLIPWAY_VERSIONS_KEPT',
    10,
    [1, 1000],
    'Versions of a site that were live and are kept.',
  ),
  draftsKept: integer('SLIPWAY_DRAFTS_KEPT', 10, [1, 1000], 'Drafts of a site that are kept.'),
  draftLifetime: integer(
    'SLIPWAY_DRAFT_LIFETIME',
    2_592_000,
    [60, 31_536_000],
    'Seconds a draft is kept at most.',
  ),
  pendingLifetime: integer(
    'SLIPWAY_PENDING_LIFETIME',
    86_400,
    [60, 31_536_000],
    'Seconds a version may stay pending.',
  ),
  blobGrace: integer(
    'SLIPWAY_BLOB_GRACE',
    1800,
    [0, 31_536_000],
    'Seconds before a blob that nothing names is deleted.',
  ),
  drainSeconds: integer(
    'SLIPWAY_DRAIN_SECONDS',
    30,
    [0, 3600],
    'Seconds that SIGTERM gives to what is under way.',
  ),
  cacheBytes: integer(
    'SLIPWAY_CACHE_BYTES',
    256 * 2 ** 20,
    [2 ** 20, 2 ** 40],
    'Memory for warm sites, in bytes, a process.',
  ),
  clientMemoryBytes: integer(
    'SLIPWAY_CLIENT_MEMORY_BYTES',
    256 * 2 ** 20,
    [2 ** 20, 2 ** 40],
    'Memory for requests and responses in progress, in bytes, a process; one address a quarter of it.',
  ),
  connectionsPerAddress: integer(
    'SLIPWAY_CONNECTIONS_PER_ADDRESS',
    2000,
    [1, 1_000_000],
    'Connections that an IPv4 address, or a /64 of IPv6, may have open at a process; no limit with trusted proxies.',
  ),
  fastPath: renamed(
    'SLIPWAY_FAST_LANE',
    oneOf(
      'SLIPWAY_FAST_PATH',
      'on',
      ['on', 'off'],
      "Whether plain requests of visitors pass Node's parser by; `off` gives the same answers, slower.",
    ),
  ),
  http2: oneOf(
    'SLIPWAY_HTTP2',
    'own',
    ['own', 'node', 'off'],
    "The implementation of HTTP/2: `own`; `node`, Node's, slower and with fewer limits; `off` for HTTP/1.1 only.",
  ),
  visits: oneOf(
    'SLIPWAY_VISITS',
    'on',
    ['on', 'off'],
    'Whether visits of sites are counted, without cookies and without keeping addresses.',
  ),
  uploadsAtOnce: integer(
    'SLIPWAY_UPLOADS_AT_ONCE',
    256,
    [1, 100_000],
    'Uploads and archives a process takes at the same time; one address a quarter of them.',
  ),
  log: oneOf('SLIPWAY_LOG', 'info', LOG_LEVELS, 'Least level that is logged.'),
} as const

const renamedSettings = Object.values<Setting<unknown>>(settings).filter(
  ({ formerName }) => formerName !== undefined,
)

/** Settings that must be given together. */
const REQUIRED_PAIRS = [
  ['tlsCertFile', 'tlsKeyFile'],
  ['acmeEabKeyId', 'acmeEabHmacKey'],
] as const

/** Settings that need different ports. */
const PORT_SETTINGS = ['port', 'httpsPort', 'internalPort'] as const

type SettingValues = {
  [K in keyof typeof settings]: (typeof settings)[K] extends Setting<infer T> ? T : never
}

/** All settings of the service, read once and frozen. Sizes are bytes, times seconds. */
export type Config = Readonly<
  SettingValues & {
    dnsHookEnvironment: Readonly<Record<string, string>>
    /** Sentences for the log of the start: one for each setting with its former name. */
    warnings: readonly string[]
  }
>

/** Variables of the service that every program may read. */
const PUBLIC_VARIABLES = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR']

/** Invalid settings: one line per setting with its name, value and allowed values. */
export class ConfigError extends Error {}

/**
 * Reads the settings from `environment` and freezes them; throws ConfigError with a line for each invalid
 * one. A former name counts where the present one is not set.
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(settings) as [string, Setting<unknown>][]) {
    const name = isSetByFormerName(setting, environment) ? setting.formerName! : setting.name
    const given = environment[name]
    if (given === undefined || given === '') values[key] = setting.defaultValue
    else {
      try {
        values[key] = setting.read(given)
      } catch (error) {
        const displayed = setting.secret ? '(hidden)' : JSON.stringify(given)
        problems.push(`${name}=${displayed} is not allowed: ${(error as Error).message}`)
      }
    }
  }
  const known = new Set(Object.values(settings).map((setting) => setting.name as string))
  const former = new Set(renamedSettings.map(({ formerName }) => formerName))
  for (const name of Object.keys(environment)) {
    if (name.startsWith('SLIPWAY_') && !known.has(name) && !former.has(name) && !CLIENT_VARIABLES.has(name))
      problems.push(unknownSetting(name, known))
  }
  for (const [one, other] of REQUIRED_PAIRS)
    problems.push(...missingPair(values, one, other), ...missingPair(values, other, one))
  problems.push(...duplicatePorts(values))
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return withDefaults(values as SettingValues, environment)
}

/** Rows for `slipway-server settings` and the documentation: name, default, meaning. */
export function describeSettings(): { name: string; defaultValue: string; description: string }[] {
  return Object.values(settings).map(({ name, defaultValue, description, ...rest }) => ({
    name,
    defaultValue: 'defaultLabel' in rest ? rest.defaultLabel! : String(defaultValue),
    description,
  }))
}

/** Variables of the client, which the server ignores. */
const CLIENT_VARIABLES = new Set(['SLIPWAY_URL', 'SLIPWAY_KEY', 'SLIPWAY_SITE_PASSWORD'])

function isSetByFormerName(
  { name, formerName }: Setting<unknown>,
  environment: Record<string, string | undefined>,
): boolean {
  return formerName !== undefined && Boolean(environment[formerName]) && !environment[name]
}

function withDefaults(values: SettingValues, environment: Record<string, string | undefined>): Config {
  const { siteDomain } = values
  return Object.freeze({
    ...values,
    data: resolve(values.data),
    proxyHost: values.proxyHost || `domains.${siteDomain}`,
    mailFrom: values.mailFrom || `Slipway <slipway@${siteDomain}>`,
    dnsHookEnvironment: hookEnvironment(environment, values.dnsHookVariables),
    warnings: formerNameWarnings(environment),
  })
}

function formerNameWarnings(environment: Record<string, string | undefined>): readonly string[] {
  return renamedSettings
    .filter(({ formerName }) => environment[formerName!])
    .map(({ name, formerName }) => `${formerName} is now ${name}; the next version refuses the old name`)
}

/** The environment of the DNS hook: none of the service's own settings, which hold its secrets. */
function hookEnvironment(
  environment: Record<string, string | undefined>,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const passed = new Set([...PUBLIC_VARIABLES, ...names])
  const isPassed = (name: string) => passed.has(name) || name.startsWith('DNS_HOOK_')
  const entries = Object.entries(environment).filter(([name, value]) => isPassed(name) && value !== undefined)
  return Object.freeze(Object.fromEntries(entries) as Record<string, string>)
}

function missingPair(
  values: Record<string, unknown>,
  one: keyof SettingValues,
  other: keyof SettingValues,
): string[] {
  if (!values[one] || values[other] !== '') return []
  return [`${settings[one].name} needs ${settings[other].name} beside it`]
}

/** Workers would share one port for both and respond with either. */
function duplicatePorts(values: Record<string, unknown>): string[] {
  const taken = new Map<unknown, string>()
  return PORT_SETTINGS.flatMap((key) => {
    const { [key]: port } = values
    const other = port ? taken.get(port) : undefined
    taken.set(port, settings[key].name)
    return other ? [`${settings[key].name}=${port} is not allowed: ${other} is the same port`] : []
  })
}

function unknownSetting(name: string, known: Set<string>): string {
  const near = [...known].find((candidate) => candidate.startsWith(name) || name.startsWith(candidate))
  return `${name} is not a setting${near ? `; did you mean ${near}?` : ''}; \`slipway-server settings\` lists them all`
}
