import { formatBytes, formatDuration, formatNumber, pluralize } from '../../protocol/format.ts'
import type { BackupProgress } from '../operations/backup/backup.ts'
import type { ListedBackup } from '../operations/backup/manifest.ts'
import { BackupError } from '../operations/backup/target.ts'
import { chooseTarget, describe, parseOptions, progressPrinter, takeTime } from './backup-options.ts'
import type { Command, CommandContext } from './command.ts'

export const backup: Command = {
  usage: [
    [
      'backup [TARGET] [--keep N]',
      'copy the database and all files of a running service to a folder or a bucket; further options: --without-secret, --json',
    ],
    ['backup list [TARGET]', 'list the backups of a target'],
    ['backup verify [TARGET] [TIME]', 'read a whole backup and compare it with its hashes'],
  ],
  run(context, args) {
    const [verb = '', ...rest] = args
    const subcommand = Object.hasOwn(SUBCOMMANDS, verb) ? SUBCOMMANDS[verb] : undefined
    return subcommand ? subcommand(context, rest) : create(context, args)
  },
}

type Run = (context: CommandContext, args: string[]) => Promise<number>

const SUBCOMMANDS: Record<string, Run> = { list, verify: verifyBackup }

/** Exit code 1 when the service has lost or damaged files. */
async function create(context: CommandContext, args: string[]): Promise<number> {
  const { config, log, version, deadlines } = context
  const { json, withoutSecret, keep = config.backupKeep, values } = parseOptions(args, 'backup')
  const target = chooseTarget(values, config.backupTarget)
  const { backUpData } = await import('../backends.ts')
  const printProgress = progressPrinter(context, json)
  const startedAt = performance.now()
  const made = await backUpData(config, {
    ...{ target, log, version, deadlines, keep, withSecret: !withoutSecret, signal: abortOnSignals(context) },
    report: (progress) => printProgress(() => describeProgress(progress)),
  })
  const { time, counts, copiedFiles, copiedBytes, damaged, pruned } = made
  if (json) context.print(JSON.stringify({ time, counts, copiedFiles, copiedBytes, damaged, pruned }))
  else {
    for (const hash of damaged)
      context.print(`The file with SHA-256 ${hash} is lost or damaged; it is not in the backup.`)
    context.print(
      `Backup ${time}: ${describe(made)}; ${pluralize(copiedFiles, 'file')} (${formatBytes(copiedBytes)}) copied in ${formatDuration((performance.now() - startedAt) / 1000)}.`,
    )
    if (pruned)
      context.print(
        `${pluralize(pruned.backups, 'earlier backup')} deleted, with ${pluralize(pruned.files, 'file')} (${formatBytes(pruned.bytes)}).`,
      )
  }
  return damaged.length > 0 ? 1 : 0
}

/** Aborts at the first signal, so that the next run need not wait; a second one ends the process. */
function abortOnSignals({ environment }: CommandContext): AbortSignal {
  const controller = new AbortController()
  environment.onSignal((signal) =>
    controller.abort(new BackupError(`The backup was stopped by ${signal}. The next one continues it.`)),
  )
  return controller.signal
}

/** Exit code 1 when a manifest is damaged or of a newer release. */
async function list(context: CommandContext, args: string[]): Promise<number> {
  const { config } = context
  const { json, values } = parseOptions(args, 'backup list', ['--json'])
  const { openBackupTarget } = await import('../backends.ts')
  const { listManifests } = await import('../operations/backup/manifest.ts')
  const target = await openBackupTarget(chooseTarget(values, config.backupTarget))
  const listed = await listManifests(target)
  if (json) context.print(JSON.stringify(listed.map(toRow)))
  else {
    if (listed.length === 0) context.print('The target has no complete backup.')
    for (const one of listed)
      context.print(`${one.time}  ${'problem' in one ? one.problem : describe(one.manifest)}`)
  }
  return listed.some((one) => 'problem' in one) ? 1 : 0
}

function toRow(one: ListedBackup) {
  if ('problem' in one) return one
  const { time, release, counts, damaged, secret } = one.manifest
  return { time, release, counts, damaged: damaged.length, hasSecret: secret !== undefined }
}

/** Exit code 1 when files are missing or damaged. */
async function verifyBackup(context: CommandContext, args: string[]): Promise<number> {
  const { config } = context
  const { json, values } = parseOptions(args, 'backup verify', ['--json'])
  const { openBackupTarget } = await import('../backends.ts')
  const { readManifest } = await import('../operations/backup/manifest.ts')
  const { verify } = await import('../operations/backup/verify.ts')
  const { time, rest } = takeTime(values)
  const target = await openBackupTarget(chooseTarget(rest, config.backupTarget))
  const manifest = await readManifest(target, time)
  const printProgress = progressPrinter(context, json)
  const result = await verify(target, manifest, ({ files, bytes }) =>
    printProgress(() => `${pluralize(files, 'file')}, ${formatBytes(bytes)} compared`),
  )
  const { files, bytes, missing, damaged } = result
  const isIntact = missing.length + damaged.length === 0
  if (json) context.print(JSON.stringify({ time: manifest.time, ok: isIntact, ...result }))
  else {
    for (const hash of missing) context.print(`The file with SHA-256 ${hash} is missing.`)
    for (const hash of damaged) context.print(`The file with SHA-256 ${hash} is damaged.`)
    const verdict = isIntact
      ? 'all are intact'
      : `${formatNumber(missing.length)} missing, ${formatNumber(damaged.length)} damaged`
    context.print(
      `Backup ${manifest.time}: ${pluralize(files, 'file')} (${formatBytes(bytes)}) compared, ${verdict}.`,
    )
  }
  return isIntact ? 0 : 1
}

function describeProgress({ files, copiedFiles, copiedBytes }: BackupProgress): string {
  return `${pluralize(files, 'file')} in the target, ${formatNumber(copiedFiles)} (${formatBytes(copiedBytes)}) copied`
}
