import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FileEntry, UploadTarget } from '../../protocol/api/publish.ts'
import type { ApiResponse } from './answer.ts'
import { type Account, type Api, expectFailure, toTarget } from './api.ts'

export interface Waiting {
  slug: string
  siteUrl: string
  versionId: string
  target: UploadTarget
}

/** A site that waits for one file. */
export async function waiting(owner: Account, entry: FileEntry): Promise<Waiting> {
  const { slug, siteUrl, upload } = await owner.client.create({ files: [entry] })
  return { slug, siteUrl, versionId: upload.versionId, target: upload.uploads[0]! }
}

export function send(
  api: Api,
  target: UploadTarget,
  body: string | Buffer | Readable,
  headers = {},
): Promise<ApiResponse> {
  return api.ask('PUT', toTarget(target.url), { body, headers: { ...target.headers, ...headers } })
}

/** Nothing of the file is there: neither for finalize nor on the disk. */
export async function assertNothingKept(
  api: Api,
  owner: Account,
  { slug, versionId }: Waiting,
): Promise<void> {
  const error = await expectFailure(owner.client.finalize(slug, { versionId }), 'UPLOADS_MISSING')
  assert.equal((error.details as { count: number }).count, 1)
  await assertNoBytes(api, versionId)
}

/** The disk has no bytes of a version; a request that was cut off may still be under way. */
export async function assertNoBytes(api: Api, versionId: string): Promise<void> {
  const staged = () => readdir(join(api.data, 'blobs', 'staged', versionId)).catch(() => [])
  let left = await staged()
  for (let round = 0; left.length > 0 && round < 10_000; round++) {
    await setImmediate()
    left = await staged()
  }
  assert.deepEqual(left, [])
}
