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

/** The backup of a time, which comes after the target, or the newest. */
export async function readBackup(values: readonly string[], setting: string) {
  const { openBackupTarget } = await import('../operations/copies.ts')
  const { readManifest } = await import('../operations/backup/manifest.ts')
  const time = values.at(-1)
  const hasTime = time !== undefined && /^\d{4}-\d\d-\d\dT/.test(time)
  const name = chooseTarget(hasTime ? values.slice(0, -1) : values, setting)
  const target = await openBackupTarget(name)
  return { name, target, manifest: await readManifest(target, hasTime ? time : undefined) }
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

export function readNumber(given: string | undefined, otherwise: number, problem: string): number {
  if (given === undefined) return otherwise
  if (!/^[1-9]\d{0,3}$/.test(given)) throw new UsageError(`${problem}, at least 1.`)
  return Number(given)
}
