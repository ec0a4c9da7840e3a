import { siteRow, versionRow } from '../store/rows.ts'
import type { Account, Api } from './api.ts'
import { sha256 } from './content.ts'

/** Writes `count` live sites of one file for an account into the store; returns their slugs, the oldest first. */
export async function insertSites(
  api: Api,
  { email }: Account,
  count: number,
  prefix: string,
): Promise<string[]> {
  const { store } = await api.operator()
  const { id } = (await store.read.accounts.byEmail(email))!
  const slugs = Array.from({ length: count }, (_, number) => `${prefix}-${number}`)
  const file = { path: 'index.html', size: 4, contentType: 'text/html', hash: sha256(prefix) }
  await store.write('relaxed', {}, async (tx) => {
    for (const [number, slug] of slugs.entries()) {
      // Some have the same creation time.
      if (number % 4 === 0) api.pass()
      const createdAt = api.clock.now
      await tx.sites.insert(siteRow(slug, { ownerId: id, liveVersionId: `v-${slug}`, createdAt }))
      await tx.rows.insert(
        'versions',
        versionRow(`v-${slug}`, slug, { files: [file], fileCount: 1, publishedAt: createdAt }),
      )
      await tx.blobs.addReferences(slug, [file.hash])
    }
  })
  return slugs
}
