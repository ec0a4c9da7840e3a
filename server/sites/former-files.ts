import { releaseHolding } from '../accounts/quotas.ts'
import { HOUR_MS } from '../lib/time.ts'
import { newId } from '../lib/tokens.ts'
import type { WriteTransaction } from '../store/store.ts'
import type { Site } from '../store/tables/sites.ts'
import {
  emptyVersion,
  type FormerFile,
  type FormerFiles,
  type ManifestFile,
  type Version,
} from '../store/tables/versions.ts'
import { countNewBytes, releaseBlobs } from './blob-references.ts'

/** Contract, "Serving", 4. */
const FORMER_FILES_TTL_MS = HOUR_MS

/** Beyond it, those that went away first are dropped. */
const MAX_FORMER_FILES = 5000

interface Replacement {
  /** The version that visitors see before, if any. */
  replacedId: string | null
  next: Pick<Version, 'files' | 'changes'>
  /** Null for the site itself. */
  previewName: string | null
}

/** Call it before visitors see the next version, and before the one that it replaces is deleted. */
export async function recordFormerFiles(
  tx: WriteTransaction,
  site: Site,
  { replacedId, next, previewName }: Replacement,
  now: number,
): Promise<void> {
  if (replacedId === null) return
  const former = (await tx.versions.listFormer(site.slug)).find((one) => one.previewName === previewName)
  const { comparedWith, removed } = next.changes ?? {}
  const isNothingGone = comparedWith === replacedId && removed === 0
  const replaced = isNothingGone ? [] : ((await tx.versions.findFiles(replacedId)) ?? [])
  const paths = new Set(next.files.map(({ path }) => path))
  const gone = replaced
    .filter(({ path }) => !paths.has(path))
    .map((file): FormerFile => ({ ...file, until: now + FORMER_FILES_TTL_MS }))
  for (const { path } of gone) paths.add(path)
  const others = former?.files.filter(({ path, until }) => until > now && !paths.has(path)) ?? []
  if (gone.length > 0 || others.length < (former?.files.length ?? 0))
    await setFormerFiles(
      tx,
      site,
      { former, previewName, files: [...gone, ...others].slice(0, MAX_FORMER_FILES) },
      now,
    )
}

/** Forgets those of a preview that is deleted. */
export async function forgetFormerOfPreview(
  tx: WriteTransaction,
  site: Site,
  previewName: string,
  now: number,
): Promise<void> {
  for (const former of await tx.versions.listFormer(site.slug))
    if (former.previewName === previewName)
      await setFormerFiles(tx, site, { former, previewName, files: [] }, now)
}

/** Forgets the files of a version that its owner deletes, except those that another version has. */
export async function forgetFormerFiles(
  tx: WriteTransaction,
  site: Site,
  versionId: string,
  now: number,
): Promise<void> {
  const records = await tx.versions.listFormer(site.slug)
  if (records.length === 0) return
  const forgotten = await listFiles(tx, versionId)
  for (const { id, state } of await tx.versions.bySlug(site.slug))
    if (state === 'ready' && id !== versionId)
      for (const file of await listFiles(tx, id)) forgotten.delete(file)
  for (const former of records) {
    const { previewName } = former
    const files = former.files.filter((file) => !forgotten.has(identify(file)))
    if (files.length < former.files.length)
      await setFormerFiles(tx, site, { former, previewName, files }, now)
  }
}

async function listFiles({ versions }: WriteTransaction, id: string): Promise<Set<string>> {
  return new Set((await versions.findFiles(id))?.map(identify))
}

function identify({ path, hash }: ManifestFile): string {
  return `${hash} ${path}`
}

/** Replaces the former files, and releases those that no version needs. */
async function setFormerFiles(
  tx: WriteTransaction,
  site: Site,
  {
    former,
    previewName,
    files,
  }: { former: FormerFiles | undefined; previewName: string | null; files: readonly FormerFile[] },
  now: number,
): Promise<void> {
  const { slug } = site
  const [last] = files
  if (last && former) await tx.versions.update(former.id, { files, previewUntil: last.until })
  else if (last)
    await tx.versions.insert({
      ...emptyVersion(newId(now), slug, now),
      state: 'former',
      previewName,
      files,
      previewUntil: last.until,
    })
  else if (former) await tx.versions.remove(former.id)
  const kept = new Set(files.map(({ hash }) => hash))
  const dropped = new Set(former?.files.flatMap(({ hash }) => (kept.has(hash) ? [] : hash!)))
  if (dropped.size === 0) return
  const released = await releaseBlobs(tx, slug, { hashes: [...dropped], now })
  await releaseHolding(tx, site, { bytes: await countNewBytes(tx, site, released), sites: 0 })
}
