import { CONNECTION_DEADLINES } from '../../packages/http-server/deadlines.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from './time.ts'

export type Deadlines = typeof DEADLINES

/** How long the service waits for others, in milliseconds, where no setting says so. */
export const DEADLINES = Object.freeze({
  ...CONNECTION_DEADLINES,
  /**
   * PostgreSQL: to connect; for a connection of the pool, of a read and of a write; for the result of a read, and for a poll
   * of changes; of a write for one statement, for its locks, for all statements before the commit, and for the commit, which
   * waits for a standby that may just be replaced; until a commit counts as one that its standby does not confirm; and
   * without any answer, after which the database counts as one that hangs.
   */
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
    /** SQLite: of a read, for the flush of what other processes have committed; then it has the state before. */
    refresh: 200,
  },
  databaseLock: 5 * SECOND_MS,
  /** For the uploads of a publish that has begun; then others may have their places. */
  expectedUploads: 2.5 * SECOND_MS,
  /** S3 without a byte: of a request, an exchange in memory, and all of a process, which then refuses others. */
  blobs: { request: 6 * SECOND_MS, exchange: 36 * SECOND_MS, hang: 2 * SECOND_MS },
  /** For the encoded bytes of a file, whose plain bytes are in memory and are then sent. */
  encodedBody: SECOND_MS / 10,
  /** All queries of a lookup: below the ten seconds of the contract by the delay of a busy event loop. */
  dns: 9 * SECOND_MS,
  /** To connect to the mail server, for an email that a request waits for, and for others: RFC 5321, 4.5.3.2 asks for minutes. */
  mail: { connect: 7 * SECOND_MS, send: 15 * SECOND_MS, background: MINUTE_MS },
  /** Drawing a thumbnail, with the start of the browser. */
  drawing: 10 * SECOND_MS,
  /** Rendering a Markdown document, once its thread runs. Afterwards the document is shown as text. */
  markdown: SECOND_MS,
  /** Scanning a batch of files for secrets, which takes a fraction of a second, with the start of the thread. */
  secretScan: 10 * SECOND_MS,
  /** A response of the CA, and all requests of a call. */
  authority: { request: 30 * SECOND_MS, call: MINUTE_MS },
  issuerKeys: 5 * SECOND_MS,
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
}: Readonly<Record<string, string | undefined>>): Deadlines {
  return given === undefined ? DEADLINES : JSON.parse(given)
}
