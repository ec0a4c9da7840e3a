import { fstatSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Coalesced } from '../lib/coalesced.ts'
import { settlesWithin } from '../lib/settles-within.ts'
import { SECOND_MS } from '../lib/time.ts'

/** How long a read waits for the flush of what other processes have committed: as an acknowledgement waits for them. */
const MAX_READ_DELAY_MS = SECOND_MS

/**
 * Reads of an SQLite database whose transactions commit with `synchronous=NORMAL`: they see what this process has flushed.
 * Of two connections one is in a transaction with the state that is shown; the other one takes the newest state, and is
 * shown when a flush of the write-ahead log that began afterwards has ended. Flushes run in the thread pool, one at a time.
 */
export class FlushedReads {
  readonly #version: StatementSync
  /** Of the state that is shown; another one when other processes have committed since. */
  #shownVersion: unknown
  /** When the flush in progress began. */
  #flushingSince: number | undefined
  #shown: Reader
  #next: Reader
  readonly #log: FileHandle
  readonly #turns = new Coalesced(() => this.#showNewest(), 0)
  /** The first error of a flush. What was committed before it may be lost, so that nothing may depend on it. */
  failure: unknown

  /** SQLite has no locks on its log that closing a descriptor would end. */
  static async open(
    database: string,
    writer: DatabaseSync,
    readers: readonly [DatabaseSync, DatabaseSync],
  ): Promise<FlushedReads> {
    const reads = new FlushedReads(writer, readers, await open(`${database}-wal`))
    await reads.showNewest()
    return reads
  }

  private constructor(
    writer: DatabaseSync,
    [shown, next]: readonly [DatabaseSync, DatabaseSync],
    log: FileHandle,
  ) {
    this.#version = writer.prepare('PRAGMA data_version')
    this.#shown = new Reader(shown)
    this.#next = new Reader(next)
    this.#log = log
  }

  get connection(): DatabaseSync {
    return this.#shown.connection
  }

  get logBytes(): number {
    return fstatSync(this.#log.fd).size
  }

  /** Resolves when everything that any process committed before the call is on the disk and shown. */
  showNewest(): Promise<void> {
    return this.#turns.run()
  }

  /**
   * Before a read: shows what other processes have acknowledged, unless the disk takes long. Of their commits, it is not
   * known which ones they have acknowledged.
   */
  untilCurrent(): Promise<unknown> | undefined {
    if (this.#version.get()?.data_version === this.#shownVersion) return undefined
    if (this.#flushingSince !== undefined && performance.now() - this.#flushingSince > MAX_READ_DELAY_MS)
      return undefined
    return settlesWithin(MAX_READ_DELAY_MS, this.showNewest())
  }

  async #showNewest(): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    const version = this.#version.get()?.data_version
    const next = this.#next
    next.begin()
    this.#flushingSince = performance.now()
    try {
      await this.#log.datasync()
    } catch (error) {
      this.failure ??= error
      throw error
    } finally {
      this.#flushingSince = undefined
    }
    this.#next = this.#shown
    this.#shown = next
    this.#shownVersion = version
    this.#next.end()
  }

  /** No flush is in progress. */
  close(): Promise<void> {
    for (const { connection } of [this.#shown, this.#next]) if (connection.isOpen) connection.close()
    return this.#log.close()
  }
}

/** A connection whose transactions only fix what it sees. */
class Reader {
  readonly connection: DatabaseSync
  readonly #begin: StatementSync
  readonly #look: StatementSync
  readonly #end: StatementSync

  constructor(connection: DatabaseSync) {
    this.connection = connection
    this.#begin = connection.prepare('begin')
    this.#look = connection.prepare('select 1 from sqlite_schema limit 1')
    this.#end = connection.prepare('commit')
  }

  /** The first read of a transaction determines what it sees. */
  begin(): void {
    this.end()
    this.#begin.run()
    this.#look.get()
  }

  end(): void {
    if (this.connection.isTransaction) this.#end.run()
  }
}
