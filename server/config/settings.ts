import { resolve } from 'node:path'
import { MAX_FILES } from '../../protocol/manifest/manifest.ts'
import { findNearest } from '../../protocol/nearest.ts'
import { LOG_LEVELS } from '../lib/log.ts'
import { DAY_SECONDS } from '../lib/time.ts'
import { deploymentWarnings } from './deployment-warnings.ts'
import { hookEnvironment } from './hook-environment.ts'
import {
  address,
  base64url,
  bucketUrl,
  bytes,
  bytesOrPercent,
  certificateFile,
  databaseUrl,
  dnsServers,
  duration,
  file,
  hostName,
  integer,
  issuers,
  labels,
  mailAddress,
  networks,
  oneOf,
  optional,
  origin,
  planName,
  program,
  readValue,
  renamed,
  type Setting,
  secret,
  sender,
  text,
  unlimitable,
  variableNames,
} from './setting-types.ts'

const YEAR_SECONDS = 365 * DAY_SECONDS

const settings = {
  host: text(
    'SLIPWAY_HOST',
    'localhost',
    'Address that HTTP and HTTPS listen on. `localhost` is this machine only; `0.0.0.0` is every network.',
  ),
  port: integer('SLIPWAY_PORT', 8080, [0, 65535], 'HTTP port. `0` picks a free port.'),
  baseUrl: origin(
    'SLIPWAY_BASE_URL',
    'Public URL of the dashboard and the API. Default: `http://localhost:PORT`.',
  ),
  siteDomain: hostName(
    'SLIPWAY_SITE_DOMAIN',
    'localhost',
    'Domain of published sites: each site is at SLUG.DOMAIN.',
  ),
  proxyHost: hostName(
    'SLIPWAY_PROXY_HOST',
    '',
    'Host name that custom domains point to with a CNAME record. Default: `domains.` and the site domain.',
  ),
  reservedNames: labels(
    'SLIPWAY_RESERVED_NAMES',
    'Names that no site can have, in addition to `www`, `api`, `admin` and similar names, separated by commas.',
  ),
  httpsPort: optional(
    integer('SLIPWAY_HTTPS_PORT', 0, [0, 65535], 'HTTPS port, usually 443. `0` picks a free port.'),
    'off',
  ),
  internalPort: optional(
    integer(
      'SLIPWAY_INTERNAL_PORT',
      0,
      [0, 65535],
      'Port of the endpoint `/internal/tls-allowed`, which a reverse proxy queries before it orders a certificate.',
    ),
    'off',
  ),
  internalHost: text(
    'SLIPWAY_INTERNAL_HOST',
    'localhost',
    'Address that the internal port listens on. Use `0.0.0.0` only in a container whose port is published to 127.0.0.1.',
  ),
  acmeUrl: address(
    'SLIPWAY_ACME_URL',
    'ACME directory (RFC 8555) of the certificate authority.',
    ['https:'],
    'https://acme-v02.api.letsencrypt.org/directory',
  ),
  acmeEmail: mailAddress(
    'SLIPWAY_ACME_EMAIL',
    'Email address of the operator, for messages of the certificate authority.',
  ),
  acmeCaFile: certificateFile(
    'SLIPWAY_ACME_CA_FILE',
    'PEM file of an additional root certificate to trust for the ACME directory.',
  ),
  acmeProfile: text(
    'SLIPWAY_ACME_PROFILE',
    '',
    'Certificate profile to request from the certificate authority.',
  ),
  acmeEabKeyId: text(
    'SLIPWAY_ACME_EAB_KEY_ID',
    '',
    'Key ID for external account binding, if the certificate authority requires it.',
  ),
  acmeEabHmacKey: base64url(
    'SLIPWAY_ACME_EAB_HMAC_KEY',
    'HMAC key for external account binding, in base64url.',
  ),
  tlsCertFile: file(
    'SLIPWAY_TLS_CERT_FILE',
    'PEM file of a certificate chain, such as the wildcard certificate of the site domain. Read again when it changes.',
  ),
  tlsKeyFile: file('SLIPWAY_TLS_KEY_FILE', 'PEM file of the private key for `SLIPWAY_TLS_CERT_FILE`.'),
  dnsHook: program(
    'SLIPWAY_DNS_HOOK',
    'Program that creates and removes TXT records, to obtain the wildcard certificate with ACME DNS-01.',
  ),
  dnsHookVariables: variableNames(
    'SLIPWAY_DNS_HOOK_VARIABLES',
    'Additional environment variables to pass to the DNS hook, separated by commas.',
  ),
  siteCertificates: optional(
    integer(
      'SLIPWAY_SITE_CERTIFICATES',
      0,
      [1, 10_000],
      'First certificates per week for the hosts of single sites, without a wildcard certificate; a small server can use 40. Only for sites of accounts.',
    ),
    'off',
  ),
  dnsServers: dnsServers(
    'SLIPWAY_DNS_SERVERS',
    'DNS servers for checking custom domains, separated by commas. Default: the servers of the system.',
  ),
  data: text('SLIPWAY_DATA', './data', 'Folder of the database, files of sites, emails and the secret.'),
  databaseUrl: databaseUrl(
    'SLIPWAY_DATABASE_URL',
    'PostgreSQL database that all nodes of a fleet share: postgres://user:password@host:port/database, with several hosts separated by commas. Default: an SQLite database in the data folder.',
  ),
  blobsUrl: bucketUrl(
    'SLIPWAY_BLOBS_URL',
    'Bucket of S3 for the files of sites: s3://bucket/prefix?region=name, with endpoint=https://host for servers other than AWS. Default: the data folder.',
  ),
  cacheDiskBytes: bytes(
    'SLIPWAY_CACHE_DISK_BYTES',
    5 * 2 ** 30,
    [2 ** 26, 2 ** 44],
    'With a bucket: disk space in the data folder for copies of files that were read recently.',
  ),
  spoolBytes: unlimitable(
    bytes(
      'SLIPWAY_SPOOL_BYTES',
      20 * 2 ** 30,
      [2 ** 20, 2 ** 44],
      'Disk space per process in the data folder for zip archives while they are received. One IP address can use half of it. A size or `unlimited`.',
    ),
  ),
  diskReserve: optional(
    bytesOrPercent(
      'SLIPWAY_DISK_RESERVE',
      'Free disk space below which publishing is refused: a size or a percentage. `automatic` is 5 %, at least 268 MB and at most 1.1 GB.',
    ),
    'automatic',
  ),
  smtpUrl: {
    ...address(
      'SLIPWAY_SMTP_URL',
      'SMTP server for emails: smtp:// or smtps:// with user and password. Without it, emails are written to files and sign-in codes to the terminal.',
      ['smtp:', 'smtps:'],
    ),
    secret: true,
  },
  mailFrom: sender('SLIPWAY_MAIL_FROM', 'Sender address of emails. Default: slipway@ and the site domain.'),
  trustedProxies: integer(
    'SLIPWAY_TRUSTED_PROXIES',
    0,
    [0, 32],
    'Number of reverse proxies in front that append to `X-Forwarded-For`.',
  ),
  proxyProtocol: optional(
    networks(
      'SLIPWAY_PROXY_PROTOCOL',
      'Whether each connection begins with a PROXY protocol header, version 1 or 2, and from which balancers: `private` for loopback and private addresses, or addresses and networks, separated by commas.',
    ),
    'off',
  ),
  oidcIssuers: issuers(
    'SLIPWAY_OIDC_ISSUERS',
    'Forges whose CI jobs can publish without a stored secret: `github`, `gitlab`, and others with the URL of their issuer, such as `gitlab=https://gitlab.example.com`, separated by commas; or `off`.',
  ),
  secret: secret(
    'SLIPWAY_SECRET',
    'Secret that signs upload URLs and cookies and encrypts the private keys of certificates. Default: generated once, in the data folder.',
  ),
  secretPrevious: secret(
    'SLIPWAY_SECRET_PREVIOUS',
    'Another secret that is accepted beside `SLIPWAY_SECRET`, while one replaces the other.',
  ),
  workers: integer('SLIPWAY_WORKERS', 1, [1, 256], 'Number of server processes that share the ports.'),
  rateAnonymous: unlimitable(
    integer(
      'SLIPWAY_RATE_ANONYMOUS',
      5,
      [1, 1e9],
      'API requests per hour for an IP address without an account. A number or `unlimited`.',
    ),
  ),
  rateFree: unlimitable(
    integer(
      'SLIPWAY_RATE_FREE',
      60,
      [1, 1e9],
      'API requests per hour for an account on the first plan. A number or `unlimited`.',
    ),
  ),
  rateHobby: unlimitable(
    integer(
      'SLIPWAY_RATE_HOBBY',
      200,
      [1, 1e9],
      'API requests per hour for an account on the second plan. A number or `unlimited`.',
    ),
  ),
  rateSession: unlimitable(
    integer(
      'SLIPWAY_RATE_SESSION',
      1000,
      [1, 1e9],
      'Requests per hour for the browser sessions of an account. A number or `unlimited`.',
    ),
  ),
  rateSignIn: integer('SLIPWAY_RATE_SIGN_IN', 60, [1, 1e9], 'Sign-in requests per hour for an IP address.'),
  planFree: planName(
    'SLIPWAY_PLAN_FREE',
    'Free',
    'Displayed name of the first plan, which new accounts have.',
  ),
  planHobby: planName('SLIPWAY_PLAN_HOBBY', 'Hobby', 'Displayed name of the second plan.'),
  domainsFree: unlimitable(
    integer(
      'SLIPWAY_DOMAINS_FREE',
      1,
      [0, 1e6],
      'Custom domains of an account on the first plan. A number or `unlimited`.',
    ),
  ),
  domainsHobby: unlimitable(
    integer(
      'SLIPWAY_DOMAINS_HOBBY',
      5,
      [0, 1e6],
      'Custom domains of an account on the second plan. A number or `unlimited`.',
    ),
  ),
  anonymousLifetime: duration(
    'SLIPWAY_ANONYMOUS_LIFETIME',
    DAY_SECONDS,
    [1, YEAR_SECONDS],
    'Lifetime of a site without an account.',
  ),
  anonymousFiles: integer(
    'SLIPWAY_ANONYMOUS_FILES',
    1000,
    [1, MAX_FILES],
    'Maximum number of files of a site without an account.',
  ),
  anonymousFileBytes: unlimitable(
    bytes(
      'SLIPWAY_ANONYMOUS_FILE_BYTES',
      250 * 2 ** 20,
      [1, 2 ** 40],
      'Maximum size of a file of a site without an account. A size or `unlimited`.',
    ),
  ),
  anonymousSiteBytes: unlimitable(
    bytes(
      'SLIPWAY_ANONYMOUS_SITE_BYTES',
      2 ** 30,
      [1, 2 ** 44],
      'Maximum total size of a site without an account. A size or `unlimited`.',
    ),
  ),
  ownedFiles: integer('SLIPWAY_FILES', 1000, [1, MAX_FILES], 'Maximum number of files of a site.'),
  ownedFileBytes: unlimitable(
    bytes(
      'SLIPWAY_FILE_BYTES',
      5 * 2 ** 30,
      [1, 2 ** 40],
      'Maximum size of a file of a site. A size or `unlimited`.',
    ),
  ),
  ownedSiteBytes: unlimitable(
    bytes(
      'SLIPWAY_SITE_BYTES',
      10 * 2 ** 30,
      [1, 2 ** 44],
      'Maximum total size of a site. A size or `unlimited`.',
    ),
  ),
  manifestBytes: bytes(
    'SLIPWAY_MANIFEST_BYTES',
    2 * 2 ** 20,
    [1024, 2 ** 28],
    'Maximum size of a JSON request body.',
  ),
  versionsKept: integer(
    'SLIPWAY_VERSIONS_KEPT',
    10,
    [1, 1000],
    'Number of live versions to keep for each site.',
  ),
  draftsKept: integer('SLIPWAY_DRAFTS_KEPT', 10, [1, 1000], 'Number of drafts to keep for each site.'),
  draftLifetime: duration(
    'SLIPWAY_DRAFT_LIFETIME',
    30 * DAY_SECONDS,
    [60, YEAR_SECONDS],
    'Lifetime of a draft.',
  ),
  previews: integer('SLIPWAY_PREVIEWS', 50, [1, 1000], 'Maximum number of previews of a site.'),
  previewLifetime: duration(
    'SLIPWAY_PREVIEW_LIFETIME',
    30 * DAY_SECONDS,
    [60, YEAR_SECONDS],
    'Lifetime of a preview after its last change, unless its publish sets another one.',
  ),
  trashLifetime: duration(
    'SLIPWAY_TRASH_LIFETIME',
    30 * DAY_SECONDS,
    [0, YEAR_SECONDS],
    'Time in which a deleted site can be restored. With 0 there is no trash.',
  ),
  pendingLifetime: duration(
    'SLIPWAY_PENDING_LIFETIME',
    DAY_SECONDS,
    [60, YEAR_SECONDS],
    'Time in which an upload must be finalized.',
  ),
  blobGrace: duration(
    'SLIPWAY_BLOB_GRACE',
    1800,
    [0, YEAR_SECONDS],
    'Time after which files that no version uses are deleted. Must be longer than a backup takes.',
  ),
  readySeconds: optional(
    duration(
      'SLIPWAY_READY_SECONDS',
      0,
      [0, 600],
      'Time after SIGTERM in which connections are still accepted while `/ready` returns 503, so that balancers stop using the node. `automatic` is 5s with `SLIPWAY_DATABASE_URL`, otherwise 0.',
    ),
    'automatic',
  ),
  drainSeconds: duration(
    'SLIPWAY_DRAIN_SECONDS',
    30,
    [0, 3600],
    'Time for requests in progress to finish after SIGTERM and `SLIPWAY_READY_SECONDS`.',
  ),
  staleSeconds: duration(
    'SLIPWAY_STALE_SECONDS',
    3600,
    [0, 30 * DAY_SECONDS],
    'How long cached sites are served while the database is unreachable.',
  ),
  cacheBytes: bytes(
    'SLIPWAY_CACHE_BYTES',
    256 * 2 ** 20,
    [2 ** 20, 2 ** 40],
    'Memory per process for cached sites.',
  ),
  clientMemoryBytes: bytes(
    'SLIPWAY_CLIENT_MEMORY_BYTES',
    256 * 2 ** 20,
    [2 ** 20, 2 ** 40],
    'Memory per process for requests and responses in progress. One IP address can use a quarter of it.',
  ),
  connectionsPerAddress: unlimitable(
    integer(
      'SLIPWAY_CONNECTIONS_PER_ADDRESS',
      2000,
      [1, 1_000_000],
      'Open connections per process for an IPv4 address or an IPv6 /64 network; not applied behind trusted proxies. A number or `unlimited`.',
    ),
  ),
  fastPath: renamed(
    'SLIPWAY_FAST_LANE',
    oneOf(
      'SLIPWAY_FAST_PATH',
      'on',
      ['on', 'off'],
      "Parse simple requests to sites without Node's HTTP parser. `off` gives the same responses, slower.",
    ),
  ),
  http2: oneOf(
    'SLIPWAY_HTTP2',
    'own',
    ['own', 'node', 'off'],
    "HTTP/2 implementation: `own`; `node` for Node's, which is slower and has fewer limits; `off` for HTTP/1.1 only.",
  ),
  visits: oneOf(
    'SLIPWAY_VISITS',
    'on',
    ['on', 'off'],
    'Count visits to sites, without cookies and without storing IP addresses.',
  ),
  uploadsAtOnce: integer(
    'SLIPWAY_UPLOADS_AT_ONCE',
    256,
    [1, 100_000],
    'Concurrent uploads and archives per process. One IP address can use a quarter of them.',
  ),
  log: oneOf('SLIPWAY_LOG', 'info', LOG_LEVELS, 'Minimum level of log messages.'),
} as const

const renamedSettings = Object.values<Setting<unknown>>(settings).filter(
  ({ formerName }) => formerName !== undefined,
)

/** Settings that must be given together. */
const REQUIRED_PAIRS = [
  ['tlsCertFile', 'tlsKeyFile'],
  ['acmeEabKeyId', 'acmeEabHmacKey'],
] as const

/** Settings that the nodes of one database share, so that none of them may have a default of its own. */
const REQUIRED_WITH_DATABASE = {
  secret: 'all nodes of a database sign and encrypt with one secret',
  baseUrl: 'all nodes of a database have one public URL',
  smtpUrl: 'a sign-in code in a file would stay on the node that created it',
} as const

/** Settings that need different ports. */
const PORT_SETTINGS = ['port', 'httpsPort', 'internalPort'] as const

type SettingValues = {
  [K in keyof typeof settings]: (typeof settings)[K] extends Setting<infer T> ? T : never
}

/** All settings of the service, read once and frozen. Sizes are bytes, times seconds. */
export type Config = Readonly<
  SettingValues & {
    readySeconds: number
    /** The target of `move`, whose arguments other users of the machine can see. */
    moveDatabaseUrl: string
    dnsHookEnvironment: Readonly<Record<string, string>>
    /** Sentences for the log of the start: settings with their former names, and combinations that rarely are intended. */
    warnings: readonly string[]
  }
>

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
    try {
      values[key] = given ? readValue({ ...setting, name }, given) : setting.defaultValue
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  const known = new Set(Object.values(settings).map((setting) => setting.name as string))
  const former = new Set(renamedSettings.map(({ formerName }) => formerName))
  for (const name of Object.keys(environment)) {
    if (name.startsWith('SLIPWAY_') && !known.has(name) && !former.has(name) && !OTHER_VARIABLES.has(name))
      problems.push(unknownSetting(name, known))
  }
  for (const [one, other] of REQUIRED_PAIRS)
    problems.push(...missingPair(values, one, other), ...missingPair(values, other, one))
  problems.push(...missingWithDatabase(values as SettingValues), ...twoKindsOfProxies(values))
  problems.push(...duplicatePorts(values), ...duplicatePlanNames(values as SettingValues))
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return withDefaults(values as SettingValues, environment)
}

interface SettingRow {
  name: string
  defaultValue: string
  /** The value in effect as it is given, without secrets. */
  value: string
  description: string
}

/** Rows for `slipway-server settings` and the documentation. */
export function describeSettings(environment: Record<string, string | undefined> = {}): SettingRow[] {
  return Object.values<Setting<unknown>>(settings).map((setting) => {
    const { name, formerName, defaultLabel, description } = setting
    const given = environment[isSetByFormerName(setting, environment) ? formerName! : name]
    const defaultValue = defaultLabel ?? String(setting.defaultValue)
    const value = given && setting.secret ? '(hidden)' : given || defaultValue
    return { name, defaultValue, value, description }
  })
}

/** Variables of the client, which the server ignores, and of a single command. */
const OTHER_VARIABLES = new Set([
  'SLIPWAY_URL',
  ...['SLIPWAY_KEY', 'SLIPWAY_ID_TOKEN', 'SLIPWAY_SITE_PASSWORD'],
  'SLIPWAY_MOVE_DATABASE_URL',
])

function isSetByFormerName(
  { name, formerName }: Setting<unknown>,
  environment: Record<string, string | undefined>,
): boolean {
  return formerName !== undefined && Boolean(environment[formerName]) && !environment[name]
}

/** Two checks of a balancer, with its default interval of 2 seconds. */
const FLEET_READY_SECONDS = 5

function withDefaults(values: SettingValues, environment: Record<string, string | undefined>): Config {
  const { siteDomain } = values
  return Object.freeze({
    ...values,
    data: resolve(values.data),
    readySeconds: values.readySeconds ?? (values.databaseUrl === '' ? 0 : FLEET_READY_SECONDS),
    moveDatabaseUrl: environment.SLIPWAY_MOVE_DATABASE_URL ?? '',
    proxyHost: values.proxyHost || `domains.${siteDomain}`,
    mailFrom: values.mailFrom || `Slipway <slipway@${siteDomain}>`,
    dnsHookEnvironment: hookEnvironment(environment, values.dnsHookVariables),
    warnings: [
      ...formerNameWarnings(environment),
      ...deploymentWarnings(values, settings.ownedFileBytes.defaultValue),
    ],
  })
}

function formerNameWarnings(environment: Record<string, string | undefined>): readonly string[] {
  return renamedSettings
    .filter(({ formerName }) => environment[formerName!])
    .map(({ name, formerName }) => `${formerName} is now ${name}; the next version refuses the old name`)
}

function missingPair(
  values: Record<string, unknown>,
  one: keyof SettingValues,
  other: keyof SettingValues,
): string[] {
  if (!values[one] || values[other] !== '') return []
  return [`${settings[one].name} needs ${settings[other].name} beside it`]
}

/** The settings that the database needs and that are not set; an invalid value is reported separately. */
function missingWithDatabase(values: SettingValues): string[] {
  if (!values.databaseUrl) return []
  return Object.entries(REQUIRED_WITH_DATABASE).flatMap(([key, reason]) => {
    const { name } = settings[key as keyof typeof REQUIRED_WITH_DATABASE]
    const isMissing = values[key as keyof typeof REQUIRED_WITH_DATABASE] === ''
    return isMissing ? [`SLIPWAY_DATABASE_URL needs ${name} beside it: ${reason}`] : []
  })
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

/** Behind a balancer for TCP, the clients themselves write `X-Forwarded-For`, and could choose their address. */
function twoKindsOfProxies({ trustedProxies, proxyProtocol }: Record<string, unknown>): string[] {
  if (!trustedProxies || proxyProtocol === undefined) return []
  return [
    `SLIPWAY_TRUSTED_PROXIES=${trustedProxies} is not allowed with SLIPWAY_PROXY_PROTOCOL: clients could choose their address with X-Forwarded-For`,
  ]
}

/** Messages and the dashboard show only the names. */
function duplicatePlanNames({ planFree, planHobby }: Partial<SettingValues>): string[] {
  if (planFree?.toLowerCase() !== planHobby?.toLowerCase() || planFree === undefined) return []
  return [
    `SLIPWAY_PLAN_HOBBY=${JSON.stringify(planHobby)} is not allowed: SLIPWAY_PLAN_FREE is the same name`,
  ]
}

const withoutPrefix = (name: string) => name.slice('SLIPWAY_'.length)

function unknownSetting(name: string, known: Set<string>): string {
  const near = findNearest(withoutPrefix(name), [...known].map(withoutPrefix))
  const suggestion = near === undefined ? '' : ` Did you mean SLIPWAY_${near}?`
  return `${name} is not a setting.${suggestion} To list all settings, run: node_modules/.bin/slipway-server settings`
}
