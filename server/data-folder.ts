import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the embedded default keeps things. */
export interface DataFolder {
  database: string
  blobs: string
  mail: string
  /** For archives that are too large for memory. */
  spool: string
  /** The service's secret, made once. */
  secret: string
}

/** Makes the folder what the service needs. Safe when two processes do it at once. */
export function prepareDataFolder(folder: string, givenSecret: string): DataFolder {
  const spool = join(folder, 'spool')
  mkdirSync(spool, { recursive: true, mode: 0o700 })
  return {
    database: join(folder, 'slipway.db'),
    blobs: join(folder, 'blobs'),
    mail: join(folder, 'mail'),
    spool,
    secret: givenSecret || secretIn(folder),
  }
}

/** The secret in its file; linking a finished file into place lets only one of several processes make it. */
function secretIn(folder: string): string {
  const file = join(folder, 'secret')
  const known = read(file)
  if (known !== undefined) return known
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  return read(file)!
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
