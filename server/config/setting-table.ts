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
  scanner,
  secret,
  sender,
  signUpPolicy,
  sizeLimit,
  text,
  variableNames,
} from './setting-types.ts'

const YEAR_SECONDS = 365 * DAY_SECONDS

/** Every setting: its environment variable, default, allowed values and description. */
export const settings = {
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
  serviceName: displayName(
    'SLIPWAY_NAME',
    DEFAULT_BRANDING.name,
    'Name of the service on its pages, in its emails and in its documents for programs.',
  ),
  termsUrl: link(
    'SLIPWAY_TERMS_URL',
    'URL of the terms of service, which pages, emails and the sign-in form link to.',
  ),
  color: color(
    'SLIPWAY_COLOR',
    'Color of links and buttons, such as `#0b5a75`. Where its contrast does not suffice, a darker or lighter shade is used.',
  ),
  logo: logoFile(
    'SLIPWAY_LOGO_FILE',
    'SVG or PNG file with the mark of the service, at most 64 KiB; an SVG without scripts and references to other files.',
  ),
  imprintUrl: link('SLIPWAY_IMPRINT_URL', 'URL of the imprint, which pages and emails link to.'),
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
      'Port of `/metrics` for Prometheus, and of `/internal/tls-allowed`, which a reverse proxy queries before it orders a certificate.',
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
  backupTarget: backupTarget(
    'SLIPWAY_BACKUP_TARGET',
    'Where `slipway-server backup` stores backups unless it is given a target: a folder, or a bucket as in `SLIPWAY_BLOBS_URL`.',
  ),
  backupKeep: integer(
    'SLIPWAY_BACKUP_KEEP',
    0,
    [0, 10_000],
    'Number of backups to keep in a target; older ones are deleted after each backup. `0` keeps all.',
  ),
  cacheDiskBytes: bytes(
    'SLIPWAY_CACHE_DISK_BYTES',
    5 * 2 ** 30,
    [2 ** 26, 2 ** 44],
    'With a bucket: disk space in the data folder for copies of files that were read recently.',
  ),
  spoolBytes: sizeLimit(
    'SLIPWAY_SPOOL_BYTES',
    20 * 2 ** 30,
    [2 ** 20, 2 ** 44],
    'Disk space per process in the data folder for zip archives while they are received. One IP address can use half of it.',
  ),
  diskReserve: optional(
    bytesOrPercent(
      'SLIPWAY_DISK_RESERVE',
      'Free disk space below which publishing is refused: a size or a percentage. `automatic` is 5 %, at least 268 MB and at most 1.1 GB.',
    ),
    'automatic',
  ),
  verifyDaily: {
    ...bytesOrPercent(
      'SLIPWAY_VERIFY_DAILY',
      'What is read of the stored files each day and compared with their hashes: a percentage, or a size that limits the requests to a bucket, such as 20GB. `0` disables it.',
    ),
    defaultValue: { percent: 3 },
    defaultLabel: '3%',
  },
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
  oauthClients: oauthClients(
    'SLIPWAY_OAUTH_CLIENTS',
    'Programs that name themselves by the URL of a client ID metadata document, which is never fetched, beside the well-known ones: `Name=https://program.example/client.json https://program.example/callback`, with one or more redirect URIs; separated by commas.',
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
  signUp: signUpPolicy(
    'SLIPWAY_SIGN_UP',
    'Who can create an account: `open`, `invitation`, `closed`, or `domains:example.com,example.org` for addresses of these domains and invited ones.',
  ),
  anonymousPublishing: onOff('SLIPWAY_ANONYMOUS', 'Whether sites can be published without an account.'),
  rateAnonymous: countLimit(
    'SLIPWAY_RATE_ANONYMOUS',
    5,
    [1, 1e9],
    'API requests per hour for an IP address without an account.',
  ),
  rateFree: LIMIT_SETTINGS.requestsPerHour,
  rateHobby: countLimit(
    'SLIPWAY_RATE_HOBBY',
    200,
    [1, 1e9],
    'API requests per hour for an account on the second plan.',
  ),
  rateSession: countLimit(
    'SLIPWAY_RATE_SESSION',
    1000,
    [1, 1e9],
    'Requests per hour for the browser sessions of an account.',
  ),
  rateSignIn: integer(
    'SLIPWAY_RATE_SIGN_IN',
    60,
    [1, 1e9],
    'Sign-in requests per hour for an IP address, and as many that pages of other origins send from it.',
  ),
  planTable: planTable(
    'SLIPWAY_PLANS',
    'Plans beside `free` and `hobby`, and other limits of these: a JSON object, or the path of a file with one. See docs/plans.md.',
  ),
  planFree: planName(
    'SLIPWAY_PLAN_FREE',
    'Free',
    'Displayed name of the first plan, which new accounts have.',
  ),
  planHobby: planName('SLIPWAY_PLAN_HOBBY', 'Hobby', 'Displayed name of the second plan.'),
  domainsFree: LIMIT_SETTINGS.domains,
  domainsHobby: countLimit(
    'SLIPWAY_DOMAINS_HOBBY',
    5,
    [0, 1e6],
    'Custom domains of an account on the second plan.',
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
  anonymousFileBytes: sizeLimit(
    'SLIPWAY_ANONYMOUS_FILE_BYTES',
    250 * 2 ** 20,
    [1, 2 ** 40],
    'Maximum size of a file of a site without an account.',
  ),
  anonymousSiteBytes: sizeLimit(
    'SLIPWAY_ANONYMOUS_SITE_BYTES',
    2 ** 30,
    [1, 2 ** 44],
    'Maximum total size of a site without an account.',
  ),
  anonymousTotalBytes: sizeLimit(
    'SLIPWAY_ANONYMOUS_TOTAL_BYTES',
    20 * 2 ** 30,
    [0, 2 ** 50],
    'Maximum size of all sites without an account together.',
  ),
  anonymousTotalSites: countLimit(
    'SLIPWAY_ANONYMOUS_TOTAL_SITES',
    100_000,
    [0, 1e9],
    'Maximum number of sites without an account.',
  ),
  anonymousNetworkBytes: sizeLimit(
    'SLIPWAY_ANONYMOUS_NETWORK_BYTES',
    2 * 2 ** 30,
    [0, 2 ** 50],
    'Maximum size of the sites without an account that one network published, an IPv4 /24 or an IPv6 /48.',
  ),
  anonymousNetworkSites: countLimit(
    'SLIPWAY_ANONYMOUS_NETWORK_SITES',
    1000,
    [0, 1e9],
    'Maximum number of sites without an account that one network published.',
  ),
  ownedFiles: LIMIT_SETTINGS.filesPerSite,
  ownedFileBytes: LIMIT_SETTINGS.fileBytes,
  ownedSiteBytes: LIMIT_SETTINGS.siteBytes,
  manifestBytes: bytes(
    'SLIPWAY_MANIFEST_BYTES',
    2 * 2 ** 20,
    [1024, 2 ** 28],
    'Maximum size of a JSON request body.',
  ),
  versionsKept: LIMIT_SETTINGS.versionsKept,
  draftsKept: LIMIT_SETTINGS.draftsKept,
  draftLifetime: duration(
    'SLIPWAY_DRAFT_LIFETIME',
    30 * DAY_SECONDS,
    [60, YEAR_SECONDS],
    'Lifetime of a draft.',
  ),
  previews: LIMIT_SETTINGS.previews,
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
    'Time after which files that no version uses are deleted.',
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
  connectionsPerAddress: countLimit(
    'SLIPWAY_CONNECTIONS_PER_ADDRESS',
    2000,
    [1, 1_000_000],
    'Open connections per process for an IPv4 address or an IPv6 /64 network; not applied behind trusted proxies.',
  ),
  fastPath: onOff(
    'SLIPWAY_FAST_PATH',
    "Parse simple requests to sites without Node's HTTP parser. `off` gives the same responses, slower.",
  ),
  hsts: oneOf(
    'SLIPWAY_HSTS',
    ['service', 'all', 'off'],
    'What tells browsers to use only HTTPS for a year, where this process serves HTTPS: `service`, the dashboard and the API; `all`, sites too, also with custom domains; or `off`.',
  ),
  http2: oneOf(
    'SLIPWAY_HTTP2',
    ['own', 'node', 'off'],
    "HTTP/2 implementation: `own`; `node` for Node's, which is slower and has fewer limits; `off` for HTTP/1.1 only.",
  ),
  visits: onOff('SLIPWAY_VISITS', 'Count visits to sites, without cookies and without storing IP addresses.'),
  anonymousNotice: oneOf(
    'SLIPWAY_ANONYMOUS_NOTICE',
    ['off', 'link', 'page'],
    'Notice to visitors of anonymous sites: `link` adds a link to the form for reports to their HTML pages; `page` shows a page before them, once per site and browser.',
  ),
  reportEmail: mailAddress(
    'SLIPWAY_REPORT_EMAIL',
    'Email address that is notified of reports by visitors, and that pages of suspended sites name as the contact.',
  ),
  scanHook: optional(
    scanner(
      'SLIPWAY_SCAN_HOOK',
      'Program that scans files before they are published, or ClamAV: `clamd:/run/clamav/clamd.ctl` or `clamd:HOST:PORT`.',
    ),
    'off',
  ),
  scanSeconds: duration('SLIPWAY_SCAN_SECONDS', 60, [1, 3600], 'Time limit to scan the files of a version.'),
  scanFailure: oneOf(
    'SLIPWAY_SCAN_FAILURE',
    ['refuse', 'pass'],
    'What happens to a version when the scanner fails or exceeds its time: it is refused with 503, or published unscanned.',
  ),
  secretScan: oneOf(
    'SLIPWAY_SECRET_SCAN',
    ['refuse', 'warn', 'off'],
    'What happens to a version with new files that contain secrets, such as private keys: it is refused, or published with warnings; `off` does not look for them.',
  ),
  secretScanFailure: oneOf(
    'SLIPWAY_SECRET_SCAN_FAILURE',
    ['pass', 'refuse'],
    'What happens to a version with text files that cannot be scanned for secrets: it is published with a warning, or refused with 503; a file of more than 16 MiB with 403.',
  ),
  chromium: program('SLIPWAY_CHROMIUM', 'Absolute path of Chromium, with which the server draws thumbnails.'),
  chromiumSandbox: onOff(
    'SLIPWAY_CHROMIUM_SANDBOX',
    'Sandbox of Chromium. It cannot work for root, and in most containers.',
  ),
  uploadsAtOnce: integer(
    'SLIPWAY_UPLOADS_AT_ONCE',
    256,
    [1, 100_000],
    'Concurrent uploads and archives per process. One IP address can use a quarter of them.',
  ),
  accessLog: text(
    'SLIPWAY_ACCESS_LOG',
    'off',
    'Access log, a line for each request: `off`, `stdout`, or the path of a file.',
  ),
  accessLogFormat: oneOf(
    'SLIPWAY_ACCESS_LOG_FORMAT',
    ['combined', 'json'],
    'Format of the access log: `combined` as of Apache and nginx, followed by the host, or `json`.',
  ),
  accessLogAddresses: oneOf(
    'SLIPWAY_ACCESS_LOG_ADDRESSES',
    ['short', 'full', 'none'],
    'IP addresses in the access log: `short` for the network (IPv4 /24, IPv6 /48), `full` or `none`.',
  ),
  otlpUrl: address(
    'SLIPWAY_OTLP_URL',
    'Collector that receives traces over OTLP/HTTP, such as `http://localhost:4318`. Default: the value of `OTEL_EXPORTER_OTLP_ENDPOINT`, otherwise no traces.',
    ['http:', 'https:'],
  ),
  tracePercent: integer(
    'SLIPWAY_TRACE_PERCENT',
    100,
    [0, 100],
    'Percentage of traces that are recorded. Traces that a trusted proxy began are recorded as it decided.',
  ),
  log: oneOf('SLIPWAY_LOG', LOG_LEVELS, 'Minimum level of log messages.', 'info'),
} as const
