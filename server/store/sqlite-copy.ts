import { open } from 'node:fs/promises'
import { backup, DatabaseSync } from 'node:sqlite'
import { logFile } from './flushed-reads.ts'

/** Pages of 4 KiB that are copied without a report of progress: 16 MiB. */
const PAGES_PER_STEP = 4096

/** Copies the state of one time, while others write; the copy is durable. Throws an Error for a damaged database. */
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
  assertIntact(copy)
  await using handle = await open(copy, 'r+')
  await handle.sync()
}

/** Leaves one file: a database in WAL mode would have two more while it is open. */
function assertIntact(file: string): void {
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA journal_mode = DELETE')
    const { integrity_check: result } = database.prepare('PRAGMA integrity_check(1)').get() as {
      integrity_check: string
    }
    if (result !== 'ok') throw new Error(`the database is damaged: ${result}`)
  } finally {
    database.close()
  }
}
