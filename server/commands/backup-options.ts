import { formatBytes, pluralize } from '../../protocol/format.ts'
import type { BackupManifest } from '../operations/backup/manifest.ts'
import { type CommandContext, UsageError } from './command.ts'

const REPORT_INTERVAL_MS = 1000

/** At most once a second. */
export function progressPrinter(context: CommandContext, isOff: boolean): (describe: () => string) => void {
  let reportedAt = performance.now()
  return (describe) => {
    if (isOff || !context.environment.isTerminal || performance.now() - reportedAt < REPORT_INTERVAL_MS)
      return
    reportedAt = performance.now()
    context.print(describe())
  }
}

export interface BackupArguments {
  json: boolean
  withoutSecret: boolean
  /** Accepts a target whose newest backup is of another service. */
  otherService: boolean
  repair: boolean
  /** Into how many parts the files are divided, of which one is verified. */
  parts?: number
  keep?: number
  toData?: string
  toDatabase?: string
  toBlobs?: string
  values: string[]
}

const RESTORE_OPTIONS = {
  '--to-data': 'toData',
  '--to-database': 'toDatabase',
  '--to-blobs': 'toBlobs',
} as const

export function parseOptions(
  args: readonly string[],
  command: string,
  allowed: readonly string[] = ['--keep', '--without-secret', '--other-service', '--json'],
): BackupArguments {
  const flags = { json: false, withoutSecret: false, otherService: false, repair: false }
  const parsed: BackupArguments = { ...flags, values: [] }
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (!arg.startsWith('--')) parsed.values.push(arg)
    else if (!allowed.includes(arg))
      throw new UsageError(`${command} takes only ${allowed.join(', ')}: ${arg}`)
    else if (arg === '--json') parsed.json = true
    else if (arg === '--without-secret') parsed.withoutSecret = true
    else if (arg === '--other-service') parsed.otherService = true
    else if (arg === '--repair') parsed.repair = true
    else if (arg === '--keep') parsed.keep = parseNumber(rest.shift(), '--keep needs a number of backups')
    else if (arg === '--parts') parsed.parts = parseNumber(rest.shift(), '--parts needs a number of days')
    else parsed[RESTORE_OPTIONS[arg as keyof typeof RESTORE_OPTIONS]] = rest.shift() ?? ''
  }
  return parsed
}

/** Separates the time of a backup, which is last, from the target. */
export function takeTime(values: readonly string[]): { time?: string; rest: string[] } {
  const last = values.at(-1)
  if (last === undefined || !/^\d{4}-\d\d-\d\dT/.test(last)) return { rest: [...values] }
  return { time: last, rest: values.slice(0, -1) }
}

export function chooseTarget(values: readonly string[], setting: string): string {
  if (values.length > 1) throw new UsageError(`One target is enough: ${values.join(' ')}`)
  const target = values[0] ?? setting
  if (target === '') throw new UsageError('A target is missing: a folder, s3://…, or SLIPWAY_BACKUP_TARGET.')
  return target
}

export function describe({ counts, release, service, damaged, secret }: BackupManifest): string {
  const parts = [
    `${pluralize(counts.accounts, 'account')}, ${pluralize(counts.sites, 'site')}, ${pluralize(counts.versions, 'version')}`,
    `${pluralize(counts.files, 'file')} (${formatBytes(counts.bytes)})`,
    `Slipway ${release}`,
    ...(service === undefined ? [] : [`service ${service.slice(0, 8)}`]),
    ...(secret === undefined ? ['without the secret'] : []),
    ...(damaged.length > 0 ? [`without ${pluralize(damaged.length, 'lost file')}`] : []),
  ]
  return parts.join(', ')
}

function parseNumber(given = '', problem: string): number {
  if (!/^[1-9]\d{0,3}$/.test(given)) throw new UsageError(`${problem}, at least 1.`)
  return Number(given)
}
