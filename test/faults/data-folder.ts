import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { type OperatorContext, openForOperator } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { parseFiles } from '../../server/store/tables/versions.ts'
import { sha256 } from '../api/content.ts'
import { readBlob } from '../blobs/bytes.ts'
import type { MadeSite } from '../publishing/content.ts'
import type { History, SiteHistory } from '../publishing/history.ts'
import type { Faults } from '../publishing/verifier.ts'
import { PATIENT } from '../support/patient.ts'
import { silentLog } from '../support/silent-log.ts'

/** Deletes nothing, and takes minutes: it encodes what clients have published, at the lowest priority. */
const NOT_RUN = 'encodings'

/** Acknowledged versions that must exist: the kept versions, minus those that unacknowledged changes may have pruned. */
const MIN_VERSIONS = 8

/**
 * Verifies the data folder of a stopped server: the database is consistent, every finalized version is complete, every
 * blob matches its hash, and acknowledged versions exist; then again after every sweep that deletes has run without a
 * grace period.
 */
export async function verifyDataFolder(data: string, history: History): Promise<Faults> {
  const databaseFaults = checkIntegrity(data)
  if (databaseFaults.length > 0) return databaseFaults
  const settings = { SLIPWAY_DATA: data, SLIPWAY_BLOB_GRACE: '0' }
  await using context = await openForOperator(
    readConfig(settings),
    { log: silentLog, version: 'test', deadlines: PATIENT },
    { uses: 'none' },
  )
  const faults = await new DataFolderCheck(data, context).run(history)
  for (const sweep of sweeps) if (sweep.name !== NOT_RUN) await runOnce(sweep, context)
  return [
    ...faults,
    ...(await new DataFolderCheck(data, context).run(history)).map((fault) => `after the sweeps: ${fault}`),
  ]
}

function checkIntegrity(data: string): Faults {
  using database = new DatabaseSync(join(data, 'slipway.db'))
  const rows = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
  return rows.map((row) => row.integrity_check).filter((sentence) => sentence !== 'ok')
}

class DataFolderCheck {
  readonly #data: string
  readonly #context: OperatorContext
  readonly #blobFaults = new Map<string, string | undefined>()

  constructor(data: string, context: OperatorContext) {
    this.#data = data
    this.#context = context
  }

  async run(history: History): Promise<Faults> {
    const faults: Faults = []
    faults.push(...(await this.#checkVersions()))
    for (const site of history.sites.values()) faults.push(...(await this.#checkSite(site)))
    return faults
  }

  /** Versions without an acknowledgment may exist, but must be complete too. */
  async #checkVersions(): Promise<Faults> {
    using database = new DatabaseSync(join(this.#data, 'slipway.db'), { readOnly: true })
    const rows = database.prepare("SELECT id, files FROM versions WHERE state = 'ready'")
    const faults: Faults = []
    for (const { id, files } of rows.iterate() as Iterable<{ id: string; files: string }>) {
      for (const { path, hash } of parseFiles(files)) {
        const fault = await this.#checkBlob(hash!)
        if (fault) faults.push(`version ${id}, ${path}: ${fault}`)
      }
    }
    return faults
  }

  async #checkSite({ slug, isLive, versions }: SiteHistory): Promise<Faults> {
    if (!isLive) return []
    const faults: Faults = []
    const newest = [...versions].sort(([one], [other]) => (one < other ? 1 : -1)).slice(0, MIN_VERSIONS)
    for (const [id, { state }] of newest) {
      const version = await this.#context.store.read.versions.find(id)
      if (version?.state !== 'ready')
        faults.push(`the version ${id} of ${slug} is ${version?.state ?? 'lost'}`)
      else if (!isSame(state, version.files))
        faults.push(`the version ${id} of ${slug} has other files than it was acknowledged with`)
    }
    return faults
  }

  async #checkBlob(hash: string): Promise<string | undefined> {
    if (this.#blobFaults.has(hash)) return this.#blobFaults.get(hash)
    const bytes = await readBlob(this.#context, hash)
    const fault =
      bytes === undefined
        ? `the blob ${hash} is lost`
        : sha256(bytes) === hash
          ? undefined
          : `the blob ${hash} has other bytes (${bytes.length})`
    this.#blobFaults.set(hash, fault)
    return fault
  }
}

function isSame(made: MadeSite, stored: readonly StoredFile[]): boolean {
  return (
    stored.length === Object.keys(made).length && stored.every((file) => made[file.path]?.hash === file.hash)
  )
}
