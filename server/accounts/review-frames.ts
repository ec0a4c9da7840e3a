import { newId } from '../lib/tokens.ts'
import type { WriteTransaction } from '../store/store.ts'

/** Ends what the links to all reviews of a site show; those who may open it again. */
export async function endFrames(tx: WriteTransaction, slug: string, now: number): Promise<void> {
  await tx.sites.update(slug, { reviewKey: newId(now) })
  await tx.notifyChanged(slug)
}

/** After keys of an account have ended: with them the review links that they created, and what these show. */
export async function endLinksOfEndedKeys(
  tx: WriteTransaction,
  accountId: string,
  now: number,
): Promise<void> {
  for (const slug of await tx.reviews.removeLinksOfEndedKeys(accountId)) await endFrames(tx, slug, now)
}
