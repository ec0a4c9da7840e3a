import { closeSync, fdatasync, fstatSync, openSync, realpathSync, writeFileSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { ApiError, databaseUnavailable } from '../lib/errors.ts'
import { settlesWithin } from '../lib/settles-within.ts'
import { Coalesced } from '../lib/share-result.ts'
import type { CommitWatch } from './commit-watch.ts'

const flush = promisify(fdatasync)

/** Present after a failed flush, until a start has moved the log into the database. */
export function failureFile(database: string): string {
  return `${database}-flush-failed`
}

/** SQLite follows a symbolic link to the database, and has the log beside the target. */
export function logFile(database: string): string {
  return `${realpathSync(database)}-wal`
}

interface Connections {
  /** The only one of this process that commits. */
  writer: DatabaseSync
  /** Never in a transaction. */
  watcher: DatabaseSync
  readers: readonly [DatabaseSync, DatabaseSync]
}

interface FlushOptions {
  commits: CommitWatch
  /** Bounds the wait of `untilCurrent`. */
  refreshMs: number
  failureFile: string
}

/**
 * Reads of an SQLite database whose transactions commit with `synchronous=NORMAL`: they see what this process has flushed.
 * Of two connections one is in a transaction with the state that is shown; the other one takes the newest state, and is
 * shown when a flush of the write-ahead log that began afterwards has ended. Flushes run in the thread pool, one at a time.
 */
export class FlushedReads {
  #shown: Reader
  #next: Reader
  /** A version is another one after a commit of another process, and of any connection. */
  readonly #foreignVersion: () => unknown
  readonly #version: () => unknown
  #shownForeignVersion: unknown
  #shownVersion: unknown
  /** Whether no other process had committed since the state that is shown. */
  #isCurrent = false
  #flushingSince: number | undefined
  /** Descriptor of the log. SQLite has no locks on it that its close would end. */
  readonly #log: number
  readonly #options: FlushOptions
  readonly #turns = new Coalesced(() => this.#showNewest(), 0)
  #failure: unknown

  static async open(
    database: string,
    connections: Connections,
    options: Omit<FlushOptions, 'failureFile'>,
  ): Promise<FlushedReads> {
    const log = openSync(logFile(database), 'r+')
    try {
      const reads = new FlushedReads(connections, log, { ...options, failureFile: failureFile(database) })
      await reads.showNewest()
      return reads
    } catch (error) {
      closeSync(log)
      throw error
    }
  }

  private constructor({ writer, watcher, readers }: Connections, log: number, options: FlushOptions) {
    this.#options = options
    this.#foreignVersion = versionOf(writer)
    this.#version = versionOf(watcher)
    this.#shown = new Reader(readers[0])
    this.#next = new Reader(readers[1])
    this.#log = log
  }

  /** UNAVAILABLE while an error of a read has ended the transaction that keeps what is shown. */
  get connection(): DatabaseSync {
    const { connection } = this.#shown
    if (!connection.isTransaction) throw databaseUnavailable()
    return connection
  }

  /** The first error of a flush. What was committed before it may be lost, so that nothing may depend on it. */
  get failure(): unknown {
    return this.#failure
  }

  /** After a failed flush, which the system reports once. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    try {
      writeFileSync(this.#options.failureFile, '')
    } catch {
      // The disk fails. This process writes nothing any more.
    }
  }

  get shownVersion(): unknown {
    return this.#shownVersion
  }

  get isNewest(): boolean {
    return this.#shown.connection.isTransaction && this.#version() === this.#shownVersion
  }

  get logBytes(): number {
    return fstatSync(this.#log).size
  }

  /** Resolves when everything that any process committed before the call is on the disk and shown. */
  showNewest(): Promise<void> {
    return this.#turns.run()
  }

  /** Shows at least what other processes have acknowledged (what that is, is unknown), unless the disk takes long. */
  untilCurrent(): Promise<unknown> | undefined {
    if (this.#shown.connection.isTransaction && this.#needsNoFlush()) return undefined
    return settlesWithin(this.#options.refreshMs, this.showNewest())
  }

  #needsNoFlush(): boolean {
    if (this.#isCurrent) return true
    if (this.#foreignVersion() === this.#shownForeignVersion) {
      // Until this process can receive what was sent after an acknowledgement.
      this.#isCurrent = true
      process.nextTick(() => {
        this.#isCurrent = false
      })
      return true
    }
    const since = this.#flushingSince
    return since !== undefined && performance.now() - since > this.#options.refreshMs
  }

  async #showNewest(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    const [foreignVersion, version] = [this.#foreignVersion(), this.#version()]
    const next = this.#next
    next.begin()
    this.#flushingSince = performance.now()
    try {
      await this.#options.commits.run({}, () => flush(this.#log))
    } catch (error) {
      this.fail(error)
      throw error
    } finally {
      this.#flushingSince = undefined
    }
    // SQLite makes flushes, too.
    if (this.#failure !== undefined) throw this.#failure
    this.#next = this.#shown
    this.#shown = next
    this.#shownForeignVersion = foreignVersion
    this.#shownVersion = version
    this.#next.end()
  }

  /** A flush that a read has begun since the last one fails, which is no failure of the disk. */
  close(): void {
    this.#failure ??= new ApiError('UNAVAILABLE', 'The database is closed.')
    for (const { connection } of [this.#shown, this.#next]) connection.close()
    closeSync(this.#log)
  }
}

function versionOf(connection: DatabaseSync): () => unknown {
  const statement = connection.prepare('PRAGMA data_version')
  return () => statement.get()!.data_version
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
