import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { UNLIMITED } from '../../protocol/format.ts'
import { root } from '../../scripts/root.mjs'
import { type Config, ConfigError, describeSettings, readConfig } from '../../server/config/settings.ts'
import { findSharedDomain } from '../../server/domains/name.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { run } from './program.ts'

/** Settings that accept any text; an invalid value is found when it is used. */
const ANY_TEXT = ['ACCESS_LOG', 'HOST', 'INTERNAL_HOST', 'ACME_PROFILE', 'ACME_EAB_KEY_ID']

const NO_NUMBERS = [' 1', '1 ', '-1', '1.5', '1e3', '0x10', 'many', '99999999999999999999']

const NO_SIZES = [...NO_NUMBERS.slice(0, 7), '10  GB', '5G', '1.5.5GB', 'GB', '99999999TB']

const NO_SECONDS = [' 1', '-1', '1.5', '1e3', '1  h', '24hours', 'day', '1h30m', '9999d']

/** 30 may have meant days. */
const NO_DURATIONS = [...NO_SECONDS, '1', '30', '999']

const NO_FILES = ['/nowhere/at-all', 'docs']

const wrong: Record<string, { values: string[]; allowed: RegExp; secret?: true }> = {
  PORT: { values: [...NO_NUMBERS, '65536'], allowed: /a whole number from 0 to 65535/ },
  BASE_URL: {
    values: [
      'slipway.example',
      'https:slipway.example',
      'ftp://slipway.example',
      'http://',
      'https://slipway.example/path',
      'https://slipway.example/?query',
      'https://slipway.example/#part',
      'https://user@slipway.example/',
      'http://slipway.example:65536',
    ],
    allowed: /http:\/\/ or https:\/\/|it must not have/,
  },
  SITE_DOMAIN: {
    values: ['https://sites.example', 'sites.example:8080', '.example', 'a_b.example', 'a b', '-a.example'],
    allowed: /a host name, without a scheme or a port/,
  },
  RESERVED_NAMES: { values: ['a b', 'www.example', '-a', 'a,,b'], allowed: /letters, digits and hyphens/ },
  PROXY_HOST: { values: ['https://proxy.example', 'proxy.example.'], allowed: /a host name/ },
  HTTPS_PORT: { values: [...NO_NUMBERS, '65536'], allowed: /from 0 to 65535/ },
  INTERNAL_PORT: { values: [...NO_NUMBERS, '65536'], allowed: /from 0 to 65535/ },
  ACME_URL: { values: ['ca.example', 'http://ca.example/directory', 'https://'], allowed: /https:\/\// },
  ACME_EMAIL: { values: ['operator', 'a@b, c@d', 'mailto:a b@c'], allowed: /an email address/ },
  ACME_CA_FILE: {
    values: [...NO_FILES, 'package.json'],
    allowed: /a file that can be read|a certificate in PEM/,
  },
  ACME_EAB_HMAC_KEY: { values: ['hush', 'hush hush hush hush hush'], allowed: /base64url/, secret: true },
  TLS_CERT_FILE: { values: NO_FILES, allowed: /a file that can be read/ },
  TLS_KEY_FILE: { values: NO_FILES, allowed: /a file that can be read/ },
  CHROMIUM: {
    values: [...NO_FILES, 'package.json', 'chromium'],
    allowed: /absolute path of an executable program/,
  },
  CHROMIUM_SANDBOX: { values: ['yes', 'Off'], allowed: /on, off/ },
  DNS_HOOK: {
    values: [...NO_FILES, 'package.json', 'sh'],
    allowed: /absolute path of an executable program/,
  },
  DNS_HOOK_VARIABLES: {
    values: ['SLIPWAY_SECRET', 'TOKEN,SLIPWAY_SMTP_URL', 'A B', 'A=B', '1A', 'A,,B'],
    allowed: /names of environment variables, separated by commas/,
  },
  SITE_CERTIFICATES: { values: [...NO_NUMBERS, '0', 'on'], allowed: /from 1 to 10000/ },
  OIDC_ISSUERS: {
    values: [
      'bitbucket',
      'https://gitlab.example.com',
      'gitlab=http://gitlab.example.com',
      'gitlab=https://a/',
      'github,',
    ],
    allowed: /github, gitlab or gitlab=https/,
  },
  OAUTH_CLIENTS: {
    values: [
      'https://a.example/c.json https://a.example/',
      'A=http://a.example/c.json https://a.example/',
      'A=https://a.example/c.json',
      'A=https://a.example https://a.example/',
      'A=https://a.example/c.json http://a.example/',
      'A=https://a.example/c.json https://a.example/,',
    ],
    allowed: /Name=https:\/\/program\.example\/client\.json/,
  },
  DNS_SERVERS: {
    values: ['resolver.example', '192.0.2.1:dns', '192.0.2.1;192.0.2.2', '192.0.2.1:70000', '127.0.0.1:0'],
    allowed: /addresses with or without a port/,
  },
  DATABASE_URL: {
    values: [
      'db.example',
      'mysql://user:hush@db.example/slipway',
      'postgres://user:hush/hush@db.example/slipway',
      'postgres://user:hush@hush@db.example/slipway',
      'postgres://user:%hush@db.example/slipway',
      'postgres://user:hush@db.example:port/slipway',
      'postgres://user:hush@db.example,/slipway',
      'postgres://user:hush@db.example/slipway?sslmode=prefer',
      'postgres://user:hush@db.example/slipway?sslmode=verify-full&sslrootcert=/nowhere/at-all',
      'postgres://user:hush@db.example/slipway?sslkey=hush',
    ],
    allowed:
      /must have the form postgres:|invalid host, or|unknown parameter|percent-encoding|sslmode|sslrootcert/,
    secret: true,
  },
  BLOBS_URL: {
    values: [
      'bucket',
      'https://bucket.example',
      's3://bucket',
      's3://b?region=eu-central-1',
      's3://key:hush@bucket?region=eu-central-1',
      's3://bucket?region=eu central',
      's3://bucket?endpoint=minio.example',
      's3://bucket?endpoint=https://minio.example/path',
      's3://bucket?region=eu-central-1&acl=public',
      's3://bucket/a%20prefix?region=eu-central-1',
    ],
    allowed:
      /must have the form s3:|invalid bucket|no user|name the region|endpoint|unknown parameter|prefix/,
    secret: true,
  },
  DATA: { values: ['~/slipway', '$HOME/slipway'], allowed: /must be a path: outside of a shell/ },
  BACKUP_TARGET: {
    values: ['s3://', 's3://bucket', 's3://key:hush@bucket?region=x'],
    allowed: /must name the region|invalid bucket|no user/,
    secret: true,
  },
  BACKUP_KEEP: { values: [...NO_NUMBERS, '10001'], allowed: /a whole number from 0 to 10000/ },
  CACHE_DISK_BYTES: { values: [...NO_SIZES, '1MB'], allowed: /from 64 MiB to 16 TiB/ },
  SPOOL_BYTES: { values: [...NO_SIZES, '1000'], allowed: /from 1 MiB to 16 TiB/ },
  DISK_RESERVE: {
    values: [...NO_SIZES, '5', '999999', '91%', '-1%', '5 %', '%', '1e1%', '5%5'],
    allowed:
      /it must be 0, a size from 1 MB to 16 TiB, such as 2GB, or a percentage from 0% to 90%, such as 3%$/,
  },
  VERIFY_DAILY: {
    values: [...NO_SIZES, '3', '3kB', '91%', '3 %'],
    allowed: /a size from 1 MB .*, such as 3%$/,
  },
  SMTP_URL: {
    values: [
      'mail.example',
      'http://user:hush@mail.example',
      'smtp://',
      'smtp://user:hush@mail.example:99999',
    ],
    allowed: /smtp:\/\/ or smtps:\/\//,
    secret: true,
  },
  MAIL_FROM: {
    values: ['Slipway', 'a@', '@b', 'Slipway <a@b.example', 'a@b.example\nBcc: c@d.example'],
    allowed: /an email address, or a name and an email address/,
  },
  TRUSTED_PROXIES: { values: [...NO_NUMBERS, '33'], allowed: /from 0 to 32/ },
  PROXY_PROTOCOL: {
    values: [
      'on',
      'v1',
      'balancer.example',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '::/129',
      'fe80::1%lo',
      '10.0.0.1,',
    ],
    allowed: /off, private, or addresses and networks, separated by commas/,
  },
  SECRET: { values: ['hush', 'x'.repeat(31)], allowed: /at least 32 characters/, secret: true },
  SECRET_PREVIOUS: { values: ['hush', 'x'.repeat(31)], allowed: /at least 32 characters/, secret: true },
  ANONYMOUS_NOTICE: { values: ['on', 'yes', 'Page'], allowed: /off, link, page/ },
  REPORT_EMAIL: { values: ['abuse', 'a@b, c@d'], allowed: /an email address/ },
  SCAN_HOOK: {
    values: [...NO_FILES, 'package.json', 'clamd:', 'clamd:3310', 'clamd:host:0', 'clamd:socket'],
    allowed: /an executable program, or clamd:/,
  },
  SCAN_SECONDS: { values: ['0', 'x', '2h'], allowed: /a duration from/ },
  SCAN_FAILURE: { values: ['on', 'Pass'], allowed: /refuse, pass/ },
  VISITS: { values: ['yes', 'true', '0', 'On'], allowed: /on, off|on or off/ },
  WORKERS: { values: [...NO_NUMBERS, '0', '257'], allowed: /from 1 to 256/ },
  SIGN_UP: {
    values: ['yes', 'domains:', 'domains:example', 'domains:a.example,,b.example', 'Open'],
    allowed: /open, invitation, closed, or domains:/,
  },
  ANONYMOUS: { values: ['yes', 'true', 'Off'], allowed: /one of on, off/ },
  RATE_ANONYMOUS: { values: [...NO_NUMBERS, '0'], allowed: /from 1 to 1000000000, or unlimited/ },
  RATE_FREE: { values: [...NO_NUMBERS, '0'], allowed: /from 1 to 1000000000/ },
  RATE_HOBBY: { values: [...NO_NUMBERS, '0'], allowed: /from 1 to 1000000000/ },
  RATE_SESSION: { values: [...NO_NUMBERS, '0'], allowed: /from 1 to 1000000000/ },
  RATE_SIGN_IN: { values: [...NO_NUMBERS, '0'], allowed: /from 1 to 1000000000/ },
  NAME: { values: [' ', 'a\nb', 'x'.repeat(41)], allowed: /a name of 1 to 40 characters/ },
  TERMS_URL: { values: ['terms', 'javascript:alert(1)', 'data:text/html,x'], allowed: /a URL that begins/ },
  LOGO_FILE: { values: [...NO_FILES, 'package.json'], allowed: /an SVG or PNG file|a file that can be read/ },
  COLOR: { values: ['red', '0b5a75', '#0b5a7', '#0b5a75ff', '#ggg'], allowed: /a color such as #0b5a75/ },
  IMPRINT_URL: { values: ['/imprint', 'mailto:a@b.example'], allowed: /a URL that begins/ },
  PLANS: {
    values: [
      'no-such-file.json',
      '{',
      '{"Team":{}}',
      '{"team":1}',
      '{"team":{"site":1}}',
      '{"team":{"name":"<b>"}}',
      '{"team":{"sites":-1}}',
      '{"team":{"bytes":"much"}}',
      '{"team":{"versionsKept":"unlimited"}}',
      JSON.stringify(Object.fromEntries(Array.from({ length: 101 }, (_, number) => [`p${number}`, {}]))),
    ],
    allowed:
      /a JSON object|lowercase letters|has the field site;|team\.\w+=.* is not allowed|at most 100 plans/,
  },
  PLAN_FREE: {
    values: [' ', '<b>Free</b>', 'x'.repeat(41), 'a\nb'],
    allowed: /a name of 1 to 40 characters/,
  },
  PLAN_HOBBY: { values: [' ', 'x'.repeat(41)], allowed: /a name of 1 to 40 characters/ },
  DOMAINS_FREE: { values: [...NO_NUMBERS, 'none'], allowed: /from 0 to 1000000, or unlimited/ },
  DOMAINS_HOBBY: { values: [...NO_NUMBERS, 'none'], allowed: /from 0 to 1000000, or unlimited/ },
  ANONYMOUS_LIFETIME: {
    values: [...NO_DURATIONS, '0', '31536001'],
    allowed: /a duration with its unit from 1s to 365d, such as 90s, 30m, 24h or 30d$/,
  },
  ANONYMOUS_TOTAL_BYTES: { values: [...NO_SIZES, '2PB'], allowed: /a size from 0 bytes .*, or unlimited/ },
  ANONYMOUS_TOTAL_SITES: { values: [...NO_NUMBERS], allowed: /from 0 to 1000000000, or unlimited/ },
  ANONYMOUS_NETWORK_BYTES: { values: [...NO_SIZES], allowed: /a size from 0 bytes .*, or unlimited/ },
  ANONYMOUS_NETWORK_SITES: { values: [...NO_NUMBERS], allowed: /from 0 to 1000000000, or unlimited/ },
  ANONYMOUS_FILES: { values: [...NO_NUMBERS, '0', '5001'], allowed: /from 1 to 5000/ },
  FILES: { values: [...NO_NUMBERS, '0', '5001', 'unlimited'], allowed: /from 1 to 5000/ },
  ANONYMOUS_FILE_BYTES: { values: [...NO_SIZES, '0'], allowed: /from 1 byte to 1 TiB, .*, or unlimited/ },
  ANONYMOUS_SITE_BYTES: { values: [...NO_SIZES, '0'], allowed: /from 1 byte to 16 TiB, .*, or unlimited/ },
  FILE_BYTES: { values: [...NO_SIZES, '5TB'], allowed: /from 1 byte to 1 TiB, .*, or unlimited/ },
  SITE_BYTES: { values: [...NO_SIZES, '50TB'], allowed: /from 1 byte to 16 TiB, .*, or unlimited/ },
  MANIFEST_BYTES: { values: [...NO_SIZES, '1023'], allowed: /from 1 KiB to 256 MiB/ },
  VERSIONS_KEPT: { values: [...NO_NUMBERS, '0', '1001'], allowed: /from 1 to 1000/ },
  DRAFTS_KEPT: { values: [...NO_NUMBERS, '0', '1001'], allowed: /from 1 to 1000/ },
  DRAFT_LIFETIME: { values: [...NO_DURATIONS, '59'], allowed: /from 1m to 365d/ },
  PREVIEWS: { values: [...NO_NUMBERS, '0', '1001'], allowed: /from 1 to 1000/ },
  PREVIEW_LIFETIME: { values: [...NO_DURATIONS, '59'], allowed: /from 1m to 365d/ },
  TRASH_LIFETIME: { values: [...NO_DURATIONS, '366d'], allowed: /from 0 to 365d/ },
  PENDING_LIFETIME: { values: [...NO_DURATIONS, '59s'], allowed: /from 1m to 365d/ },
  BLOB_GRACE: { values: [...NO_DURATIONS, '366d'], allowed: /from 0 to 365d/ },
  READY_SECONDS: { values: [...NO_SECONDS, '11m'], allowed: /from 0 to 10m/ },
  DRAIN_SECONDS: { values: [...NO_SECONDS, '61m'], allowed: /from 0 to 1h/ },
  STALE_SECONDS: { values: [...NO_SECONDS, '31d'], allowed: /from 0 to 30d/ },
  CACHE_BYTES: { values: [...NO_SIZES, '1000'], allowed: /from 1 MiB to 1 TiB/ },
  CLIENT_MEMORY_BYTES: { values: [...NO_SIZES, '1000'], allowed: /from 1 MiB to 1 TiB/ },
  CONNECTIONS_PER_ADDRESS: { values: [...NO_NUMBERS, '0'], allowed: /from 1 to 1000000/ },
  FAST_PATH: { values: ['yes', 'true', 'ON'], allowed: /one of on, off/ },
  SECRET_SCAN: { values: ['yes', 'on', 'REFUSE'], allowed: /one of refuse, warn, off/ },
  SECRET_SCAN_FAILURE: { values: ['yes', 'warn'], allowed: /one of pass, refuse/ },
  HSTS: { values: ['yes', 'on', 'sites'], allowed: /one of service, all, off/ },
  HTTP2: { values: ['yes', 'own', 'ON'], allowed: /one of on, off/ },
  UPLOADS_AT_ONCE: { values: [...NO_NUMBERS, '0'], allowed: /from 1 to 100000/ },
  ACCESS_LOG_FORMAT: { values: ['common', 'JSON'], allowed: /one of combined, json/ },
  ACCESS_LOG_ADDRESSES: { values: ['yes', 'hashed'], allowed: /one of short, full, none/ },
  OTLP_URL: {
    values: ['localhost:4318', 'grpc://user:hush@localhost:4317', 'http:'],
    allowed: /begins with http:\/\/ or https:\/\//,
    secret: true,
  },
  TRACE_PERCENT: { values: [...NO_NUMBERS, '101'], allowed: /from 0 to 100/ },
  LOG: { values: ['loud', 'INFO', 'true'], allowed: /one of debug, info, warn, error, silent/ },
}

test('this file has invalid values for every setting', () => {
  const names = describeSettings().map(({ name }) => name.replace('SLIPWAY_', ''))
  assert.deepEqual(names.filter((name) => !ANY_TEXT.includes(name)).sort(), Object.keys(wrong).sort())
})

for (const [name, { values, allowed, secret }] of Object.entries(wrong)) {
  test(`an invalid SLIPWAY_${name} is refused in one line with the allowed values`, () => {
    for (const value of values) {
      const [line = '', ...more] = refusal({ [`SLIPWAY_${name}`]: value })
      assert.deepEqual(more, [], value)
      const shown = secret ? '(hidden)' : JSON.stringify(value.replace(/^.*:.*(?=@)/s, '(hidden)'))
      assert.ok(line.startsWith(`SLIPWAY_${name}=${shown} is not allowed: `), line)
      assert.match(line, allowed)
      if (secret) assert.doesNotMatch(line, /hush|xxx/)
    }
  })
}

test('a URL in any setting is neither refused nor listed with its user and password', () => {
  for (const name of [...ANY_TEXT, ...Object.keys(wrong)])
    for (const url of [
      'https://user:hush@one.example/',
      'gitlab=https://user:hush@one.example',
      'x:hush@y',
    ]) {
      const environment = { [`SLIPWAY_${name}`]: url }
      const listed = describeSettings(environment).map(({ value }) => value)
      assert.doesNotMatch(listed.join(), /hush/, name)
      assert.doesNotMatch(ANY_TEXT.includes(name) ? '' : tryToRead(environment), /hush/, name)
    }
})

test('the URL of a certificate authority and links of pages, which are stored and shown, have no password', () => {
  for (const name of ['ACME_URL', 'TERMS_URL', 'IMPRINT_URL'])
    for (const user of ['user', ':hush', 'user:hush'])
      assert.match(tryToRead({ [`SLIPWAY_${name}`]: `https://${user}@one.example/` }), /user or a password$/)
})

test('a value with a blank or a line feed around it is refused, as one of a file that ends with a line', () => {
  const values = {
    ...Object.fromEntries(ANY_TEXT.map((name) => [name, '/value'])),
    ...{ BASE_URL: 'https://slipway.example', SMTP_URL: 'smtp://mail.example', SECRET: 'x'.repeat(32) },
  }
  for (const [name, value] of Object.entries(values))
    for (const given of [` ${value}`, `${value} `, `${value}\n`])
      assert.match(
        refusal({ [`SLIPWAY_${name}`]: given }).join(),
        /must not begin or end with a blank|begins with/,
        name,
      )
})

const FLEET = {
  DATABASE_URL: 'postgres://user:hush@one.example,two.example:5433/slipway',
  SECRET: 'x'.repeat(32),
  BASE_URL: 'https://slipway.example',
  SMTP_URL: 'smtp://mail.example',
}

test('a database URL is accepted with a secret, a base URL and an SMTP server', () => {
  assert.equal(readConfig(toEnvironment(FLEET)).databaseUrl, FLEET.DATABASE_URL)
})

for (const [given, line] of [
  [{ TLS_CERT_FILE: 'package.json' }, 'SLIPWAY_TLS_CERT_FILE needs SLIPWAY_TLS_KEY_FILE beside it'],
  [{ TLS_KEY_FILE: 'package.json' }, 'SLIPWAY_TLS_KEY_FILE needs SLIPWAY_TLS_CERT_FILE beside it'],
  [{ ACME_EAB_KEY_ID: 'me' }, 'SLIPWAY_ACME_EAB_KEY_ID needs SLIPWAY_ACME_EAB_HMAC_KEY beside it'],
  [
    { ACME_EAB_HMAC_KEY: 'c2xpcHdheSBzbGlwd2F5' },
    'SLIPWAY_ACME_EAB_HMAC_KEY needs SLIPWAY_ACME_EAB_KEY_ID beside it',
  ],
  [
    { TRUSTED_PROXIES: '1', PROXY_PROTOCOL: 'private' },
    'SLIPWAY_TRUSTED_PROXIES=1 is not allowed with SLIPWAY_PROXY_PROTOCOL: clients could choose their address with X-Forwarded-For',
  ],
  [{ HTTPS_PORT: '8080' }, 'SLIPWAY_HTTPS_PORT=8080 is not allowed: SLIPWAY_PORT is the same port'],
  [
    { HTTPS_PORT: '443', INTERNAL_PORT: '443' },
    'SLIPWAY_INTERNAL_PORT=443 is not allowed: SLIPWAY_HTTPS_PORT is the same port',
  ],
  [
    { ...FLEET, SECRET: '' },
    'SLIPWAY_DATABASE_URL needs SLIPWAY_SECRET beside it: all nodes of a database sign and encrypt with one secret',
  ],
  [
    { ...FLEET, BASE_URL: '' },
    'SLIPWAY_DATABASE_URL needs SLIPWAY_BASE_URL beside it: all nodes of a database have one public URL',
  ],
  [
    { ...FLEET, SMTP_URL: '' },
    'SLIPWAY_DATABASE_URL needs SLIPWAY_SMTP_URL beside it: a sign-in code in a file would stay on the node that created it',
  ],
] as const)
  test(`settings that do not fit together are refused: ${line}`, () => {
    assert.deepEqual(refusal(toEnvironment(given)), [line])
  })

test('values at the limits of their ranges are accepted, and an empty one is unset', () => {
  const edges: [string, string, (config: Config) => unknown][] = [
    ['PORT', '0', (config) => config.port === 0],
    ['PORT', '65535', (config) => config.port === 65_535],
    ['PORT', '', (config) => config.port === 8080],
    ['HTTPS_PORT', '0', (config) => config.httpsPort === 0],
    ['HTTPS_PORT', 'off', (config) => config.httpsPort === undefined],
    ['INTERNAL_PORT', 'off', (config) => config.internalPort === undefined],
    ['DISK_RESERVE', '5%', (config) => isDeepStrictEqual(config.diskReserve, { percent: 5 })],
    ['DISK_RESERVE', 'automatic', (config) => config.diskReserve === undefined],
    ['SECRET', 'x'.repeat(32), (config) => config.secret.length === 32],
    ['BASE_URL', 'https://slipway.example/', (config) => config.baseUrl === 'https://slipway.example'],
    ['BASE_URL', 'http://[::1]:8080', (config) => config.baseUrl === 'http://[::1]:8080'],
    ['SITE_DOMAIN', 'Sites.Example', (config) => config.siteDomain === 'sites.example'],
    ['SITE_DOMAIN', 'sites.example', (config) => config.proxyHost === 'domains.sites.example'],
    ['SITE_DOMAIN', 'sites.example', (config) => config.mailFrom.includes('@sites.example')],
    ['PROXY_PROTOCOL', 'off', (config) => config.proxyProtocol === undefined],
    ['PROXY_PROTOCOL', 'private', (config) => config.proxyProtocol!.check('10.1.2.3')],
    ['PROXY_PROTOCOL', 'private', (config) => !config.proxyProtocol!.check('192.0.2.1')],
    ['PROXY_PROTOCOL', '192.0.2.7, 2001:db8::/32', (config) => config.proxyProtocol!.check('192.0.2.7')],
    ['PROXY_PROTOCOL', '2001:db8::/32', (config) => config.proxyProtocol!.check('2001:db8::1', 'ipv6')],
    ['SMTP_URL', 'smtps://user:pass@mail.example:465', (config) => config.smtpUrl !== ''],
    ['MAIL_FROM', 'a@b.example', (config) => config.mailFrom === 'a@b.example'],
    ['MAIL_FROM', 'Grüße, Inc. <a@b.example>', (config) => config.mailFrom.startsWith('Grüße')],
    ['BLOB_GRACE', '0', (config) => config.blobGrace === 0],
    ['BLOB_GRACE', '1.5h', (config) => config.blobGrace === 5400],
    ['ANONYMOUS_LIFETIME', '30d', (config) => config.anonymousLifetime === 30 * 86_400],
    ['SITE_BYTES', '10GB', (config) => config.ownedSiteBytes === 10e9],
    ['SITE_BYTES', '1.5gib', (config) => config.ownedSiteBytes === 1.5 * 2 ** 30],
    ['FILE_BYTES', '1TiB', (config) => config.ownedFileBytes === 2 ** 40],
    ['FILE_BYTES', 'unlimited', (config) => config.ownedFileBytes === UNLIMITED],
    ['READY_SECONDS', 'automatic', (config) => config.readySeconds === 0],
    ['READY_SECONDS', '7', (config) => config.readySeconds === 7],
    ['RATE_FREE', 'unlimited', (config) => config.rateFree === UNLIMITED],
    ['DOMAINS_FREE', '0', (config) => config.domainsFree === 0],
    ['LOG', 'silent', (config) => config.log === 'silent'],
  ]
  for (const [name, value, matches] of edges) {
    const config = readConfig({ [`SLIPWAY_${name}`]: value })
    assert.ok(matches(config), `${name}=${value}`)
    assert.ok(Object.isFrozen(config))
  }
})

test('variables of the clients do not stop the server', () => {
  const files = globSync(['client/{cli,sdk}/**/*.ts', 'action/*', 'server/web/publish.sh'], { cwd: root })
  const texts = files.map((file) => readFileSync(join(root, file), 'utf8'))
  const names = new Set(texts.flatMap((text) => text.match(/\bSLIPWAY_[A-Z\d_]+/g) ?? []))
  assert.ok(names.size > 8)
  for (const name of names) readConfig({ [name]: 'x' })
})

test('a misspelled setting is reported with a suggestion and without its value', () => {
  for (const [name, meant] of [
    ['SLIPWAY_PORTS', /Did you mean SLIPWAY_PORT\?/],
    ['SLIPWAY_PROT', /Did you mean SLIPWAY_PORT\?/],
    ['SLIPWAY_SMTP', /Did you mean SLIPWAY_SMTP_URL\?/],
    ['SLIPWAY_MAIL_FORM', /Did you mean SLIPWAY_MAIL_FROM\?/],
    ['SLIPWAY_TRASH', /Did you mean SLIPWAY_TRASH_LIFETIME\?/],
    ['SLIPWAY_DATA_DIR', /Did you mean SLIPWAY_DATA\?/],
    ['SLIPWAY_LOG_LEVEL', /Did you mean SLIPWAY_LOG\?/],
    ['SLIPWAY_SEKRET', /Did you mean SLIPWAY_SECRET\?/],
    ['slipway_trash_lifetime', /Did you mean SLIPWAY_TRASH_LIFETIME\?/],
    ['SLIPWAY_port', /Did you mean SLIPWAY_PORT\? All settings: slipway-server settings$/],
  ] as const) {
    const [line = '', ...more] = refusal({ [name]: 'hush' })
    assert.deepEqual(more, [])
    assert.match(line, new RegExp(`^${name} is not a setting`))
    assert.match(line, meant)
    assert.doesNotMatch(line, /hush/)
  }
})

const SHARED_DOMAINS: [serviceHost: string, siteDomain: string, shared: string | undefined][] = [
  ['slipway.example.com', 'sites.example.com', 'example.com'],
  ['example.com', 'example.com', 'example.com'],
  ['example.com', 'sites.example.com', 'example.com'],
  ['sites.example.co.uk', 'example.co.uk', 'example.co.uk'],
  ['example.com', 'example.org', undefined],
  ['one.co.uk', 'two.co.uk', undefined],
  // On the Public Suffix List, in its section for private domains.
  ['pages.dev', 'pages.dev', undefined],
  ['www.github.io', 'github.io', undefined],
  ['localhost', 'localhost', undefined],
  ['api.localhost', 'sites.localhost', undefined],
  ['192.0.2.1', 'sites.example.com', undefined],
]

test('a service and its sites that share a registrable domain are recognized', async () => {
  for (const [serviceHost, siteDomain, shared] of SHARED_DOMAINS)
    assert.equal(await findSharedDomain(serviceHost, siteDomain), shared, `${serviceHost}, ${siteDomain}`)
})

test('the start logs a warning about a shared registrable domain', async () => {
  const { lines } = await run(['serve'], {
    BASE_URL: 'http://slipway.example.com',
    SITE_DOMAIN: 'sites.example.com',
    // After the warnings the start fails.
    HOST: '192.0.2.1',
  })
  const log = lines.map((line) => JSON.parse(line))
  assert.ok(log.some(({ level, shared }) => level === 'warn' && shared === 'example.com'))
})

const NO_CONTACT = /SLIPWAY_REPORT_EMAIL is not set, although anyone can publish/

const PUBLIC = { BASE_URL: 'https://a.example', SITE_DOMAIN: 'b.example' }

const DEPLOYMENTS: [settings: Record<string, string>, warnings: RegExp[]][] = [
  [{}, []],
  [{ BASE_URL: 'http://localhost:9000' }, []],
  [{ BASE_URL: 'http://[::1]:9000' }, []],
  [
    { BASE_URL: 'http://slipway.lan:8080' },
    [
      /other machines cannot connect/,
      /only this machine can open published sites/,
      /no email is sent/,
      NO_CONTACT,
    ],
  ],
  [{ ...PUBLIC, TRUSTED_PROXIES: '1' }, [/no email is sent/, NO_CONTACT]],
  [
    {
      ...PUBLIC,
      PROXY_PROTOCOL: 'private',
      SIGN_UP: 'invitation',
    },
    [/no email is sent/, NO_CONTACT],
  ],
  [
    {
      ...PUBLIC,
      PROXY_PROTOCOL: 'private',
      SIGN_UP: 'invitation',
      ANONYMOUS: 'off',
    },
    [/no email is sent/],
  ],
  [{ BLOB_GRACE: '59s' }, [/a backup by other tools .* can lack files/]],
  [{ CHROMIUM: '/bin/sh' }, process.getuid!() === 0 ? [/cannot use its sandbox as root/] : []],
  [{ CHROMIUM: '/bin/sh', CHROMIUM_SANDBOX: 'off' }, []],
  [{ HOST: '0.0.0.0', TRUSTED_PROXIES: '1' }, [/can forge its address/]],
  [{ HOST: '127.0.0.1', TRUSTED_PROXIES: '1' }, []],
  [{ FILE_BYTES: '2 GB', SITE_BYTES: '1GB' }, [/SLIPWAY_FILE_BYTES is larger/]],
  [
    {
      HOST: '::',
      ...PUBLIC,
      SMTP_URL: 'smtp://mail.example',
      REPORT_EMAIL: 'ops@a.example',
    },
    [],
  ],
  [
    {
      HOST: '0.0.0.0',
      ...PUBLIC,
      SMTP_URL: 'smtp://mail.example',
      HTTPS_PORT: '443',
    },
    [/sites have no certificate/, NO_CONTACT],
  ],
]

test('the start warns about settings that are probably a mistake', () => {
  for (const [given, expected] of DEPLOYMENTS) {
    const { warnings } = readConfig(toEnvironment(given))
    assert.equal(warnings.length, expected.length, JSON.stringify(given))
    for (const [index, warning] of warnings.entries()) assert.match(warning, expected[index]!)
  }
})

test('the server ignores settings of the client and variables of other programs', () => {
  readConfig({ SLIPWAY_URL: 'x', SLIPWAY_KEY: 'y', SLIPWAY_SITE_PASSWORD: 'z', PORT: '-1', PATH: '/bin' })
})

describe('plans', () => {
  const plansOf = (environment: Record<string, string>) => readConfig(environment).plans

  test('free and hobby have the limits of the specification, and larger ones of storage', () => {
    const { free, hobby, ...others } = plansOf({})
    assert.deepEqual(others, {})
    assert.deepEqual([free!.requestsPerHour, free!.domains, free!.bytes], [60, 1, 100 * 2 ** 30])
    assert.deepEqual([hobby!.requestsPerHour, hobby!.domains, hobby!.bytes], [200, 5, 2 ** 40])
  })

  test('a plan of the table has the limits of free that it leaves out, which single settings may have set', () => {
    const table = { team: { name: 'Team', bytes: '500GB', requestsPerHour: 'unlimited' }, free: { sites: 3 } }
    const { free, team } = plansOf({
      SLIPWAY_PLANS: JSON.stringify(table),
      SLIPWAY_FILES: '50',
      SLIPWAY_RATE_FREE: '7',
    })
    assert.deepEqual([free!.sites, free!.requestsPerHour, free!.filesPerSite], [3, 7, 50])
    assert.deepEqual(
      [team!.name, team!.bytes, team!.requestsPerHour, team!.sites, team!.filesPerSite],
      ['Team', 500e9, UNLIMITED, 3, 50],
    )
  })

  test('the table can be in a file', async () => {
    await using folder = await memoryFolder()
    const file = join(folder.path, 'plans.json')
    await writeFile(file, '{"team":{"sites":9}}')
    assert.equal(plansOf({ SLIPWAY_PLANS: file }).team!.sites, 9)
  })

  test('a value of the table and another one of its own setting are refused, and the same one is not', () => {
    const table = '{"hobby":{"requestsPerHour":300}}'
    assert.deepEqual(refusal({ SLIPWAY_PLANS: table, SLIPWAY_RATE_HOBBY: '200' }), [
      'SLIPWAY_RATE_HOBBY and requestsPerHour of the plan hobby in SLIPWAY_PLANS differ: leave one of them out',
    ])
    assert.equal(plansOf({ SLIPWAY_PLANS: table, SLIPWAY_RATE_HOBBY: '300' }).hobby!.requestsPerHour, 300)
    assert.equal(plansOf({ SLIPWAY_PLANS: table }).hobby!.requestsPerHour, 300)
  })
})

test('two plans cannot have the same name', () => {
  assert.deepEqual(refusal({ SLIPWAY_PLANS: '{"team":{"name":"free"}}' }), [
    'SLIPWAY_PLANS: the plans free and team have the same name: free',
  ])
  assert.deepEqual(refusal({ SLIPWAY_PLAN_FREE: 'Staff', SLIPWAY_PLAN_HOBBY: 'staff' }), [
    'SLIPWAY_PLAN_HOBBY="staff" is not allowed: SLIPWAY_PLAN_FREE is the same name',
  ])
})

test('all errors are reported together', () => {
  const lines = refusal({
    SLIPWAY_PORT: 'x',
    SLIPWAY_BASE_URL: 'https://slipway.example/path',
    SLIPWAY_LOG: 'y',
    SLIPWAY_PROT: '1',
  })
  assert.deepEqual(lines.map((line) => /SLIPWAY_\w+/.exec(line)?.[0]).sort(), [
    'SLIPWAY_BASE_URL',
    'SLIPWAY_LOG',
    'SLIPWAY_PORT',
    'SLIPWAY_PROT',
  ])
})

/** The settings as environment variables. */
function toEnvironment(settings: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [`SLIPWAY_${name}`, value]))
}

/** The reasons against these settings, if any. */
function tryToRead(environment: Record<string, string>): string {
  try {
    readConfig(environment)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

function refusal(environment: Record<string, string>): string[] {
  try {
    readConfig(environment)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.message.split('\n')
  }
  assert.fail(`${JSON.stringify(environment)} was taken`)
}
