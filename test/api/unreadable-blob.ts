import { mkdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Api, blobFolder } from './api.ts'
import { sha256 } from './content.ts'

/** Makes the published blob of this content unreadable until dispose, by a folder in its place. */
export async function makeUnreadable(api: Api, content: string | Buffer): Promise<AsyncDisposable> {
  const { store } = await api.operator()
  const { object } = (await store.read.blobs.find(sha256(content)))!
  const place = join(blobFolder(api), object.slice(0, 2), object)
  const aside = join(api.data, 'spool', object)
  await rename(place, aside)
  await mkdir(place)
  return {
    async [Symbol.asyncDispose]() {
      await rmdir(place)
      await rename(aside, place)
    },
  }
}
