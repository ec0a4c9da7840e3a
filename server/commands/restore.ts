import { resolve } from 'node:path'
import { formatBytes, formatNumber, pluralize } from '../../protocol/format.ts'
import { bucketUrl, databaseUrl, readValue } from '../config/setting-types.ts'
import type { BackupManifest } from '../operations/backup/manifest.ts'
import { readOptions } from './actions.ts'
import { chooseBackup, describe, progressPrinter, readBackup } from './backup-options.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

export const restore: Command = {
  usage: [
    [
      'restore [TARGET] [TIME] --to-data FOLDER',
      'copy the newest backup, or that of a time, to a new data folder, or with --to-database URL and --to-blobs URL to a database or a bucket; a database URL in SLIPWAY_MOVE_DATABASE_URL stays hidden; with --with-sessions also sessions, the access of programs and review links; with --json a line for programs',
    ],
  ],
  run: restoreBackup,
}

/** Exit code 1 when files are missing: they were lost before the backup. */
async function restoreBackup(context: CommandContext, args: string[]): Promise<number> {
  const { config, log, version, deadlines } = context
  const takes = ['to-data', 'to-database', 'to-blobs', 'with-sessions', 'json'] as const
  const { options, values } = readOptions('restore', args, { takes })
  const { json = false, 'to-data': toData, 'to-database': toDatabase, 'to-blobs': toBlobs } = options
  const { 'with-sessions': withSessions = false } = options
  if (!toData) throw new UsageError('restore needs --to-data FOLDER.')
  const to = {
    databaseUrl: toDatabase
      ? readValue('--to-database', databaseUrl(''), toDatabase)
      : config.moveDatabaseUrl,
    blobsUrl: toBlobs ? readValue('--to-blobs', bucketUrl(''), toBlobs) : '',
  }
  const { restoreData } = await import('../operations/copies.ts')
  const { target, manifest } = await readBackup(chooseBackup(values, config.backupTarget))
  if (!json) context.print(`Backup ${manifest.time}: ${describe(manifest)}`)
  const printProgress = progressPrinter(context, json)
  const data = resolve(toData)
  const { files, rows, damaged } = await restoreData(
    { ...config, ...to, data },
    {
      ...{ target, manifest, withSessions, log, version, deadlines },
      report: ({ files, ofFiles }) =>
        printProgress(() => `${formatNumber(files)} of ${pluralize(ofFiles, 'file')} restored`),
    },
  )
  if (json) context.print(JSON.stringify({ time: manifest.time, files, rows, damaged, data }))
  else {
    for (const hash of damaged)
      context.print(`The file with SHA-256 ${hash} was lost before the backup, or is damaged.`)
    const place = to.databaseUrl || to.blobsUrl ? 'the target' : data
    context.print(
      `${pluralize(files, 'file')} (${formatBytes(manifest.counts.bytes)}) and ${pluralize(rows, 'row')} are in ${place}.`,
    )
    context.print(adviseRevocation(withSessions))
    context.print(adviseStart(manifest, { data, isFleet: to.databaseUrl !== '' }))
    if (config.blobsUrl !== '' && to.blobsUrl === '')
      context.print(
        'Unset SLIPWAY_BLOBS_URL: the folder has the files. --to-blobs URL restores them to a bucket.',
      )
  }
  return damaged.length > 0 ? 1 : 0
}

function adviseRevocation(withSessions: boolean): string {
  const rest = withSessions
    ? 'Sessions, the access of programs, review links and API keys that ended after the backup are valid again'
    : 'Sessions, the access of programs and review links are not restored: users sign in again, and create new links. API keys that were revoked after the backup are valid again'
  return `${rest}: revoke keys in the dashboard, under Account, or with slipway keys revoke NAME.`
}

function adviseStart(
  { secret }: BackupManifest,
  { data, isFleet }: { data: string; isFleet: boolean },
): string {
  if (secret === undefined)
    return 'The backup has no secret: start the service with SLIPWAY_SECRET set to that of the former service.'
  if (isFleet)
    return `Start the nodes with the settings of the target, and with SLIPWAY_SECRET set to the contents of ${data}/secret.`
  return `Start the service with SLIPWAY_DATA=${data}. Do not set SLIPWAY_SECRET: the folder has the secret.`
}
