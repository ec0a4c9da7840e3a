import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { BatchTarget, FileEntry } from '../../protocol/api/publish.ts'
import { TAR_END, tarPart } from '../archive/tar-file.ts'
import type { ApiResponse } from './answer.ts'
import { type Account, type Api, expectFailure, toTarget } from './api.ts'
import { type Contents, toManifest } from './content.ts'

/** A version that waits for its files. */
export interface Waiting {
  slug: string
  siteUrl: string
  versionId: string
  bundle: BatchTarget
}

/** A new site that waits for these files, with their hashes unless a manifest says otherwise. */
export async function waitingFor(
  owner: Account,
  contents: Contents,
  files: FileEntry[] = toManifest(contents),
): Promise<Waiting> {
  const { slug, siteUrl, upload } = await owner.client.create({ files })
  return { slug, siteUrl, versionId: upload.versionId, bundle: upload.bundle! }
}

/** A tar with these files. */
export function buildTar(contents: Contents): Buffer {
  return Buffer.concat([...buildTarParts(contents), TAR_END])
}

/** The files as they stand in a tar, each with its header and padding. */
export function buildTarParts(contents: Contents): Buffer[] {
  return Object.entries(contents).map(([name, content]) => tarPart({ name, data: Buffer.from(content) }))
}

export function send(
  api: Api,
  { bundle }: Pick<Waiting, 'bundle'>,
  body: Buffer | Readable,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  return api.ask('PUT', toTarget(bundle.url), { body, headers: { ...bundle.headers, ...headers } })
}

/** The paths that a version still lacks. */
export async function lacking(owner: Account, { slug, versionId }: Waiting): Promise<string[]> {
  const { upload } = await owner.client.refresh(slug, { versionId })
  return upload.uploads.map(({ path }) => path).sort()
}

/** Waits until a version lacks just these; a request that was cut off may still be under way. */
export async function lacksOnly(owner: Account, waiting: Waiting, paths: string[]): Promise<void> {
  let left = await lacking(owner, waiting)
  for (let round = 0; left.length > paths.length && round < 1000; round++) {
    await setImmediate()
    left = await lacking(owner, waiting)
  }
  assert.deepEqual(left, paths)
}

/** Finalizes, and sees that every file is served as it was sent. */
export async function isPublished(
  api: Api,
  owner: Account,
  { slug, siteUrl, versionId }: Waiting,
  contents: Contents,
): Promise<void> {
  await owner.client.finalize(slug, { versionId })
  for (const [path, content] of Object.entries(contents)) {
    const { body } = await api.visit(siteUrl, `/${path.split('/').map(encodeURIComponent).join('/')}`)
    assert.ok(body.equals(Buffer.from(content)), `${path} is served as it was sent`)
  }
}

/** Finalize still waits for just these. */
export async function waitsFor(
  owner: Account,
  { slug, versionId }: Waiting,
  missing: string[],
): Promise<void> {
  const { details } = await expectFailure(owner.client.finalize(slug, { versionId }), 'UPLOADS_MISSING')
  assert.deepEqual(details, { missing, count: missing.length })
}
