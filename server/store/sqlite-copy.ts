import { globSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { open, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import { formatBytes } from '../../protocol/format.ts'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { logFile } from './flushed-reads.ts'
import { migrate } from './migrate.ts'
import type { Migration } from './migration.ts'
import type { Schema } from './schema.ts'

/** Pages of 4 KiB that are copied without a report of progress: 16 MiB. */
const PAGES_PER_STEP = 4096

/**
 * Copies the state of one time, while others write; the copy is durable. It has nothing that tells visitors apart, which
 * would be deleted a day later, and not from the copy. Throws an Error for a damaged database.
 */
export async function copySqlite(file: string, copy: string): Promise<void> {
  const source = new DatabaseSync(file)
  try {
    // Without a read transaction, each commit of another process would begin the copy again.
    source.exec('begin; select 1 from sqlite_master limit 1')
    // What a power cut may still remove is in no copy.
    await using log = await open(logFile(file))
    await log.datasync()
    await backup(source, copy, { rate: PAGES_PER_STEP })
  } finally {
    source.close()
  }
  complete(copy)
  await using handle = await open(copy, 'r+')
  await handle.sync()
}

/** Leaves one file: a database in WAL mode would have two more while it is open. */
function complete(file: string): void {
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA journal_mode = DELETE; PRAGMA secure_delete = ON')
    const { integrity_check: result } = database.prepare('PRAGMA integrity_check(1)').get() as {
      integrity_check: string
    }
    if (result !== 'ok') throw new Error(`the database is damaged: ${result}`)
    database.exec('delete from visitors; delete from visit_salts')
  } finally {
    database.close()
  }
}

export interface UpgradeOptions {
  release: string
  log: Pick<Log, 'info'>
  steps?: readonly Migration[]
}

const KEPT_COPIES = 2

/** Copies a database with data to `slipway-before-<release>.db` beside it: INSUFFICIENT_STORAGE without space. */
export async function migrateWithCopy(
  db: Kysely<Schema>,
  file: string,
  { release, log, steps }: UpgradeOptions,
): Promise<void> {
  removePartialCopies(file)
  const beforeChange = async () => {
    const startedAt = performance.now()
    await assertSpace(file)
    const copy = await keepCopy(file, release).finally(() => removePartialCopies(file))
    log.info('copied the database before its migration', { copy, ...measure(copy, startedAt) })
  }
  const startedAt = performance.now()
  const migrated = await migrate(db, { beforeChange, ...(steps && { steps }) })
  if (migrated.length > 0)
    log.info('migrated the database', { release, migrations: migrated, ...measure(file, startedAt) })
}

function measure(file: string, startedAt: number): { bytes: number; ms: number } {
  return { bytes: statSync(file).size, ms: Math.round(performance.now() - startedAt) }
}

/** The copy has the size of the database, and a migration may write all of it once more. */
async function assertSpace(file: string): Promise<void> {
  const needed = 2 * statSync(file).size
  const { bavail, bsize } = await statfs(dirname(file))
  if (bavail * bsize >= needed) return
  throw new ApiError(
    'INSUFFICIENT_STORAGE',
    `This release changes the database ${file}, and copies it first: that needs ${formatBytes(needed)}, but ${formatBytes(bavail * bsize)} are free. Make room and start it again; the database is unchanged.`,
  )
}

/** Those of a start that was killed, of any release, would take the space of the next copy. */
function removePartialCopies(file: string): void {
  const folder = dirname(file)
  for (const name of readdirSync(folder))
    if (/^slipway-before-.*\.partial/.test(name)) rmSync(join(folder, name))
}

/** Replaces the copy of an earlier attempt of the same release. */
async function keepCopy(file: string, release: string): Promise<string> {
  const folder = dirname(file)
  const copy = join(folder, `slipway-before-${release.replace(/[^\w.-]/g, '_')}.db`)
  const partial = `${copy}.partial`
  await copySqlite(file, partial)
  renameSync(partial, copy)
  const copies = globSync('slipway-before-*.db', { cwd: folder }).map((name) => join(folder, name))
  const modifiedAt = (path: string) => statSync(path).mtimeMs
  const older = copies.sort((one, other) => modifiedAt(other) - modifiedAt(one)).slice(KEPT_COPIES)
  for (const path of older) rmSync(path)
  return copy
}
