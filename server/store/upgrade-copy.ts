import { globSync, renameSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Kysely } from 'kysely'
import { formatBytes } from '../../protocol/format.ts'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { type Migration, migrate } from './migrate.ts'
import type { Schema } from './schema.ts'
import { copySqlite } from './sqlite-copy.ts'

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
  const beforeChange = async () => {
    const startedAt = performance.now()
    await assertSpace(file)
    const copy = await keepCopy(file, release)
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

/** Replaces the copy of an earlier attempt of the same release. */
async function keepCopy(file: string, release: string): Promise<string> {
  const folder = dirname(file)
  const copy = join(folder, `slipway-before-${release.replace(/[^\w.-]/g, '_')}.db`)
  const partial = `${copy}.partial`
  rmSync(partial, { force: true })
  await copySqlite(file, partial)
  renameSync(partial, copy)
  const copies = globSync('slipway-before-*.db', { cwd: folder }).map((name) => join(folder, name))
  const modifiedAt = (path: string) => statSync(path).mtimeMs
  const older = copies.sort((one, other) => modifiedAt(other) - modifiedAt(one)).slice(KEPT_COPIES)
  for (const path of older) rmSync(path)
  return copy
}
