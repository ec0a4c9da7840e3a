import { resolve } from 'node:path'
import { formatBytes, formatNumber, pluralize } from '../../protocol/format.ts'
import { chooseTarget, describe, parseOptions, progressPrinter, takeTime } from './backup-options.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

export const restore: Command = {
  usage: [
    [
      'restore [TARGET] [TIME] --to-data FOLDER',
      'copy the newest backup, or that of a time, to a new data folder; with --json a line for programs',
    ],
  ],
  run: restoreBackup,
}

/** Exit code 1 when files are missing: they were lost before the backup. */
async function restoreBackup(context: CommandContext, args: string[]): Promise<number> {
  const { config, log, version, deadlines } = context
  const { json, toData, values } = parseOptions(args, 'restore', ['--to-data', '--json'])
  if (!toData) throw new UsageError('restore needs --to-data FOLDER.')
  const { openBackupTarget, restoreData } = await import('../operations/copies.ts')
  const { readManifest } = await import('../operations/backup/manifest.ts')
  const { time, rest } = takeTime(values)
  const target = await openBackupTarget(chooseTarget(rest, config.backupTarget))
  const manifest = await readManifest(target, time)
  if (!json) context.print(`Backup ${manifest.time}: ${describe(manifest)}`)
  const printProgress = progressPrinter(context, json)
  const data = resolve(toData)
  const { files, rows, damaged } = await restoreData(
    { ...config, data },
    {
      ...{ target, manifest, log, version, deadlines },
      report: ({ files, ofFiles }) =>
        printProgress(() => `${formatNumber(files)} of ${pluralize(ofFiles, 'file')} restored`),
    },
  )
  if (json) context.print(JSON.stringify({ time: manifest.time, files, rows, damaged, data }))
  else {
    for (const hash of damaged)
      context.print(`The file with SHA-256 ${hash} was lost before the backup, or is damaged.`)
    context.print(
      `${pluralize(files, 'file')} (${formatBytes(manifest.counts.bytes)}) and ${pluralize(rows, 'row')} are in ${data}.`,
    )
    context.print(
      manifest.secret === undefined
        ? 'The backup has no secret: start the service with SLIPWAY_SECRET set to that of the former service.'
        : `Start the service with SLIPWAY_DATA=${data}. Do not set SLIPWAY_SECRET: the folder has the secret.`,
    )
  }
  return damaged.length > 0 ? 1 : 0
}
