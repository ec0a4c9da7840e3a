import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { type OperatorContext, openForOperator } from '../../server/app.ts'
import type { StoredBlob } from '../../server/blobs/blobs.ts'
import { readConfig } from '../../server/config/settings.ts'
import { makeLog } from '../../server/lib/log.ts'
import { newId } from '../../server/lib/tokens.ts'
import { newSlug } from '../../server/sites/slug.ts'
import type { WriteTransaction } from '../../server/store/store.ts'
import { emptySite } from '../../server/store/tables/sites.ts'
import { emptyVersion } from '../../server/store/tables/versions.ts'

/** A site with a unique root document. */
export interface SeededSite {
  slug: string
  index: Buffer
}

interface Seed {
  /** Total number of sites. */
  sites: number
  /** Sites with a root document of their own; all others share one. */
  distinct: number
}

/** The account that owns the sites; it has no row. */
export const SEEDED_OWNER = 'bench'

const FILES = 10
const BYTES = 4096
const SITES_AT_ONCE = 500

/**
 * Inserts sites of ten files of 4 kB directly into the store of a stopped service: publishing them would take
 * an hour. All but the root document share their blobs. Returns the sites with a document of their own.
 */
export async function seedSites(data: string, { sites, distinct }: Seed): Promise<SeededSite[]> {
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const config = readConfig({ SLIPWAY_DATA: data })
  await using context = await openForOperator(config, { log, version: 'bench' })
  const shared = await keep(context, Array.from({ length: FILES }, noise))
  const made: SeededSite[] = []
  for (let at = 0; at < sites; at += SITES_AT_ONCE) {
    const count = Math.min(SITES_AT_ONCE, sites - at)
    const own = await keep(
      context,
      Array.from({ length: Math.min(count, Math.max(0, distinct - at)) }, noise),
    )
    const slugs = Array.from({ length: count }, newSlug)
    await context.store.write('durable', {}, async (tx) => {
      for (const [index, slug] of slugs.entries()) {
        const root = own[index] ?? shared[0]!
        await insert(tx, slug, [root, ...shared.slice(1)])
      }
    })
    made.push(...own.map(({ bytes }, index) => ({ slug: slugs[index]!, index: bytes })))
  }
  return made
}

/** The same sites for a server that finds them by folder. */
export function writeSites(folder: string, sites: readonly SeededSite[]): void {
  for (const { slug, index } of sites) {
    const own = join(folder, `${slug}.localhost`)
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, 'index.html'), index)
  }
}

/**
 * Positions of `count` requests over `sites` sites by Zipf's law with exponent 1: the k-th is requested 1/k
 * as often as the first.
 */
export function zipf(sites: number, count: number): number[] {
  const sums = new Float64Array(sites)
  for (let at = 0, sum = 0; at < sites; at++) sums[at] = sum += 1 / (at + 1)
  const total = sums[sites - 1]!
  return Array.from({ length: count }, () => firstAbove(sums, Math.random() * total))
}

function firstAbove(sums: Float64Array, value: number): number {
  let [low, high] = [0, sums.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sums[middle]! > value) high = middle
    else low = middle + 1
  }
  return low
}

type Blob = StoredBlob & { bytes: Buffer }

/** Stores blobs as a publish does. */
async function keep({ blobs }: OperatorContext, contents: Buffer[]): Promise<Blob[]> {
  const kept = await Promise.all(
    contents.map(async (bytes) => {
      const blob = await blobs.put(Readable.from([bytes]), { size: bytes.length })
      return { ...blob, bytes }
    }),
  )
  await blobs.commit(kept)
  return kept
}

async function insert(tx: WriteTransaction, slug: string, blobs: readonly Blob[]): Promise<void> {
  const now = Date.now()
  const id = newId(now)
  const files: StoredFile[] = blobs.map(({ hash, size }, index) => ({
    path: index === 0 ? 'index.html' : `assets/picture-${index}.jpg`,
    contentType: index === 0 ? 'text/html; charset=utf-8' : 'image/jpeg',
    size,
    hash,
  }))
  await tx.rows.insert('versions', {
    ...emptyVersion(id, slug, now),
    state: 'ready',
    fileCount: FILES,
    totalBytes: FILES * BYTES,
    isEncoded: true,
    publishedAt: now,
    files,
  })
  await tx.sites.insert({ ...emptySite(slug, now), ownerId: SEEDED_OWNER, liveVersionId: id, liveSince: now })
  await tx.blobs.add(slug, blobs)
}

function noise(): Buffer {
  return randomBytes(BYTES)
}
