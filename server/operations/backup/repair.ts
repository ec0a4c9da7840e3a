import type { Readable } from 'node:stream'
import type { Blobs } from '../../blobs/blobs.ts'
import { isDamage } from '../../blobs/damage.ts'
import type { Store } from '../../store/store.ts'
import { toContentName } from './file-list.ts'
import type { BackupTarget } from './target.ts'

interface RepairSource {
  store: Store
  blobs: Pick<Blobs, 'read'>
}

/**
 * Returns the contents that were copied: each was compared with its hash before it took the place of what the target
 * had. Call it with the lease of a backup.
 */
export async function repair(
  target: BackupTarget,
  { store, blobs }: RepairSource,
  hashes: readonly string[],
): Promise<string[]> {
  const repaired: string[] = []
  for (const hash of hashes) {
    const location = await store.read.blobs.find(hash)
    let body: Readable | undefined
    try {
      body = location && (await blobs.read(location))
      if (!location || !body) continue
      await target.put(toContentName(hash), body, location)
      repaired.push(hash)
    } catch (error) {
      if (!isDamage(error)) throw error
    } finally {
      body?.destroy()
    }
  }
  await target.flush()
  return repaired
}
