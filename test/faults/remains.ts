import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { type OperatorContext, openForOperator } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { makeLog } from '../../server/lib/log.ts'
import type { AckLog, KnownSite } from './ledger.ts'
import { type MadeSite, sha256 } from './site-content.ts'
import type { Faults } from './truth.ts'

/** Acknowledged versions of a site that must still be there: all that are kept but those a lost answer may have replaced. */
const SURE_VERSIONS = 8

/**
 * Looks at what a service left in its data folder: the database is sound, every finalized version is whole, every
 * blob has the bytes it is named after, the acknowledged versions are there; and all that again after every sweep
 * has run without a grace time. No service may run on the folder.
 */
export async function findOrphans(data: string, ledger: AckLog): Promise<Faults> {
  const unsound = integrity(data)
  if (unsound.length > 0) return unsound
  const settings = { SLIPWAY_DATA: data, SLIPWAY_BLOB_GRACE: '0' }
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  await using house = await openForOperator(readConfig(settings), { log, version: 'test' })
  const faults = await new Remains(data, house).faults(ledger)
  for (const sweep of sweeps) await runOnce(sweep, house.sweepOptions)
  return [
    ...faults,
    ...(await new Remains(data, house).faults(ledger)).map((fault) => `after the sweeps: ${fault}`),
  ]
}

function integrity(data: string): Faults {
  using database = new DatabaseSync(join(data, 'slipway.db'))
  const rows = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
  return rows.map((row) => row.integrity_check).filter((sentence) => sentence !== 'ok')
}

class Remains {
  readonly #data: string
  readonly #house: OperatorContext
  readonly #wholeBlobs = new Map<string, string | undefined>()

  constructor(data: string, house: OperatorContext) {
    this.#data = data
    this.#house = house
  }

  async faults(ledger: AckLog): Promise<Faults> {
    const faults: Faults = []
    for await (const hash of this.#house.blobs.list()) {
      const fault = await this.#faultOfBlob(hash)
      if (fault) faults.push(fault)
    }
    faults.push(...(await this.#faultsOfVersions()))
    for (const site of ledger.sites.values()) faults.push(...(await this.#faultsOfSite(site)))
    return faults
  }

  /** Whoever was told nothing may still find a version there: but whole, as any other. */
  async #faultsOfVersions(): Promise<Faults> {
    using database = new DatabaseSync(join(this.#data, 'slipway.db'), { readOnly: true })
    const rows = database.prepare("SELECT id, files FROM versions WHERE state = 'ready'")
    const faults: Faults = []
    for (const { id, files } of rows.iterate() as Iterable<{ id: string; files: string }>) {
      for (const { path, hash } of JSON.parse(files) as StoredFile[]) {
        const fault = await this.#faultOfBlob(hash!)
        if (fault) faults.push(`version ${id}, ${path}: ${fault}`)
      }
    }
    return faults
  }

  async #faultsOfSite({ slug, state, wish, versions }: KnownSite): Promise<Faults> {
    if (state === null || wish === null) return []
    const faults: Faults = []
    const newest = [...versions].sort(([one], [other]) => (one < other ? 1 : -1)).slice(0, SURE_VERSIONS)
    for (const [id, files] of newest) {
      const version = await this.#house.store.read.versions.byId(id)
      if (version?.state !== 'ready')
        faults.push(`the version ${id} of ${slug} is ${version?.state ?? 'lost'}`)
      else if (!isSame(files, version.files))
        faults.push(`the version ${id} of ${slug} has other files than it was acknowledged with`)
    }
    return faults
  }

  async #faultOfBlob(hash: string): Promise<string | undefined> {
    if (this.#wholeBlobs.has(hash)) return this.#wholeBlobs.get(hash)
    const bytes = await this.#house.blobs.bytes(hash)
    const fault =
      bytes === undefined
        ? `the blob ${hash} is lost`
        : sha256(bytes) === hash
          ? undefined
          : `the blob ${hash} has other bytes (${bytes.length})`
    this.#wholeBlobs.set(hash, fault)
    return fault
  }
}

function isSame(made: MadeSite, stored: readonly StoredFile[]): boolean {
  return (
    stored.length === Object.keys(made).length && stored.every((file) => made[file.path]?.hash === file.hash)
  )
}
