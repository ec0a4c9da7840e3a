import { resolve } from 'node:path'
import { formatBytes, formatNumber, pluralize } from '../../protocol/format.ts'
import { assertDataFolder } from '../config/data-folder.ts'
import { bucketUrl, databaseUrl, readValue, text } from '../config/setting-types.ts'
import type { StorageSettings } from '../operations/copies.ts'
import type { MoveProgress } from '../operations/move.ts'
import { progressPrinter } from './backup-options.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

export const move: Command = {
  usage: [
    [
      'move --to-data FOLDER',
      'copy all data of a stopped service to another data folder, or with --to-database URL and --to-blobs URL to a database or a bucket; a database URL in SLIPWAY_MOVE_DATABASE_URL stays hidden',
    ],
  ],
  run: moveTo,
}

const MOVE_OPTIONS = [
  { key: 'data', name: '--to-data', type: text('', '') },
  { key: 'databaseUrl', name: '--to-database', type: databaseUrl('') },
  { key: 'blobsUrl', name: '--to-blobs', type: bucketUrl('') },
] as const

/** Exit code 1 when the source has lost or damaged files. */
async function moveTo(context: CommandContext, rest: string[]): Promise<number> {
  const { config, log, version, deadlines } = context
  const to = parseMoveTarget(rest, config.moveDatabaseUrl)
  const target = { data: config.data, databaseUrl: '', blobsUrl: '', ...to }
  if (isSameStorage(config, target)) throw new UsageError('The target is where the data are.')
  if (config.databaseUrl === '') assertDataFolder(config.data)
  const { moveData } = await import('../operations/copies.ts')
  const print = progressPrinter(context, false)
  const report = ({ files, ofFiles, bytes }: MoveProgress) =>
    print(() => `${formatNumber(files)} of ${pluralize(ofFiles, 'file')}, ${formatBytes(bytes)} copied`)
  const { files, rows, damaged } = await moveData(config, target, { log, version, deadlines, report })
  for (const hash of damaged)
    context.print(`The file with SHA-256 ${hash} is lost or damaged; it was not copied.`)
  context.print(`${pluralize(files, 'file')} and ${pluralize(rows, 'row')} are in the target.`)
  context.print(
    'Start the service with the settings of the target, and with SLIPWAY_SECRET set to the present secret.',
  )
  return damaged.length > 0 ? 1 : 0
}

/** Data stay in the folder unless the target is a database or a bucket. No message has values: these may be secret. */
function parseMoveTarget(args: string[], databaseUrl: string): Partial<StorageSettings> {
  const to: { -readonly [Name in keyof StorageSettings]?: string } = databaseUrl ? { databaseUrl } : {}
  for (let at = 0; at < args.length; at += 2) {
    const option = MOVE_OPTIONS.find(({ name }) => name === args[at])
    const value = args[at + 1]
    if (option === undefined || !value) {
      const given = /^--[a-z-]+/.exec(args[at]!)?.[0] ?? 'a value without an option'
      const known = MOVE_OPTIONS.map(({ name }) => name)
      throw new UsageError(`move takes ${known.join(', ')}, each followed by a value: ${given}`)
    }
    to[option.key] = readValue(option.name, option.type, value)
  }
  if (to.data !== undefined || (to.databaseUrl !== undefined && to.blobsUrl !== undefined)) return to
  throw new UsageError(
    'move needs --to-data FOLDER, unless both --to-database (or SLIPWAY_MOVE_DATABASE_URL) and --to-blobs are set.',
  )
}

/** A part that both have in common would be overwritten while it is read. */
function isSameStorage(from: StorageSettings, to: StorageSettings): boolean {
  const isSameFolder = resolve(from.data) === resolve(to.data)
  const isSame = (one: string, other: string) => (one === '' && other === '' ? isSameFolder : one === other)
  return isSame(from.databaseUrl, to.databaseUrl) || isSame(from.blobsUrl, to.blobsUrl)
}
