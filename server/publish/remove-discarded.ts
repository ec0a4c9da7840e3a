import type { Blobs } from '../blobs/blobs.ts'
import { MINUTE_MS } from '../lib/time.ts'
import { INDEPENDENT, type Store } from '../store/store.ts'

/** After this time a sweep deletes what could not be deleted. */
const RETRY_MS = 5 * MINUTE_MS

/** Returns how many. Rejects when some could not be deleted: a sweep deletes these later. */
export async function removeDiscarded(
  store: Store,
  blobs: Pick<Blobs, 'remove'>,
  objects: readonly string[],
): Promise<number> {
  // Durable: a power cut must not restore a row that uses an object which no longer exists.
  const unused = await store.write('durable', INDEPENDENT, (tx) =>
    tx.blobs.postponeDiscarded(objects, store.clock() + RETRY_MS),
  )
  await blobs.remove(unused)
  await store.write('relaxed', INDEPENDENT, (tx) => tx.blobs.forgetDiscarded(unused))
  return unused.length
}
