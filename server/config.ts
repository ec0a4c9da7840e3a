import { resolve } from 'node:path'
import { LOG_LEVELS } from './log.ts'
import {
  address,
  base64url,
  certificateFile,
  dnsServers,
  file,
  hostName,
  mailAddress,
  oneOf,
  optional,
  origin,
  program,
  type Setting,
  secret,
  sender,
  text,
  whole,
} from './setting.ts'

const settings = {
  host: text('SLIPWAY_HOST', 'localhost', 'Where HTTP listens; localhost means both loopback addresses.'),
  port: whole('SLIPWAY_PORT', 8080, [0, 65535], 'The port of HTTP; 0 takes a free one.'),
  baseUrl: origin('SLIPWAY_BASE_URL', 'The address of the API and the web pages, {base_url}.'),
  siteDomain: hostName('SLIPWAY_SITE_DOMAIN', 'localhost', 'Sites live at <slug>.{site_domain}.'),
  proxyHost: hostName(
    'SLIPWAY_PROXY_HOST',
    '',
    'What custom domains point to, {proxy_host}; domains.{site_domain} without it.',
  ),
  httpsPort: optional(
    whole('SLIPWAY_HTTPS_PORT', 0, [0, 65535], 'The port of HTTPS, usually 443; 0 takes a free one.'),
    'off',
  ),
  internalPort: optional(
    whole(
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
  dnsServers: dnsServers(
    'SLIPWAY_DNS_SERVERS',
    'Servers that domains are looked up at; those of the system without it.',
  ),
  data: text('SLIPWAY_DATA', './data', 'Folder of the database, blobs, letters and the secret.'),
  smtpUrl: {
    ...address(
      'SLIPWAY_SMTP_URL',
      'smtp:// or smtps:// with user and password; letters become files without it.',
      ['smtp:', 'smtps:'],
    ),
    secret: true,
  },
  mailFrom: sender('SLIPWAY_MAIL_FROM', 'Sender of letters.'),
  trustedProxies: whole(
    'SLIPWAY_TRUSTED_PROXIES',
    0,
    [0, 32],
    'Proxies in front that append to X-Forwarded-For.',
  ),
  secret: secret(
    'SLIPWAY_SECRET',
    'Signs upload targets and cookies, and seals the keys of certificates; made once in the data folder without it.',
  ),
  workers: whole('SLIPWAY_WORKERS', 1, [1, 256], 'Processes that share the port.'),
  rateAnonymous: whole(
    'SLIPWAY_RATE_ANONYMOUS',
    5,
    [1, 1e9],
    'Requests an hour for an address without a key.',
  ),
  rateFree: whole('SLIPWAY_RATE_FREE', 60, [1, 1e9], 'Requests an hour for an account on the Free plan.'),
  rateHobby: whole('SLIPWAY_RATE_HOBBY', 200, [1, 1e9], 'Requests an hour for an account on the Hobby plan.'),
  rateSignIn: whole('SLIPWAY_RATE_SIGN_IN', 60, [1, 1e9], 'Sign-in requests an hour for an address.'),
  anonymousLifetime: whole(
    'SLIPWAY_ANONYMOUS_LIFETIME',
    86_400,
    [1, 31_536_000],
    'Seconds an anonymous site lives.',
  ),
  anonymousFileBytes: whole(
    'SLIPWAY_ANONYMOUS_FILE_BYTES',
    250 * 2 ** 20,
    [1, 2 ** 40],
    'Largest file, anonymous.',
  ),
  anonymousSiteBytes: whole(
    'SLIPWAY_ANONYMOUS_SITE_BYTES',
    2 ** 30,
    [1, 2 ** 44],
    'Largest site, anonymous.',
  ),
  ownedFileBytes: whole('SLIPWAY_FILE_BYTES', 5 * 2 ** 30, [1, 2 ** 40], 'Largest file of an account.'),
  ownedSiteBytes: whole('SLIPWAY_SITE_BYTES', 10 * 2 ** 30, [1, 2 ** 44], 'Largest site of an account.'),
  manifestBytes: whole('SLIPWAY_MANIFEST_BYTES', 2 * 2 ** 20, [1024, 2 ** 28], 'Largest JSON body.'),
  versionsKept: whole('SLIPWAY_VERSIONS_KEPT', 10, [1, 1000], 'Versions of a site that are kept.'),
  pendingLifetime: whole(
    'SLIPWAY_PENDING_LIFETIME',
    86_400,
    [60, 31_536_000],
    'Seconds a version may stay pending.',
  ),
  blobGrace: whole(
    'SLIPWAY_BLOB_GRACE',
    1800,
    [0, 31_536_000],
    'Seconds before a blob that nothing names is deleted.',
  ),
  drainSeconds: whole(
    'SLIPWAY_DRAIN_SECONDS',
    30,
    [0, 3600],
    'Seconds that SIGTERM gives to what is under way.',
  ),
  cacheBytes: whole(
    'SLIPWAY_CACHE_BYTES',
    256 * 2 ** 20,
    [2 ** 20, 2 ** 40],
    'Memory for warm sites, in bytes, a process.',
  ),
  fastLane: oneOf(
    'SLIPWAY_FAST_LANE',
    'on',
    ['on', 'off'],
    "Whether plain requests of visitors pass Node's parser by; `off` gives the same answers, slower.",
  ),
  visits: oneOf(
    'SLIPWAY_VISITS',
    'on',
    ['on', 'off'],
    'Whether visits of sites are counted, without cookies and without keeping addresses.',
  ),
  uploadsAtOnce: whole(
    'SLIPWAY_UPLOADS_AT_ONCE',
    256,
    [1, 100_000],
    'Uploads and archives a process takes at the same time; one address a quarter of them.',
  ),
  log: oneOf('SLIPWAY_LOG', 'info', LOG_LEVELS, 'Least level that is logged.'),
} as const

/** Settings that mean something only together. */
const PAIRS = [
  ['tlsCertFile', 'tlsKeyFile'],
  ['acmeEabKeyId', 'acmeEabHmacKey'],
] as const

/** Each needs a port of its own. */
const PORTS = ['port', 'httpsPort', 'internalPort'] as const

type Values = {
  [K in keyof typeof settings]: (typeof settings)[K] extends Setting<infer T> ? T : never
}

/** Every setting of the service, read once and frozen. Sizes are bytes, times seconds. */
export type Config = Readonly<Values>

/** Thrown when settings are wrong: one line a setting, naming it, its value and what is allowed. */
export class ConfigError extends Error {}

/** Reads the settings from `environment` and freezes them; throws ConfigError with a line for each wrong one. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const wrong: string[] = []
  const values: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(settings) as [string, Setting<unknown>][]) {
    const given = environment[setting.name]
    if (given === undefined || given === '') values[key] = setting.fallback
    else {
      try {
        values[key] = setting.read(given)
      } catch (error) {
        const shown = setting.secret ? '(hidden)' : JSON.stringify(given)
        wrong.push(`${setting.name}=${shown} is not allowed: ${(error as Error).message}`)
      }
    }
  }
  const known = new Set(Object.values(settings).map((setting) => setting.name as string))
  for (const name of Object.keys(environment)) {
    if (name.startsWith('SLIPWAY_') && !known.has(name) && !FOR_CLIENTS.has(name))
      wrong.push(misspelt(name, known))
  }
  for (const [one, other] of PAIRS) wrong.push(...lonely(values, one, other), ...lonely(values, other, one))
  wrong.push(...samePort(values))
  if (wrong.length > 0) throw new ConfigError(wrong.join('\n'))
  return complete(values as Values)
}

/** Rows for `slipway-server settings` and the documentation: name, default, meaning. */
export function settingRows(): { name: string; fallback: string; means: string }[] {
  return Object.values(settings).map(({ name, fallback, means, ...rest }) => ({
    name,
    fallback: 'without' in rest ? rest.without! : String(fallback),
    means,
  }))
}

/** Variables that the client reads and the server passes over. */
const FOR_CLIENTS = new Set(['SLIPWAY_URL', 'SLIPWAY_KEY', 'SLIPWAY_SITE_PASSWORD'])

function complete(values: Values): Config {
  const { siteDomain } = values
  return Object.freeze({
    ...values,
    data: resolve(values.data),
    proxyHost: values.proxyHost || `domains.${siteDomain}`,
    mailFrom: values.mailFrom || `Slipway <slipway@${siteDomain}>`,
  })
}

function lonely(values: Record<string, unknown>, one: keyof Values, other: keyof Values): string[] {
  if (!values[one] || values[other] !== '') return []
  return [`${settings[one].name} needs ${settings[other].name} beside it`]
}

/** Workers would share one port for both, and answer with either. */
function samePort(values: Record<string, unknown>): string[] {
  const taken = new Map<unknown, string>()
  return PORTS.flatMap((key) => {
    const { [key]: port } = values
    const other = port ? taken.get(port) : undefined
    taken.set(port, settings[key].name)
    return other ? [`${settings[key].name}=${port} is not allowed: ${other} is the same port`] : []
  })
}

function misspelt(name: string, known: Set<string>): string {
  const near = [...known].find((candidate) => candidate.startsWith(name) || name.startsWith(candidate))
  return `${name} is not a setting${near ? `; did you mean ${near}?` : ''}; \`slipway-server settings\` lists them all`
}
