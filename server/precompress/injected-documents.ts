import { updateReferences } from '../sites/blob-references.ts'
import { findInjection, type HeadInjection } from '../sites/page-metadata/head-metadata.ts'
import { type InjectedDocument, injectionKey } from '../sites/page-metadata/injected-document.ts'
import type { UrlBuilder } from '../sites/urls.ts'
import type { VersionRow } from '../store/schema.ts'
import type { Queries, Store } from '../store/store.ts'

/** The injection that a version needs with the metadata of its site. */
export async function loadInjection(
  queries: Queries,
  version: VersionRow,
  addresses: UrlBuilder,
): Promise<HeadInjection | undefined> {
  const site = await queries.sites.bySlug(version.slug)
  return site && findInjection(site, version, addresses)
}

export function isSameInjection(one: HeadInjection | undefined, other: HeadInjection | undefined): boolean {
  return (one && injectionKey(one)) === (other && injectionKey(other))
}

/** The hash of the injected document that the row of a version names. */
export function namedDocument({ front }: VersionRow): string | undefined {
  return front === null ? undefined : (JSON.parse(front) as { hash: string }).hash
}

/**
 * Names the injected document in the row of its version and references it, so that its encodings are not
 * collected; releases an earlier one. Returns the row, unchanged when the metadata has changed.
 */
export async function nameDocument(
  { store, addresses, clock }: { store: Store; addresses: UrlBuilder; clock: () => number },
  version: VersionRow,
  { injection, document }: { injection: HeadInjection | undefined; document: InjectedDocument | undefined },
): Promise<VersionRow> {
  if (namedDocument(version) === document?.hash) return version
  const front = document ? JSON.stringify({ hash: document.hash }) : null
  return store.write('soft', async (tx) => {
    const { id, slug } = version
    const current = await tx.versions.byId(id)
    if (!current || !isSameInjection(await loadInjection(tx, current, addresses), injection)) return version
    await tx.versions.update(id, { front })
    if (document) await tx.blobReferences.addReferences(slug, [document.hash])
    if (current.front !== null) await updateReferences(tx, slug, clock())
    return { ...current, front }
  })
}
