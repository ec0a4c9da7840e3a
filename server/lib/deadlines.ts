import { CONNECTION_DEADLINES, type ConnectionDeadlines } from '../../packages/http-server/deadlines.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from './time.ts'

/** How long the service waits for others, in milliseconds, where no setting says so. */
export interface Deadlines extends ConnectionDeadlines {
  /**
   * PostgreSQL: to connect; for a connection of the pool, of a read and of a write; for the result of a read, and for a poll
   * of changes; of a write for one statement, for its locks, for all statements before the commit, and for the commit, which
   * waits for a standby that may just be replaced; until a commit counts as one that its standby does not confirm; and
   * without any answer, after which the database counts as one that hangs.
   */
  database: {
    connect: number
    acquire: number
    queue: number
    read: number
    poll: number
    statement: number
    lock: number
    transaction: number
    commit: number
    hang: number
    silence: number
    /** SQLite: of a read, for the flush of what other processes have committed; then it has the state before. */
    refresh: number
  }
  databaseLock: number
  /** S3 without a byte: of a request, an exchange in memory, and all of a process, which then refuses others. */
  blobs: { request: number; exchange: number; hang: number }
  /** For the encoded bytes of a file, whose plain bytes are in memory and are then sent. */
  encodedBody: number
  /** All queries of a lookup: below the ten seconds of the contract by the delay of a busy event loop. */
  dns: number
  /** To connect to the mail server, for an email that a request waits for, and for others: RFC 5321, 4.5.3.2 asks for minutes. */
  mail: { connect: number; send: number; background: number }
  /** Drawing a thumbnail, with the start of the browser. */
  drawing: number
  /** Rendering a Markdown document, once its thread runs. Afterwards the document is shown as text. */
  markdown: number
  /** Scanning a batch of files for secrets, which takes a fraction of a second, with the start of the thread. */
  secretScan: number
  /** A response of the CA, and all requests of a call. */
  authority: { request: number; call: number }
  issuerKeys: number
}

export const DEADLINES: Readonly<Deadlines> = Object.freeze({
  database: {
    connect: 3 * SECOND_MS,
    acquire: 800,
    queue: 10 * SECOND_MS,
    read: 800,
    poll: 700,
    statement: 5 * SECOND_MS,
    lock: 4 * SECOND_MS,
    transaction: 15 * SECOND_MS,
    commit: 15 * SECOND_MS,
    hang: 2 * SECOND_MS,
    silence: 800,
    refresh: 200,
  },
  databaseLock: 5 * SECOND_MS,
  blobs: { request: 6 * SECOND_MS, exchange: 36 * SECOND_MS, hang: 2 * SECOND_MS },
  encodedBody: 100,
  dns: 9 * SECOND_MS,
  mail: { connect: 7 * SECOND_MS, send: 15 * SECOND_MS, background: MINUTE_MS },
  drawing: 10 * SECOND_MS,
  markdown: SECOND_MS,
  secretScan: 10 * SECOND_MS,
  authority: { request: 30 * SECOND_MS, call: MINUTE_MS },
  issuerKeys: 5 * SECOND_MS,
  ...CONNECTION_DEADLINES,
})

/** For copying: waits for a bucket that hangs, and as long as bytes arrive. It would have to begin again. */
export const COPYING_BLOBS: Readonly<Deadlines['blobs']> = Object.freeze({
  request: DEADLINES.blobs.request,
  exchange: HOUR_MS,
  hang: HOUR_MS,
})

/** Those of production, unless a test gives a process others. */
export function readDeadlines({
  TEST_DEADLINES: given,
}: Readonly<Record<string, string | undefined>>): Readonly<Deadlines> {
  return given === undefined ? DEADLINES : JSON.parse(given)
}
