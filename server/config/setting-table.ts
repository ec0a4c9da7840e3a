import { MAX_FILES } from '../../protocol/api/publish.ts'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import { LOG_LEVELS } from '../lib/log.ts'
import { DAY_SECONDS } from '../lib/time.ts'
import { logoFile } from './logo-setting.ts'
import { LIMIT_SETTINGS, planTable } from './plan-settings.ts'
import {
  address,
  backupTarget,
  base64url,
  bucketUrl,
  bytes,
  bytesOrPercent,
  certificateFile,
  color,
  countLimit,
  databaseUrl,
  displayName,
  dnsServers,
  duration,
  file,
  folder,
  hostName,
  integer,
  issuers,
  labels,
  link,
  mailAddress,
  networks,
  oauthClients,
  oneOf,
  onOff,
  optional,
  origin,
  planName,
  program,
  type Setting,
  scanner,
  seconds,
  secret,
  secretAddress,
  sender,
  signUpPolicy,
  sizeLimit,
  text,
  variableNames,
} from './setting-types.ts'

const YEAR_SECONDS = 365 * DAY_SECONDS

const rows = {
  host: text(
    'localhost',
    'Address that HTTP and HTTPS listen on. `localhost` is this machine only; `::` is every network, over IPv6 and IPv4; `0.0.0.0` is IPv4 only.',
  ),
  port: integer(8080, [0, 65535], 'HTTP port. `0` picks a free port.'),
  baseUrl: origin('Public URL of the dashboard and the API. Default: `http://localhost:PORT`.'),
  siteDomain: hostName('localhost', 'Domain of published sites: each site is at SLUG.DOMAIN.'),
  serviceName: displayName(
    DEFAULT_BRANDING.name,
    'Name of the service on its pages, in its emails and in its documents for programs.',
  ),
  termsUrl: link('URL of the terms of service, which pages, emails and the sign-in form link to.'),
  color: color(
    'Color of links and buttons, such as `#0b5a75`. Where its contrast does not suffice, a darker or lighter shade is used.',
  ),
  logo: logoFile(
    'SVG or PNG file with the mark of the service, at most 64 KiB; an SVG without scripts and references to other files.',
  ),
  imprintUrl: link('URL of the imprint, which pages and emails link to.'),
  proxyHost: hostName(
    '',
    'Host name that custom domains point to with a CNAME record. Default: `domains.` and the site domain.',
  ),
  reservedNames: labels(
    'Names that no site can have, in addition to `www`, `api`, `admin` and similar names, separated by commas.',
  ),
  httpsPort: optional(integer(0, [0, 65535], 'HTTPS port, usually 443. `0` picks a free port.'), 'off'),
  internalPort: optional(
    integer(
      0,
      [0, 65535],
      'Port of `/metrics` for Prometheus, and of `/internal/tls-allowed`, which a reverse proxy queries before it orders a certificate.',
    ),
    'off',
  ),
  internalHost: text(
    'localhost',
    'Address that the internal port listens on. Use `0.0.0.0` only in a container whose port is published to 127.0.0.1.',
  ),
  acmeUrl: address(
    'ACME directory (RFC 8555) of the certificate authority.',
    ['https:'],
    'https://acme-v02.api.letsencrypt.org/directory',
  ),
  acmeEmail: mailAddress('Email address of the operator, for messages of the certificate authority.'),
  acmeCaFile: certificateFile('PEM file of an additional root certificate to trust for the ACME directory.'),
  acmeProfile: text('', 'Certificate profile to request from the certificate authority.'),
  acmeEabKeyId: text('', 'Key ID for external account binding, if the certificate authority requires it.'),
  acmeEabHmacKey: base64url('HMAC key for external account binding, in base64url.'),
  tlsCertFile: file(
    'PEM file of a certificate chain, such as the wildcard certificate of the site domain. Read again when it changes.',
  ),
  tlsKeyFile: file('PEM file of the private key for `SLIPWAY_TLS_CERT_FILE`.'),
  dnsHook: program(
    'Program that creates and removes TXT records, to obtain the wildcard certificate with ACME DNS-01.',
  ),
  dnsHookVariables: variableNames(
    'Additional environment variables to pass to the DNS hook, separated by commas.',
  ),
  siteCertificates: optional(
    integer(
      0,
      [1, 10_000],
      'First certificates per week for the hosts of single sites, without a wildcard certificate; a small server can use 40. Only for sites of accounts.',
    ),
    'off',
  ),
  dnsServers: dnsServers(
    'DNS servers for checking custom domains, separated by commas. Default: the servers of the system.',
  ),
  data: folder('./data', 'Folder of the database, files of sites, emails and the secret.'),
  databaseUrl: databaseUrl(
    'PostgreSQL database that all nodes of a fleet share: postgres://user:password@host:port/database, with several hosts separated by commas. Default: an SQLite database in the data folder.',
  ),
  blobsUrl: bucketUrl(
    'Bucket of S3 for the files of sites: s3://bucket/prefix?region=name, with endpoint=https://host for servers other than AWS. Default: the data folder.',
  ),
  backupTarget: backupTarget(
    'Where `slipway-server backup` stores backups unless it is given a target: a folder, or a bucket as in `SLIPWAY_BLOBS_URL`.',
  ),
  backupKeep: integer(
    0,
    [0, 10_000],
    'Number of backups to keep in a target; older ones are deleted after each backup. `0` keeps all.',
  ),
  cacheDiskBytes: bytes(
    5 * 2 ** 30,
    [2 ** 26, 2 ** 44],
    'With a bucket: disk space in the data folder for copies of files that were read recently.',
  ),
  spoolBytes: sizeLimit(
    20 * 2 ** 30,
    [2 ** 20, 2 ** 44],
    'Disk space per process in the data folder for zip archives while they are received. One IP address can use half of it.',
  ),
  diskReserve: optional(
    bytesOrPercent(
      'Free disk space below which publishing is refused: a size or a percentage. `automatic` is 5 %, at least 268 MB and at most 1.1 GB.',
    ),
    'automatic',
  ),
  verifyDaily: {
    ...bytesOrPercent(
      'What is read of the stored files each day and compared with their hashes: a percentage, or a size that limits the requests to a bucket, such as 20GB. `0` disables it.',
    ),
    defaultValue: { percent: 3 },
    defaultLabel: '3%',
  },
  smtpUrl: secretAddress(
    'SMTP server for emails: smtp:// or smtps:// with user and password. Without it, emails are written to files and sign-in codes to the terminal.',
    ['smtp:', 'smtps:'],
  ),
  mailFrom: sender('Sender address of emails. Default: slipway@ and the site domain.'),
  trustedProxies: integer(0, [0, 32], 'Number of reverse proxies in front that append to `X-Forwarded-For`.'),
  proxyProtocol: optional(
    networks(
      'Whether each connection begins with a PROXY protocol header, version 1 or 2, and from which balancers: `private` for loopback and private addresses, or addresses and networks, separated by commas.',
    ),
    'off',
  ),
  oidcIssuers: issuers(
    'Forges whose CI jobs can publish without a stored secret: `github`, `gitlab`, and others with the URL of their issuer, such as `gitlab=https://gitlab.example.com`, separated by commas; or `off`.',
  ),
  oauthClients: oauthClients(
    'Programs that name themselves by the URL of a client ID metadata document, which is never fetched, beside the well-known ones: `Name=https://program.example/client.json https://program.example/callback`, with one or more redirect URIs; separated by commas.',
  ),
  secret: secret(
    'Secret that signs upload URLs and cookies and encrypts the private keys of certificates. Default: generated once, in the data folder.',
  ),
  secretPrevious: secret(
    'Another secret that is accepted beside `SLIPWAY_SECRET`, while one replaces the other.',
  ),
  workers: integer(1, [1, 256], 'Number of server processes that share the ports.'),
  signUp: signUpPolicy(
    'Who can create an account: `open`, `invitation`, `closed`, or `domains:example.com,example.org` for addresses of these domains and invited ones.',
  ),
  anonymousPublishing: onOff('Whether sites can be published without an account.'),
  rateAnonymous: countLimit(5, [1, 1e9], 'API requests per hour for an IP address without an account.'),
  rateFree: LIMIT_SETTINGS.requestsPerHour,
  rateHobby: countLimit(200, [1, 1e9], 'API requests per hour for an account on the second plan.'),
  rateSession: countLimit(1000, [1, 1e9], 'Requests per hour for the browser sessions of an account.'),
  rateSignIn: integer(
    60,
    [1, 1e9],
    'Sign-in requests per hour for an IP address, and as many that pages of other origins send from it. All addresses of an IPv4 /24 or an IPv6 /48 have 20 times as many together.',
  ),
  planTable: planTable(
    'Plans beside `free` and `hobby`, and other limits of these: a JSON object, or the path of a file with one. See docs/plans.md.',
  ),
  planFree: planName('Free', 'Displayed name of the first plan, which new accounts have.'),
  planHobby: planName('Hobby', 'Displayed name of the second plan.'),
  domainsFree: LIMIT_SETTINGS.domains,
  domainsHobby: countLimit(5, [0, 1e6], 'Custom domains of an account on the second plan.'),
  anonymousLifetime: duration(DAY_SECONDS, [1, YEAR_SECONDS], 'Lifetime of a site without an account.'),
  anonymousFiles: integer(1000, [1, MAX_FILES], 'Maximum number of files of a site without an account.'),
  anonymousFileBytes: sizeLimit(
    250 * 2 ** 20,
    [1, 2 ** 40],
    'Maximum size of a file of a site without an account.',
  ),
  anonymousSiteBytes: sizeLimit(2 ** 30, [1, 2 ** 44], 'Maximum total size of a site without an account.'),
  anonymousTotalBytes: sizeLimit(
    20 * 2 ** 30,
    [0, 2 ** 50],
    'Maximum size of all sites without an account together.',
  ),
  anonymousTotalSites: countLimit(100_000, [0, 1e9], 'Maximum number of sites without an account.'),
  anonymousNetworkBytes: sizeLimit(
    2 * 2 ** 30,
    [0, 2 ** 50],
    'Maximum size of the sites without an account that one network published, an IPv4 /24 or an IPv6 /48.',
  ),
  anonymousNetworkSites: countLimit(
    1000,
    [0, 1e9],
    'Maximum number of sites without an account that one network published.',
  ),
  ownedFiles: LIMIT_SETTINGS.filesPerSite,
  ownedFileBytes: LIMIT_SETTINGS.fileBytes,
  ownedSiteBytes: LIMIT_SETTINGS.siteBytes,
  manifestBytes: bytes(2 * 2 ** 20, [1024, 2 ** 28], 'Maximum size of a JSON request body.'),
  versionsKept: LIMIT_SETTINGS.versionsKept,
  draftsKept: LIMIT_SETTINGS.draftsKept,
  draftLifetime: duration(30 * DAY_SECONDS, [60, YEAR_SECONDS], 'Lifetime of a draft.'),
  previews: LIMIT_SETTINGS.previews,
  previewLifetime: duration(
    30 * DAY_SECONDS,
    [60, YEAR_SECONDS],
    'Lifetime of a preview after its last change, unless its publish sets another one.',
  ),
  trashLifetime: duration(
    30 * DAY_SECONDS,
    [0, YEAR_SECONDS],
    'Time in which a deleted site can be restored. With 0 there is no trash.',
  ),
  pendingLifetime: duration(DAY_SECONDS, [60, YEAR_SECONDS], 'Time in which an upload must be finalized.'),
  blobGrace: duration(1800, [0, YEAR_SECONDS], 'Time after which files that no version uses are deleted.'),
  readySeconds: optional(
    seconds(
      0,
      [0, 600],
      'Time after SIGTERM in which connections are still accepted while `/ready` returns 503, so that balancers stop using the node. `automatic` is 5s with `SLIPWAY_DATABASE_URL`, otherwise 0.',
    ),
    'automatic',
  ),
  drainSeconds: seconds(
    30,
    [0, 3600],
    'Time for requests in progress to finish after SIGTERM and `SLIPWAY_READY_SECONDS`.',
  ),
  staleSeconds: seconds(
    3600,
    [0, 30 * DAY_SECONDS],
    'How long cached sites are served while the database is unreachable.',
  ),
  cacheBytes: bytes(256 * 2 ** 20, [2 ** 20, 2 ** 40], 'Memory per process for cached sites.'),
  clientMemoryBytes: bytes(
    256 * 2 ** 20,
    [2 ** 20, 2 ** 40],
    'Memory per process for requests and responses in progress. One IP address can use a quarter of it.',
  ),
  connectionsPerAddress: countLimit(
    2000,
    [1, 1_000_000],
    'Open connections per process for an IPv4 address or an IPv6 /64 network; not applied behind trusted proxies.',
  ),
  fastPath: onOff(
    "Parse simple requests to sites without Node's HTTP parser. `off` gives the same responses, slower.",
  ),
  hsts: oneOf(
    ['service', 'all', 'off'],
    'What tells browsers to use only HTTPS for a year, where this process serves HTTPS: `service`, the dashboard and the API; `all`, sites too, also with custom domains; or `off`.',
  ),
  http2: onOff('HTTP/2. `off` for HTTP/1.1 only.'),
  visits: onOff('Count visits to sites, without cookies and without storing IP addresses.'),
  anonymousNotice: oneOf(
    ['off', 'link', 'page'],
    'Notice to visitors of anonymous sites: `link` adds a link to the form for reports to their HTML pages; `page` shows a page before them, once per site and browser.',
  ),
  reportEmail: mailAddress(
    'Email address that is notified of reports by visitors, and that pages of suspended sites name as the contact.',
  ),
  scanHook: optional(
    scanner(
      'Program that scans files before they are published, or ClamAV: `clamd:/run/clamav/clamd.ctl` or `clamd:HOST:PORT`.',
    ),
    'off',
  ),
  scanSeconds: seconds(60, [1, 3600], 'Time limit to scan the files of a version.'),
  scanFailure: oneOf(
    ['refuse', 'pass'],
    'What happens to a version when the scanner fails or exceeds its time: it is refused with 503, or published unscanned.',
  ),
  secretScan: oneOf(
    ['refuse', 'warn', 'off'],
    'What happens to a version with new files that contain secrets, such as private keys: it is refused, or published with warnings; `off` does not look for them.',
  ),
  secretScanFailure: oneOf(
    ['pass', 'refuse'],
    'What happens to a version with text files that cannot be scanned for secrets: it is published with a warning, or refused with 503; a file of more than 16 MiB with 403.',
  ),
  chromium: program('Absolute path of Chromium, with which the server draws thumbnails.'),
  chromiumSandbox: onOff('Sandbox of Chromium. It cannot work for root, and in most containers.'),
  uploadsAtOnce: integer(
    256,
    [1, 100_000],
    'Concurrent uploads and archives per process. One IP address can use a quarter of them, and the last quarter is for sites of accounts that do not expire.',
  ),
  accessLog: text('off', 'Access log, a line for each request: `off`, `stdout`, or the path of a file.'),
  accessLogFormat: oneOf(
    ['combined', 'json'],
    'Format of the access log: `combined` as of Apache and nginx, followed by the host, or `json`.',
  ),
  accessLogAddresses: oneOf(
    ['short', 'full', 'none'],
    'IP addresses in the access log: `short` for the network (IPv4 /24, IPv6 /48), `full` or `none`.',
  ),
  otlpUrl: secretAddress(
    'Collector that receives traces over OTLP/HTTP, such as `http://localhost:4318`. Default: the value of `OTEL_EXPORTER_OTLP_ENDPOINT`, otherwise no traces.',
    ['http:', 'https:'],
  ),
  tracePercent: integer(
    100,
    [0, 100],
    'Percentage of traces that are recorded. Traces that a trusted proxy began are recorded as it decided.',
  ),
  log: oneOf(LOG_LEVELS, 'Minimum level of log messages.', 'info'),
} as const

/**
 * Which nodes of a database need the same value of a setting:
 * - `identity`: all of them; a node with another value does not start
 * - `fleet`: all of them, except while it changes node by node; `slipway-server check` and the log warn of a difference
 * - `node`: it is about the machine or the process
 */
const KEYS = {
  identity: ['baseUrl', 'siteDomain', 'proxyHost', 'blobsUrl', 'secret'],
  fleet: [
    ...['serviceName', 'termsUrl', 'color', 'logo', 'imprintUrl', 'reservedNames', 'acmeUrl'],
    ...['acmeEmail', 'acmeProfile', 'acmeEabKeyId', 'acmeEabHmacKey', 'siteCertificates'],
    ...['verifyDaily', 'mailFrom', 'oidcIssuers', 'oauthClients', 'signUp', 'anonymousPublishing'],
    ...['rateAnonymous', 'rateFree', 'rateHobby', 'rateSession', 'rateSignIn', 'planTable'],
    ...['planFree', 'planHobby', 'domainsFree', 'domainsHobby', 'anonymousLifetime'],
    ...['anonymousFiles', 'anonymousFileBytes', 'anonymousSiteBytes', 'anonymousTotalBytes'],
    ...['anonymousTotalSites', 'anonymousNetworkBytes', 'anonymousNetworkSites', 'ownedFiles'],
    ...['ownedFileBytes', 'ownedSiteBytes', 'manifestBytes', 'versionsKept', 'draftsKept'],
    ...['draftLifetime', 'previews', 'previewLifetime', 'trashLifetime', 'pendingLifetime'],
    ...['blobGrace', 'staleSeconds', 'hsts', 'visits', 'anonymousNotice', 'reportEmail'],
    ...['scanHook', 'scanSeconds', 'scanFailure', 'secretScan', 'secretScanFailure'],
  ],
  node: [
    ...['host', 'port', 'httpsPort', 'internalPort', 'internalHost', 'acmeCaFile', 'tlsCertFile'],
    ...['tlsKeyFile', 'dnsHook', 'dnsHookVariables', 'dnsServers', 'data', 'databaseUrl'],
    ...['backupTarget', 'backupKeep', 'cacheDiskBytes', 'spoolBytes', 'diskReserve', 'smtpUrl'],
    ...['trustedProxies', 'proxyProtocol', 'secretPrevious', 'workers', 'readySeconds'],
    ...['drainSeconds', 'cacheBytes', 'clientMemoryBytes', 'connectionsPerAddress', 'fastPath'],
    ...['http2', 'chromium', 'chromiumSandbox', 'uploadsAtOnce', 'accessLog', 'accessLogFormat'],
    ...['accessLogAddresses', 'otlpUrl', 'tracePercent', 'log'],
  ],
} as const satisfies Record<string, readonly (keyof typeof rows)[]>

export const FLEET_KEYS = KEYS.fleet

type Scope = keyof typeof KEYS

/** No key of any scope while a setting has none. */
export type KeyOfScope<Of extends Scope> = keyof typeof rows extends (typeof KEYS)[Scope][number]
  ? (typeof KEYS)[Of][number]
  : never

/** Of settings whose names do not follow from their keys. */
const NAMES: Partial<Record<string, string>> = {
  serviceName: 'SLIPWAY_NAME',
  logo: 'SLIPWAY_LOGO_FILE',
  anonymousPublishing: 'SLIPWAY_ANONYMOUS',
  planTable: 'SLIPWAY_PLANS',
  ownedFiles: 'SLIPWAY_FILES',
  ownedFileBytes: 'SLIPWAY_FILE_BYTES',
  ownedSiteBytes: 'SLIPWAY_SITE_BYTES',
}

/** Every setting: its environment variable, default, allowed values and description. */
export const settings = Object.fromEntries(
  Object.entries(rows).map(([key, row]) => [key, { ...row, name: NAMES[key] ?? toName(key) }]),
) as { [Key in keyof typeof rows]: (typeof rows)[Key] & { name: string } }

export type SettingValues = {
  [Key in keyof typeof settings]: (typeof settings)[Key] extends Setting<infer T> ? T : never
}

/** `SLIPWAY_SITE_DOMAIN` of `siteDomain`. */
function toName(key: string): string {
  return `SLIPWAY_${key.replace(/[A-Z]/g, '_$&').toUpperCase()}`
}
