import { createHash, randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { makeFolder } from '../../../packages/files/make-folder.ts'
import { isDamage } from '../../blobs/damage.ts'
import { ignoreMissing } from '../../lib/files.ts'
import type { BlobSource } from '../move.ts'
import type { BackupManifest } from './manifest.ts'
import { BackupError, type BackupTarget, BackupTargetError } from './target.ts'
import { findMissing, openContent } from './verify.ts'

const MAX_LISTED = 20

/** Exists in the data folder until everything is restored. */
const WORK_FOLDER = 'restore'

/** What a new file system has. */
const IGNORED = ['lost+found']

export interface RestoreFolder {
  /** Where `fetchDatabase` stores the database. */
  database: string
  /** That of the backup, or one that is not stored. */
  secret: string
  fetchDatabase(): Promise<void>
  finish(): Promise<void>
}

/**
 * Begins to restore into an empty folder, or into one where an earlier restore was interrupted. Changes nothing and
 * throws when the folder has something else, and when files of the backup are missing.
 */
export async function beginRestore(
  target: BackupTarget,
  manifest: BackupManifest,
  folder: string,
): Promise<RestoreFolder> {
  await assertEmpty(folder)
  await assertComplete(target, manifest)
  const workFolder = join(folder, WORK_FOLDER)
  makeFolder(workFolder, 0o700)
  const database = join(workFolder, 'slipway.db')
  if (manifest.secret !== undefined) await storeSecret(join(folder, 'secret'), manifest.secret)
  return {
    database,
    secret: manifest.secret ?? randomBytes(32).toString('hex'),
    async fetchDatabase() {
      for (const suffix of ['', '-wal', '-shm']) await rm(database + suffix, { force: true })
      await fetchDatabase(target, manifest, database)
    },
    finish: () => rm(workFolder, { recursive: true }),
  }
}

export function toBlobSource(target: BackupTarget): BlobSource {
  return {
    read: (location) => openContent(target, location),
    async bytes(location) {
      const body = await openContent(target, location)
      return body && buffer(body)
    },
  }
}

async function assertEmpty(folder: string): Promise<void> {
  const entries = await readdir(folder).catch(ignoreMissing)
  const others = (entries ?? []).filter((name) => !IGNORED.includes(name))
  if (others.length === 0 || others.includes(WORK_FOLDER)) return
  throw new BackupError(`${folder} is not empty. Restore into a new folder.`)
}

async function assertComplete(target: BackupTarget, manifest: BackupManifest): Promise<void> {
  const missing = await findMissing(target, manifest)
  if (missing.length === 0) return
  const listed = missing.slice(0, MAX_LISTED).join('\n')
  const more = missing.length > MAX_LISTED ? `\nand ${missing.length - MAX_LISTED} more` : ''
  throw new BackupTargetError(
    `has lost files of the backup ${manifest.time}, which was not restored. Their SHA-256:\n${listed}${more}\nRestore another backup`,
  )
}

async function fetchDatabase(
  target: BackupTarget,
  { time, database }: BackupManifest,
  path: string,
): Promise<void> {
  const hash = createHash('sha256')
  let bytes = 0
  const failed = new BackupTargetError(`has a damaged database in the backup ${time}. Restore another backup`)
  try {
    const body = await openContent(target, database)
    if (!body) throw failed
    await pipeline(
      body,
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk)
          yield chunk
        }
      },
      createZstdDecompress(),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          bytes += chunk.length
          if (bytes > database.bytes) throw failed
          yield chunk
        }
      },
      createWriteStream(path, { mode: 0o600 }),
    )
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('ZSTD_') && !isDamage(error)) throw error
    throw failed
  }
  if (hash.digest('hex') !== database.hash || bytes !== database.bytes) throw failed
}

async function storeSecret(file: string, secret: string): Promise<void> {
  try {
    await writeFile(file, `${secret}\n`, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if ((await readFile(file, 'utf8')).trim() !== secret)
      throw new BackupError(`${file} has another secret than the backup. Restore into a new folder.`)
  }
}
