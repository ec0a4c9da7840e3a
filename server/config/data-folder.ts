import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../packages/files/make-folder.ts'
import { findSecretProblem } from '../lib/tokens.ts'
import { ConfigError } from './settings.ts'

export type DataFolder = ReturnType<typeof prepareDataFolder>

const DATABASE = 'slipway.db'

/** Of the copy of the database while a backup runs. */
export const BACKUP_FOLDER = 'backup'

/** What a restored copy may have made readable by other users. */
const PRIVATE = [DATABASE, 'slipway.db-wal', 'slipway.db-shm', 'secret', 'blobs', 'cache', 'mail', 'spool']

/**
 * Creates the folder. Safe when two processes do it concurrently. Commands do not replace a secret that is missing: that
 * of the service may be in settings that they were started without.
 */
export function prepareDataFolder(folder: string, given: string, { createsSecret = false } = {}) {
  const spool = join(folder, 'spool')
  makeFolder(spool, 0o700)
  for (const path of [folder, ...PRIVATE.map((name) => join(folder, name))]) restrictAccess(path)
  return {
    database: join(folder, DATABASE),
    blobs: join(folder, 'blobs'),
    cache: join(folder, 'cache'),
    spool,
    secret: given || readSecret(folder, createsSecret || !existsSync(join(folder, DATABASE))),
  }
}

/** Throws ConfigError unless a service has created its database in the folder. */
export function assertDataFolder(folder: string): void {
  if (existsSync(join(folder, DATABASE))) return
  throw new ConfigError(`No Slipway data in ${folder}. Set SLIPWAY_DATA to the data folder of the service.`)
}

const STICKY = 0o1000

/** Removes the permissions of the group and of others. A sticky folder, such as `/tmp`, is shared by design. */
function restrictAccess(path: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o077) === 0 || (mode & STICKY) !== 0) return
  try {
    chmodSync(path, mode & 0o700)
  } catch (error) {
    // Only the owner may; another user's files are that user's decision.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

/** The secret in its file; linking a complete file into place lets only one of several processes create it. */
function readSecret(folder: string, isCreated: boolean): string {
  const file = join(folder, 'secret')
  const known = readIfExists(file)
  if (known !== undefined) return assertSecret(file, known)
  if (!isCreated)
    throw new ConfigError(
      `${file} is missing. Run the command with the settings of the service: SLIPWAY_SECRET.`,
    )
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  return assertSecret(file, readIfExists(file)!)
}

function assertSecret(file: string, secret: string): string {
  const problem = findSecretProblem(secret)
  if (problem === undefined) return secret
  throw new ConfigError(
    `${file} cannot be used: ${problem}. Restore it; without it, delete it: users then sign in again, and certificates are ordered again.`,
  )
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
