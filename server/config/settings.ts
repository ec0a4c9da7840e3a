import { resolve } from 'node:path'
import { UNLIMITED } from '../../protocol/format.ts'
import { isLoopbackHost, isLoopbackUrl } from '../../protocol/loopback.ts'
import { findNearest } from '../../protocol/nearest.ts'
import type { PlanTable } from '../accounts/plans.ts'
import { deriveAccents, type ServiceBranding } from '../lib/branding.ts'
import { findPlanProblems, resolvePlans } from './plan-settings.ts'
import { type SettingValues, settings } from './setting-table.ts'
import { hidePassword, readValue, type Setting } from './setting-types.ts'
import type { SettingsFile } from './settings-file.ts'

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

const PORT_SETTINGS = ['port', 'httpsPort', 'internalPort'] as const

/** All settings of the service, read once and frozen. Sizes are bytes, times seconds. */
export type Config = Readonly<
  SettingValues & {
    plans: PlanTable
    branding: ServiceBranding
    readySeconds: number
    /** The target of `move`, whose arguments other users of the machine can see. */
    moveDatabaseUrl: string
    dnsHookEnvironment: Readonly<Record<string, string>>
    scanHookEnvironment: Readonly<Record<string, string>>
    /** Sentences for the log of the start: combinations of settings that rarely are intended. */
    warnings: readonly string[]
  }
>

/** Invalid settings: one line per setting with its name, value and allowed values. */
export class ConfigError extends Error {}

/** Freezes settings of `environment`, part of which Node read from `files`. ConfigError with a line for each error. */
export function readConfig(
  environment: Record<string, string | undefined>,
  files: readonly SettingsFile[] = [],
): Config {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(settings) as [string, Setting<unknown>][]) {
    const given = environment[setting.name]
    try {
      values[key] = given ? readValue(setting.name, setting, given) : setting.defaultValue
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  const known = new Set(Object.values(settings).map((setting) => setting.name as string))
  for (const name of Object.keys(environment)) {
    if (/^slipway_/i.test(name) && !known.has(name) && !OTHER_VARIABLES.has(name))
      problems.push(unknownSetting(name, known))
  }
  for (const [one, other] of REQUIRED_PAIRS)
    problems.push(...missingPair(values, one, other), ...missingPair(values, other, one))
  problems.push(...missingWithDatabase(values as SettingValues), ...twoKindsOfProxies(values))
  problems.push(...duplicatePorts(values))
  if (problems.length === 0) problems.push(...findPlanProblems(values as SettingValues, environment))
  const located = [
    ...files.flatMap((file) => file.problems),
    ...problems.map((problem) => withPlace(problem, environment, files)),
  ]
  if (located.length > 0) throw new ConfigError(located.join('\n'))
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
    const { name, defaultLabel, description } = setting
    const given = environment[name]
    const defaultValue = defaultLabel ?? String(setting.defaultValue)
    const value = given ? (setting.secret ? '(hidden)' : hidePassword(given)) : defaultValue
    return { name, defaultValue, value, description }
  })
}

/** Variables of the clients, which the server ignores, and of a single command. */
const OTHER_VARIABLES = new Set([
  ...['SLIPWAY_URL', 'SLIPWAY_SITE', 'SLIPWAY_FOLDER', 'SLIPWAY_PROGRAM', 'SLIPWAY_CLIENT_SHA256'],
  ...['SLIPWAY_KEY', 'SLIPWAY_ID_TOKEN', 'SLIPWAY_SITE_PASSWORD', 'SLIPWAY_CLAIM_TOKEN'],
  'SLIPWAY_COMMENT_TOKEN',
  'SLIPWAY_MOVE_DATABASE_URL',
])

/** Two checks of a balancer, with its default interval of 2 seconds. */
const FLEET_READY_SECONDS = 5

function withDefaults(values: SettingValues, environment: Record<string, string | undefined>): Config {
  const { siteDomain, serviceName } = values
  return Object.freeze({
    ...values,
    data: resolve(values.data),
    plans: resolvePlans(values),
    branding: readBranding(values),
    readySeconds: values.readySeconds ?? (values.databaseUrl === '' ? 0 : FLEET_READY_SECONDS),
    moveDatabaseUrl: environment.SLIPWAY_MOVE_DATABASE_URL ?? '',
    otlpUrl: values.otlpUrl || readCollector(environment),
    proxyHost: values.proxyHost || `domains.${siteDomain}`,
    mailFrom: values.mailFrom || `${toPhrase(serviceName)} <slipway@${siteDomain}>`,
    dnsHookEnvironment: hookEnvironment(environment, { prefix: 'DNS_HOOK_', names: values.dnsHookVariables }),
    scanHookEnvironment: hookEnvironment(environment, { prefix: 'SCAN_HOOK_' }),
    warnings: deploymentWarnings(values),
  })
}

function readBranding(values: SettingValues): ServiceBranding {
  const { serviceName: name, termsUrl, imprintUrl, color, logo } = values
  const accents = color === '' ? undefined : deriveAccents(color)
  const branding = { name, termsUrl, imprintUrl, hasLogo: logo !== undefined }
  return Object.freeze({ ...branding, ...(accents && { accents }), ...(logo && { logo }) })
}

/** A display name (RFC 5322, 3.2.5): quoted unless it has only letters, digits and spaces. */
function toPhrase(name: string): string {
  return /^[\p{L}\p{N} ]+$/u.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`
}

/** The variable of OpenTelemetry, which platforms set for all services. */
function readCollector(environment: Record<string, string | undefined>): string {
  const url = environment.OTEL_EXPORTER_OTLP_ENDPOINT ?? ''
  return /^https?:\/\/./.test(url) && URL.canParse(url) ? url : ''
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

const withoutPrefix = (name: string) => name.slice('SLIPWAY_'.length)

function withPlace(
  problem: string,
  environment: Record<string, string | undefined>,
  files: readonly SettingsFile[],
): string {
  const [name = ''] = /^\w+/.exec(problem) ?? []
  for (const file of files) {
    const place = file.findPlace(name, environment[name])
    if (place !== undefined) return `${problem} (${place})`
  }
  return problem
}

function unknownSetting(name: string, known: Set<string>): string {
  const given = withoutPrefix(name.toUpperCase())
  const names = [...known].map(withoutPrefix)
  const near = findNearest(given, names) ?? names.find((other) => given.startsWith(`${other}_`))
  const suggestion = near === undefined ? '' : ` Did you mean SLIPWAY_${near}?`
  return `${name} is not a setting.${suggestion} All settings: slipway-server settings`
}

/** What a service that other machines can reach lacks. */
function deploymentWarnings(values: SettingValues): readonly string[] {
  const { baseUrl, siteDomain, smtpUrl, data } = values
  const warnings = []
  if (values.trustedProxies > 0 && EVERY_ADDRESS.has(values.host))
    warnings.push(
      `SLIPWAY_TRUSTED_PROXIES is ${values.trustedProxies} and SLIPWAY_HOST is ${values.host}: a client that reaches the port without the proxy can forge its address and evade rate limits. Allow only the proxy to reach the port: set SLIPWAY_HOST=127.0.0.1, or, in a container, publish the port to 127.0.0.1 or to the network of the proxy only`,
    )
  if (
    values.ownedFileBytes > values.ownedSiteBytes &&
    // The default may exceed a limit of the site that the operator lowered.
    ![settings.ownedFileBytes.defaultValue, UNLIMITED].includes(values.ownedFileBytes)
  )
    warnings.push('SLIPWAY_FILE_BYTES is larger than SLIPWAY_SITE_BYTES, which limits files as well')
  if (values.blobGrace < MIN_BACKUP_SECONDS)
    warnings.push(
      `SLIPWAY_BLOB_GRACE is ${values.blobGrace} s: a backup by other tools than slipway-server backup that takes longer can lack files of sites. Set it to more than its duration`,
    )
  if (values.chromium !== '' && values.chromiumSandbox === 'on' && process.getuid?.() === 0)
    warnings.push(
      'SLIPWAY_CHROMIUM is set, but Chromium cannot use its sandbox as root: run the service as another user, or set SLIPWAY_CHROMIUM_SANDBOX=off',
    )
  if (baseUrl === '' || isLoopbackUrl(baseUrl)) return warnings
  if (isLoopbackHost(values.host) && values.trustedProxies === 0 && !values.proxyProtocol)
    warnings.push(
      `SLIPWAY_BASE_URL is ${baseUrl}, but SLIPWAY_HOST is ${values.host}: other machines cannot connect. Set SLIPWAY_HOST=::, or, behind a reverse proxy on this machine, SLIPWAY_TRUSTED_PROXIES=1 or SLIPWAY_PROXY_PROTOCOL=private`,
    )
  if (values.httpsPort !== undefined && !values.tlsCertFile && !values.dnsHook && !values.siteCertificates)
    warnings.push(
      'SLIPWAY_HTTPS_PORT is set, but published sites have no certificate and no HTTPS. Set SLIPWAY_TLS_CERT_FILE and SLIPWAY_TLS_KEY_FILE, SLIPWAY_DNS_HOOK, or SLIPWAY_SITE_CERTIFICATES',
    )
  if (isLoopbackHost(siteDomain))
    warnings.push(
      `SLIPWAY_BASE_URL is ${baseUrl}, but SLIPWAY_SITE_DOMAIN is ${siteDomain}: only this machine can open published sites. Set SLIPWAY_SITE_DOMAIN to a domain with a wildcard DNS record`,
    )
  if (smtpUrl === '')
    warnings.push(
      `SLIPWAY_SMTP_URL is not set: no email is sent. Sign-in codes are printed to the terminal, or to stderr without one, and written to ${data}/mail`,
    )
  const isOpen = values.anonymousPublishing === 'on' || values.signUp.kind === 'open'
  if (isOpen && values.reportEmail === '')
    warnings.push(
      'SLIPWAY_REPORT_EMAIL is not set, although anyone can publish: reports by visitors send no email, and pages of suspended sites name no contact. Set it to the address of the operator',
    )
  return warnings
}

/** Shorter values of SLIPWAY_BLOB_GRACE are rarely intended. */
const MIN_BACKUP_SECONDS = 60

/** Values of SLIPWAY_HOST that listen on every network. */
const EVERY_ADDRESS = new Set(['0.0.0.0', '::', '[::]'])

/** Variables of the service that every program may read. */
const PUBLIC_VARIABLES = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR']

/** None of the service's settings, which hold its secrets. Variables that begin with `prefix` are for the hook. */
function hookEnvironment(
  environment: Record<string, string | undefined>,
  { prefix, names = [] }: { prefix: string; names?: readonly string[] },
): Readonly<Record<string, string>> {
  const passed = new Set([...PUBLIC_VARIABLES, ...names])
  const isPassed = (name: string) => passed.has(name) || name.startsWith(prefix)
  const entries = Object.entries(environment).filter(([name, value]) => isPassed(name) && value !== undefined)
  return Object.freeze(Object.fromEntries(entries) as Record<string, string>)
}
