import { formatBytes, formatDuration, formatNumber, pluralize } from '../../protocol/format.ts'
import type { ListedBackup } from '../operations/backup/manifest.ts'
import { BackupError } from '../operations/backup/target.ts'
import type { VerifyResult } from '../operations/backup/verify.ts'
import { type Action, readOptions } from './actions.ts'
import {
  chooseBackup,
  chooseTarget,
  describe,
  progressPrinter,
  readBackup,
  readNumber,
} from './backup-options.ts'
import type { Command, CommandContext } from './command.ts'

export const backup: Command = {
  usage: [
    [
      'backup [TARGET] [--keep N]',
      'copy the database and all files of a running service to a folder or a bucket; further options: --without-secret, --json; --other-service for a target with backups of another service',
    ],
    ['backup list [TARGET]', 'list the backups of a target'],
    [
      'backup verify [TARGET] [TIME]',
      'read a whole backup and compare it with its hashes; with --parts N one of N parts of its files, another one each day; with --repair copy what is damaged or missing again from the service',
    ],
  ],
  run(context, args) {
    const [verb = '', ...rest] = args
    const subcommand = Object.hasOwn(SUBCOMMANDS, verb) ? SUBCOMMANDS[verb] : undefined
    return subcommand ? subcommand(context, rest) : create(context, args)
  },
}

const SUBCOMMANDS: Record<string, Action> = { list, verify: verifyBackup }

/** Exit code 1 when the service has lost or damaged files. */
async function create(context: CommandContext, args: string[]): Promise<number> {
  const { config, log, version, deadlines } = context
  const takes = ['keep', 'without-secret', 'other-service', 'json'] as const
  const { options, values } = readOptions('backup', args, { takes })
  const { json = false, 'without-secret': withoutSecret, 'other-service': otherService = false } = options
  const keep = readNumber(options.keep, config.backupKeep, '--keep needs a number of backups')
  const target = chooseTarget(values, config.backupTarget)
  const { backUpData } = await import('../operations/copies.ts')
  const printProgress = progressPrinter(context, json)
  const startedAt = performance.now()
  const made = await backUpData(config, {
    ...{ target, log, version, deadlines, keep, otherService, withSecret: !withoutSecret },
    signal: abortOnSignals(context),
    report: ({ files, copiedFiles, copiedBytes }) =>
      printProgress(
        () =>
          `${pluralize(files, 'file')} in the target, ${formatNumber(copiedFiles)} (${formatBytes(copiedBytes)}) copied`,
      ),
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
  const { options, values } = readOptions('backup list', args, { takes: ['json'] })
  const { openBackupTarget } = await import('../operations/copies.ts')
  const { listManifests } = await import('../operations/backup/manifest.ts')
  const target = await openBackupTarget(chooseTarget(values, config.backupTarget))
  const listed = await Array.fromAsync(listManifests(target))
  if (options.json) context.print(JSON.stringify(listed.map(toRow)))
  else {
    if (listed.length === 0) context.print('The target has no complete backup.')
    for (const one of listed)
      context.print(`${one.time}  ${'problem' in one ? one.problem : describe(one.manifest)}`)
  }
  return listed.some((one) => 'problem' in one) ? 1 : 0
}

function toRow(one: ListedBackup) {
  if ('problem' in one) return one
  const { time, release, service, counts, damaged, secret } = one.manifest
  return { time, release, service, counts, damaged: damaged.length, hasSecret: secret !== undefined }
}

/** Exit code 1 when files are missing or damaged, and not repaired. */
async function verifyBackup(context: CommandContext, args: string[]): Promise<number> {
  const { config, log, version, deadlines } = context
  const takes = ['json', 'parts', 'repair'] as const
  const { options, values } = readOptions('backup verify', args, { takes })
  const { json = false, repair = false } = options
  const of = readNumber(options.parts, 1, '--parts needs a number of days')
  const { partOfDay, verify } = await import('../operations/backup/verify.ts')
  const { recordFailure, repairBackup } = await import('../operations/copies.ts')
  const chosen = chooseBackup(values, config.backupTarget)
  const run = { target: chosen.name, log, version, deadlines }
  const printProgress = progressPrinter(context, json)
  const report = ({ files, bytes }: VerifyResult) =>
    printProgress(() => `${pluralize(files, 'file')}, ${formatBytes(bytes)} compared`)
  const compare = async () => {
    const { target, manifest } = await readBackup(chosen)
    const result = await verify(target, manifest, report, partOfDay(new Date(), of))
    const lost = [...result.missing, ...result.damaged]
    const repaired = repair && lost.length > 0 ? await repairBackup(config, { ...run, hashes: lost }) : []
    return { manifest, result, lost, repaired }
  }
  const compared = await (repair ? recordFailure(config, run, compare) : compare())
  const { manifest, result, lost, repaired } = compared
  const { files, bytes, missing, damaged } = result
  const isIntact = repaired.length === lost.length
  if (json) context.print(JSON.stringify({ time: manifest.time, ok: isIntact, ...result, repaired }))
  else {
    const end = (hash: string) => {
      if (repaired.includes(hash)) return '; it was copied again'
      return repair ? '; the service does not have it' : ''
    }
    for (const hash of missing) context.print(`The file with SHA-256 ${hash} is missing${end(hash)}.`)
    for (const hash of damaged) context.print(`The file with SHA-256 ${hash} is damaged${end(hash)}.`)
    const counts = [`${formatNumber(missing.length)} missing`, `${formatNumber(damaged.length)} damaged`]
    if (repair) counts.push(`${formatNumber(repaired.length)} repaired`)
    const verdict = lost.length === 0 ? 'all are intact' : counts.join(', ')
    context.print(
      `Backup ${manifest.time}: ${pluralize(files, 'file')} (${formatBytes(bytes)}) compared, ${verdict}.`,
    )
  }
  return isIntact ? 0 : 1
}
