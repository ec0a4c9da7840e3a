import { formatBytes, pluralize } from '../../protocol/format.ts'
import { findNearest } from '../../protocol/nearest.ts'
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

/** A target, and the time of a backup after it, or none for the newest. */
export function chooseBackup(values: readonly string[], setting: string): { name: string; time?: string } {
  const time = values.at(-1)
  if (time === undefined || !/^\d{4}-\d\d-\d\dT/.test(time)) return { name: chooseTarget(values, setting) }
  return { name: chooseTarget(values.slice(0, -1), setting), time }
}

export async function readBackup({ name, time }: ReturnType<typeof chooseBackup>) {
  const { openBackupTarget } = await import('../operations/copies.ts')
  const { readManifest } = await import('../operations/backup/manifest.ts')
  const target = await openBackupTarget(name)
  return { target, manifest: await readManifest(target, time) }
}

/** A word may be a mistyped command: a folder is typed with a slash. */
export function chooseTarget([typed, ...more]: readonly string[], setting: string): string {
  if (more.length > 0) throw new UsageError(`One target is enough: ${[typed, ...more].join(' ')}`)
  if (typed !== undefined && !/^s3:|\/|^\.{1,2}$/.test(typed)) {
    const near = findNearest(typed, ['list', 'verify'])
    const suggestion = near === undefined ? '' : ` Did you mean backup ${near}?`
    throw new UsageError(`${typed} is not a target.${suggestion} Type a folder with a slash: ./${typed}`)
  }
  const target = typed ?? setting
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

export function readNumber(given: string | undefined, otherwise: number, problem: string): number {
  if (given === undefined) return otherwise
  if (!/^[1-9]\d{0,3}$/.test(given)) throw new UsageError(`${problem}, at least 1.`)
  return Number(given)
}
