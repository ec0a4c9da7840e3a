import { mkdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from './content.ts'

/** Makes the blob of this content unreadable until dispose, by a folder in its place. */
export async function makeUnreadable(folder: string, content: string | Buffer): Promise<AsyncDisposable> {
  const hash = sha256(content)
  const place = join(folder, hash.slice(0, 2), hash)
  const aside = join(folder, 'staged', `aside-${hash}`)
  await rename(place, aside)
  await mkdir(place)
  return {
    async [Symbol.asyncDispose]() {
      await rmdir(place)
      await rename(aside, place)
    },
  }
}
