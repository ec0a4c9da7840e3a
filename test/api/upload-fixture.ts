import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FileEntry, UploadTarget } from '../../protocol/api/publish.ts'
import { type Account, type Api, expectFailure, toTarget } from './api.ts'
import type { ApiResponse } from './api-response.ts'

export interface PendingUpload {
  slug: string
  siteUrl: string
  versionId: string
  target: UploadTarget
}

/** Creates a site with one file to upload. */
export async function createPendingUpload(owner: Account, entry: FileEntry): Promise<PendingUpload> {
  const { slug, siteUrl, upload } = await owner.client.create({ files: [entry] })
  return { slug, siteUrl, versionId: upload.versionId, target: upload.uploads[0]! }
}

export function send(
  api: Api,
  target: Pick<UploadTarget, 'url' | 'headers'>,
  body: string | Buffer | Readable,
  headers = {},
): Promise<ApiResponse> {
  return api.request('PUT', toTarget(target.url), { body, headers: { ...target.headers, ...headers } })
}

/** Asserts that the file is missing at finalize and on the disk. */
export async function assertNothingKept(
  api: Api,
  owner: Account,
  { slug, versionId }: PendingUpload,
): Promise<void> {
  const error = await expectFailure(owner.client.finalize(slug, { versionId }), 'UPLOADS_MISSING')
  assert.equal((error.details as { count: number }).count, 1)
  await assertNoBytes(api, versionId)
}

/** Waits until no bytes of a version are staged; an interrupted request may still be in progress. */
export async function assertNoBytes(api: Api, versionId: string): Promise<void> {
  const staged = () => readdir(join(api.data, 'blobs', 'staged', versionId)).catch(() => [])
  let left = await staged()
  for (let round = 0; left.length > 0 && round < 10_000; round++) {
    await setImmediate()
    left = await staged()
  }
  assert.deepEqual(left, [])
}
