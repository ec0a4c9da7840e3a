import { X509Certificate } from 'node:crypto'
import { Resolver } from 'node:dns'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import type { SignUpPolicy } from '../../protocol/api/admin/policies.schema.ts'
import { FORGES, type Forge } from '../../protocol/api/trusts.ts'
import { UNLIMITED } from '../../protocol/format.ts'
import { isLoopbackUrl } from '../../protocol/loopback.ts'
import {
  BYTE_UNITS,
  formatQuantity,
  formatSize,
  parseQuantity,
  TIME_UNITS,
  type Units,
} from '../../protocol/quantity.ts'
import { isRedirectUri, type KnownClient } from '../accounts/oauth/clients.ts'
import type { ReserveSize } from '../blobs/disk-reserve.ts'
import { attempt } from '../lib/attempt.ts'
import { findSecretProblem } from '../lib/tokens.ts'
import { parseConnectionUrl } from '../store/postgres/connection-url.ts'

/** Smaller numbers probably lack a unit. */
const MIN_RESERVE_BYTES = 1e6
const MAX_RESERVE_BYTES = 2 ** 44
const MAX_RESERVE_PERCENT = 90

/** The values of a setting. `read` parses one or throws a description of the allowed values. */
export interface SettingType<T> {
  defaultValue: T
  /** Shown in the list of settings in place of a default. */
  defaultLabel?: string
  read(text: string): T
  secret?: true
  description: string
}

export interface Setting<T> extends SettingType<T> {
  name: string
}

/** A value that is not allowed: a line with the name of its setting. */
export class SettingError extends Error {
  override name = 'SettingError'
}

/** Parses a value; SettingError without the value of a secret. */
export function readValue<T>(name: string, { read, secret }: SettingType<T>, given: string): T {
  try {
    const value = read(given)
    if (given !== given.trim()) throw new Error('it must not begin or end with a blank or a line feed')
    return value
  } catch (error) {
    const displayed = secret ? '(hidden)' : JSON.stringify(hidePassword(given))
    throw new SettingError(`${name}=${displayed} is not allowed: ${(error as Error).message}`)
  }
}

/** Without the user and the password that a URL may have, even where it must not. */
export function hidePassword(given: string): string {
  const end = given.lastIndexOf('@')
  return end > 0 && given.slice(0, end).includes(':') ? `(hidden)${given.slice(end)}` : given
}

type Range = readonly [min: number, max: number]

function define<T>(defaultValue: T, description: string, read: (given: string) => T): SettingType<T> {
  return { defaultValue, description, read }
}

function checked(
  isAllowed: (given: string) => boolean,
  problem: string,
  description: string,
): SettingType<string> {
  return define('', description, (given) => {
    if (!isAllowed(given)) throw new Error(problem)
    return given
  })
}

export function text(defaultValue: string, description: string): SettingType<string> {
  return define(defaultValue, description, (given) => given)
}

export function folder(defaultValue: string, description: string): SettingType<string> {
  const problem = 'it must be a path: outside of a shell, ~ and $ at its beginning stay as they are'
  return { ...checked((given) => !/^[~$]/.test(given), problem, description), defaultValue }
}

export function displayName(defaultValue: string, description: string): SettingType<string> {
  return define(defaultValue, description, (given) => {
    if (!/^[^\p{C}]{1,40}$/u.test(given) || given.trim() === '')
      throw new Error('it must be a name of 1 to 40 characters')
    return given
  })
}

export function planName(defaultValue: string, description: string): SettingType<string> {
  const { read } = displayName(defaultValue, description)
  return define(defaultValue, description, (given) => {
    if (/[<>]/.test(given)) throw new Error('it must be a name of 1 to 40 characters without < and >')
    return read(given)
  })
}

export function integer(defaultValue: number, [min, max]: Range, description: string): SettingType<number> {
  return define(defaultValue, description, (given) => {
    const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
    if (!(value >= min && value <= max)) throw new Error(`it must be a whole number from ${min} to ${max}`)
    return value
  })
}

/** A size in bytes: `500000`, `500MB`, `1.5GB` (powers of 1,000) or `512MiB` (powers of 1,024). */
export const bytes = quantity(BYTE_UNITS, formatSize, 'a size', '500MB or 2GiB')

const DURATIONS = '90s, 30m, 24h or 30d'

/** A duration of a setting whose name has its unit: `90`, `90s`, `30m`, `24h` or `30d`. */
export const seconds = quantity(TIME_UNITS, formatQuantity, 'a duration', DURATIONS)

/** A duration in seconds that has a unit, unless it is 0 or too long for a number of hours or days. */
export const duration = quantity(TIME_UNITS, formatQuantity, 'a duration with its unit', DURATIONS, 1000)

export function countLimit(...row: Parameters<typeof integer>): SettingType<number> {
  return unlimitable(integer(...row), 'A number')
}

export function sizeLimit(...row: Parameters<typeof bytes>): SettingType<number> {
  return unlimitable(bytes(...row), 'A size')
}

function unlimitable(setting: SettingType<number>, kind: string): SettingType<number> {
  return {
    ...setting,
    description: `${setting.description} ${kind} or \`unlimited\`.`,
    read(given) {
      if (given === 'unlimited') return UNLIMITED
      try {
        return setting.read(given)
      } catch (error) {
        throw new Error(`${(error as Error).message}, or unlimited`)
      }
    },
  }
}

/** A setting that is undefined by default, and when its value is `defaultLabel`. */
export function optional<T>(
  { defaultValue: _, ...setting }: SettingType<T>,
  defaultLabel: string,
): SettingType<T | undefined> {
  const read = (given: string) => (given === defaultLabel ? undefined : setting.read(given))
  return { ...setting, read, defaultValue: undefined, defaultLabel }
}

/** Addresses of DNS servers with ports in the form of `dns.Resolver.setServers`; empty for those of the system. */
export function dnsServers(description: string): SettingType<readonly string[]> {
  return define([], description, (given) => {
    const servers = given.split(',').map((one) => one.trim())
    const resolver = new Resolver()
    try {
      if (servers.some((server) => /:0+$/.test(server))) throw new Error('port 0')
      resolver.setServers(servers)
    } catch {
      throw new Error(
        'it must be addresses with or without a port: 192.0.2.1,127.0.0.1:5353,[2001:db8::1]:53',
      )
    }
    return servers
  })
}

/** Addresses and networks, separated by commas, or `private`. */
export function networks(description: string): SettingType<BlockList | undefined> {
  return define(undefined, description, (given) => {
    const list = new BlockList()
    const all = given === 'private' ? PRIVATE_NETWORKS : given.split(',').map((one) => one.trim())
    for (const one of all) {
      const [address = '', prefix, ...rest] = one.split('/')
      const version = isIP(address)
      const maxBits = version === 4 ? 32 : 128
      const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= maxBits)
      if (version === 0 || address.includes('%') || !isPrefix || rest.length > 0)
        throw new Error(
          'it must be off, private, or addresses and networks, separated by commas: 192.0.2.7,2001:db8::/32',
        )
      list.addSubnet(address, Number(prefix ?? maxBits), version === 4 ? 'ipv4' : 'ipv6')
    }
    return list
  })
}

/** Labels of host names, separated by commas; none by default. */
export function labels(description: string): SettingType<readonly string[]> {
  return define([], description, (given) => {
    const names = given.split(',').map((one) => one.trim().toLowerCase())
    if (!names.every((one) => /^(?!-)[a-z0-9-]{1,63}(?<!-)$/.test(one)))
      throw new Error('it must be names such as intranet,blog: letters, digits and hyphens')
    return names
  })
}

export function signUpPolicy(description: string): SettingType<SignUpPolicy> {
  const read = (given: string): SignUpPolicy => {
    if (given === 'open' || given === 'invitation' || given === 'closed') return { kind: given }
    const [, listed = ''] = /^domains:(.+)$/.exec(given) ?? []
    const domains = listed.split(',').map((one) => one.trim().toLowerCase())
    if (domains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain)))
      return { kind: 'domains', domains }
    throw new Error('it must be open, invitation, closed, or domains:example.com,example.org')
  }
  return { defaultValue: { kind: 'open' }, defaultLabel: 'open', description, read }
}

const PUBLIC_ISSUERS: Record<Forge, string> = {
  github: 'https://token.actions.githubusercontent.com',
  gitlab: 'https://gitlab.com',
}

/** Issuers of tokens of CI jobs, each with the kind of its forge. Without TLS on this machine only. */
export function issuers(description: string): SettingType<readonly { forge: Forge; url: string }[]> {
  const read = (given: string) => {
    if (given === 'off') return []
    return given.split(',').map((one) => {
      const [kind, ...rest] = one.trim().split('=')
      const forge = FORGES.find((known) => known === kind)
      const url = rest.length === 0 && forge ? PUBLIC_ISSUERS[forge] : rest.join('=')
      if (forge && isIssuer(url)) return { forge, url }
      throw new Error(
        'it must be off, or github, gitlab or gitlab=https://gitlab.example.com, separated by commas',
      )
    })
  }
  const defaultLabel = FORGES.join(',')
  return { defaultValue: read(defaultLabel), defaultLabel, description, read }
}

/** Programs with the URL of their document and their redirect URIs. */
export function oauthClients(description: string): SettingType<readonly KnownClient[]> {
  const read = (given: string) => {
    if (given === 'none') return []
    return given.split(',').map((one) => {
      const [, program = '', rest = ''] = /^([^=]{1,64})=(.+)$/.exec(one.trim()) ?? []
      const [id = '', ...redirectUris] = rest.split(/ +/)
      if (
        /^https:\/\/[^/]+\/./.test(id) &&
        URL.canParse(id) &&
        redirectUris.length > 0 &&
        redirectUris.every(isRedirectUri)
      )
        return { id, name: program.trim(), redirectUris }
      throw new Error(
        'it must be like Name=https://program.example/client.json https://program.example/callback, separated by commas',
      )
    })
  }
  return { defaultValue: [], defaultLabel: 'none', description, read }
}

function isIssuer(text: string): boolean {
  const url = URL.parse(text)
  if (!url || url.search || url.hash || url.username || text.endsWith('/')) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(text))
}

export function bytesOrPercent(description: string): SettingType<ReserveSize> {
  return define({ bytes: 0 }, description, (given) => {
    const size = parseQuantity(given, BYTE_UNITS)
    if (size === 0 || (size >= MIN_RESERVE_BYTES && size <= MAX_RESERVE_BYTES)) return { bytes: size }
    const [, percent] = /^(\d{1,2}(?:\.\d{1,2})?)%$/.exec(given) ?? []
    if (percent !== undefined && Number(percent) <= MAX_RESERVE_PERCENT) return { percent: Number(percent) }
    throw new Error(
      `it must be 0, a size from ${formatSize(MIN_RESERVE_BYTES)} to ${formatSize(MAX_RESERVE_BYTES)}, such as 2GB, or a percentage from 0% to ${MAX_RESERVE_PERCENT}%, such as 3%`,
    )
  })
}

export function mailAddress(description: string): SettingType<string> {
  const isAddress = (given: string) => /^[^\s<>@,]+@[^\s<>@,]+$/.test(given)
  return checked(isAddress, 'it must be an email address', description)
}

/** An origin, without a trailing slash. */
export function origin(description: string): SettingType<string> {
  const { read } = address(description, ['http:', 'https:'])
  return define('', description, (given) => {
    const url = new URL(read(given))
    if (url.href !== `${url.origin}/`) throw new Error('it must not have a path, a query, a # or a user')
    return given.replace(/\/$/, '')
  })
}

/** '' for no page. */
export function link(description: string): SettingType<string> {
  const { read, ...setting } = address(description, ['http:', 'https:'])
  return { ...setting, read: (given) => new URL(read(given)).href }
}

export function color(description: string): SettingType<string> {
  return define('', description, (given) => {
    if (!/^#(?:[\da-f]{3}){1,2}$/i.test(given)) throw new Error('it must be a color such as #0b5a75')
    return (given.length === 4 ? given.replace(/[\da-f]/gi, '$&$&') : given).toLowerCase()
  })
}

export function sender(description: string): SettingType<string> {
  return checked(
    (given) => /^(?:[^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(given),
    'it must be an email address, or a name and an email address: Slipway <slipway@example.org>',
    description,
  )
}

export function address(description: string, schemes: string[], defaultValue = ''): SettingType<string> {
  const { secret: _, ...setting } = parsed(description, (given) => {
    const { username, password } = readUrl(given, schemes)
    if (username || password) throw new Error('must not have a user or a password')
  })
  return { ...setting, defaultValue }
}

/** Never shown: it may have a user and a password. */
export function secretAddress(description: string, schemes: string[]): SettingType<string> {
  return parsed(description, (given) => readUrl(given, schemes))
}

function readUrl(given: string, schemes: string[]): URL {
  const url = URL.parse(given)
  const beginnings = schemes.map((scheme) => `${scheme}//`)
  if (url?.hostname && beginnings.some((one) => given.toLowerCase().startsWith(one))) return url
  throw new Error(`must be a URL that begins with ${beginnings.join(' or ')}`)
}

export function hostName(defaultValue: string, description: string): SettingType<string> {
  return define(defaultValue, description, (given) => {
    const host = given.toLowerCase()
    if (
      host.length > 190 ||
      !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(host)
    ) {
      throw new Error('it must be a host name, without a scheme or a port')
    }
    return host
  })
}

export function secret(description: string): SettingType<string> {
  const setting = define('', description, (given) => {
    const problem = findSecretProblem(given)
    if (problem !== undefined) throw new Error(problem)
    return given
  })
  return { ...setting, secret: true }
}

export function databaseUrl(description: string): SettingType<string> {
  return parsed(description, parseConnectionUrl)
}

export function bucketUrl(description: string): SettingType<string> {
  return parsed(description, parseBucketUrl)
}

export function backupTarget(description: string): SettingType<string> {
  return parsed(description, (given) => given.startsWith('s3:') && parseBucketUrl(given))
}

/** Never shown: it may have a password, even where it must not. `parse` throws a sentence without a subject. */
function parsed(description: string, parse: (given: string) => unknown): SettingType<string> {
  const setting = define('', description, (given) => {
    try {
      parse(given)
    } catch (error) {
      throw new Error(`it ${(error as Error).message}`)
    }
    return given
  })
  return { ...setting, secret: true }
}

export function onOff(description: string): SettingType<'on' | 'off'> {
  return oneOf(['on', 'off'], description)
}

/** The default is the first of the allowed values, unless another one is given. */
export function oneOf<T extends string>(
  allowed: readonly [T, ...T[]],
  description: string,
  defaultValue: NoInfer<T> = allowed[0],
): SettingType<T> {
  return define(defaultValue, description, (given) => {
    const value = allowed.find((one) => one === given)
    if (value === undefined) throw new Error(`it must be one of ${allowed.join(', ')}`)
    return value
  })
}

export function file(description: string): SettingType<string> {
  return checked((given) => isFile(given, constants.R_OK), 'it must be a file that can be read', description)
}

export function certificateFile(description: string): SettingType<string> {
  const { read } = file(description)
  return define('', description, (given) => {
    const path = read(given)
    if (!attempt(() => new X509Certificate(readFileSync(path))))
      throw new Error('it must be a file with a certificate in PEM')
    return path
  })
}

/** Names of environment variables, separated by commas; none of the service's own, which may be secrets. */
export function variableNames(description: string): SettingType<readonly string[]> {
  return define([], description, (given) => {
    const names = given.split(',').map((one) => one.trim())
    if (names.some((one) => !/^[A-Za-z_]\w*$/.test(one) || one.startsWith('SLIPWAY_')))
      throw new Error('it must be names of environment variables, separated by commas, none of SLIPWAY_…')
    return names
  })
}

export function program(description: string): SettingType<string> {
  return checked(isProgram, 'it must be the absolute path of an executable program', description)
}

export type ScannerSetting =
  | { kind: 'program'; program: string }
  | { kind: 'clamd'; address: { path: string } | { host: string; port: number } }

/** A program, or ClamAV's daemon at the path of its socket or at host and port. */
export function scanner(description: string): SettingType<ScannerSetting | undefined> {
  return define(undefined, description, (given) => {
    const [, path, host, port] = /^clamd:(?:(\/.+)|\[?([^\s/[\]]+?)\]?:(\d{1,5}))$/.exec(given) ?? []
    if (path !== undefined) return { kind: 'clamd', address: { path } }
    if (host !== undefined && Number(port) > 0 && Number(port) <= 65535)
      return { kind: 'clamd', address: { host, port: Number(port) } }
    if (!isProgram(given))
      throw new Error(
        'it must be the absolute path of an executable program, or clamd: with the path of a socket or a host and port',
      )
    return { kind: 'program', program: given }
  })
}

export function base64url(description: string): SettingType<string> {
  const isKey = (given: string) => /^[\w-]{16,}={0,2}$/.test(given)
  return { ...checked(isKey, 'it must be a key in base64url', description), secret: true }
}

function quantity(
  units: Units,
  format: typeof formatQuantity,
  kind: string,
  examples: string,
  minWithoutUnit = 0,
) {
  return (defaultValue: number, [min, max]: Range, description: string): SettingType<number> => {
    const read = (given: string) => {
      const value = parseQuantity(given, units)
      const isClear = value === 0 || value >= minWithoutUnit || !/^\d+$/.test(given)
      if (isClear && value >= min && value <= max) return value
      throw new Error(
        `it must be ${kind} from ${format(min, units)} to ${format(max, units)}, such as ${examples}`,
      )
    }
    return { defaultValue, defaultLabel: formatQuantity(defaultValue, units), description, read }
  }
}

function isProgram(path: string): boolean {
  return isAbsolute(path) && isFile(path, constants.X_OK)
}

function isFile(path: string, mode: number): boolean {
  const stats = attempt(() => {
    accessSync(path, mode)
    return statSync(path)
  })
  return stats?.isFile() === true
}

/** Loopback, RFC 1918, RFC 4193 and link-local addresses. */
const PRIVATE_NETWORKS = [
  '127.0.0.0/8',
  '::1/128',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  'fc00::/7',
  'fe80::/10',
]
