import { releaseBlobs } from '../../sites/blob-references.ts'
import { findInjection, type HeadInjection } from '../../sites/page-metadata/head-metadata.ts'
import { type InjectedDocument, injectionKey } from '../../sites/page-metadata/injected-document.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { Queries } from '../../store/queries.ts'
import type { Store } from '../../store/store.ts'
import type { Version } from '../../store/tables/versions.ts'

/** The injection that a version needs with the metadata of its site. */
export async function loadInjection(
  queries: Queries,
  version: Version,
  addresses: UrlBuilder,
): Promise<HeadInjection | undefined> {
  const site = await queries.sites.bySlug(version.slug)
  return site && findInjection(site, version, addresses)
}

export function isSameInjection(one: HeadInjection | undefined, other: HeadInjection | undefined): boolean {
  return (one && injectionKey(one)) === (other && injectionKey(other))
}

/**
 * Records the injected document in its version and references it, so that its encodings are not
 * collected; releases an earlier one. Returns the version, unchanged when the metadata has changed.
 */
export async function nameDocument(
  { store, addresses, clock }: { store: Store; addresses: UrlBuilder; clock: () => number },
  version: Version,
  { injection, document }: { injection: HeadInjection | undefined; document: InjectedDocument | undefined },
): Promise<Version> {
  const injectedDocumentHash = document?.hash ?? null
  if (version.injectedDocumentHash === injectedDocumentHash) return version
  return store.write('relaxed', { site: version.slug }, async (tx) => {
    const { id } = version
    const current = await tx.versions.byId(id)
    if (!current || !isSameInjection(await loadInjection(tx, current, addresses), injection)) return version
    await tx.versions.update(id, { injectedDocumentHash })
    if (document) await tx.blobs.addReferences(current.slug, [document.hash])
    if (current.injectedDocumentHash !== null)
      await releaseBlobs(tx, current.slug, { hashes: [current.injectedDocumentHash], now: clock() })
    // Read again: a copy of the object would parse its rules and its manifest.
    return (await tx.versions.byId(id))!
  })
}
