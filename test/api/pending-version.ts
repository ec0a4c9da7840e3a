import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { BundleTarget, UploadTarget } from '../../protocol/api/publish.schema.ts'
import { TAR_END, tarPart } from '../archive/tar-file.ts'
import { listObjects } from '../blobs/bytes.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Account, type Api, expectFailure, toTarget } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { type Contents, toManifest } from './content.ts'

/** A pending version, the target of its first file and that of its bundles. */
export interface PendingVersion {
  slug: string
  siteUrl: string
  versionId: string
  target: UploadTarget
  bundle: BundleTarget
}

/** Creates a site with these files to upload. */
export async function createPending(owner: Account, files: Contents | FileEntry[]): Promise<PendingVersion> {
  const entries = Array.isArray(files) ? files : toManifest(files)
  const { slug, siteUrl, upload } = await owner.client.create({ files: entries })
  const { versionId, uploads, bundle } = upload
  return { slug, siteUrl, versionId, target: uploads[0]!, bundle: bundle! }
}

/** A tar with these files. */
export function buildTar(contents: Contents): Buffer {
  return Buffer.concat([...buildTarParts(contents), TAR_END])
}

/** The entries of a tar, each with its header and padding. */
export function buildTarParts(contents: Contents): Buffer[] {
  return Object.entries(contents).map(([name, content]) => tarPart({ name, data: Buffer.from(content) }))
}

/** Uploads a file or a bundle. */
export function send(
  api: Api,
  { url, headers }: Pick<UploadTarget, 'url' | 'headers'>,
  body: string | Buffer | Readable,
  more = {},
): Promise<ApiResponse> {
  return api.request('PUT', toTarget(url), { body, headers: { ...headers, ...more } })
}

/** The paths that still have to be uploaded. */
export async function missingPaths(
  owner: Account,
  { slug, versionId }: Pick<PendingVersion, 'slug' | 'versionId'>,
): Promise<string[]> {
  const { upload } = await owner.client.refresh(slug, { versionId })
  return upload.uploads.map(({ path }) => path).sort()
}

/** Waits until exactly these paths are missing; an interrupted request may still be in progress. */
export async function waitForMissing(
  owner: Account,
  pending: PendingVersion,
  paths: string[],
): Promise<void> {
  await waitFor(async () => (await missingPaths(owner, pending)).length <= paths.length)
  assert.deepEqual(await missingPaths(owner, pending), paths)
}

/** Sees what is stored after the call of this function. */
export async function watchObjects(api: Api): Promise<ObjectWatch> {
  const { blobs } = await api.operator()
  // The encodings of what was published before are not new.
  await api.running.service.precompressor.onIdle()
  const begunBefore = api.begunPuts
  const before = new Set(await listObjects(blobs))
  return {
    begun: () => api.begunPuts - begunBefore,
    list: async () => (await listObjects(blobs)).filter((object) => !before.has(object)),
  }
}

export interface ObjectWatch {
  /** The number of bodies that the service began to store. */
  begun(): number
  /** The names of new objects. */
  list(): Promise<string[]>
}

/** Finalizes, and asserts that every file is served as it was sent. */
export async function assertPublished(
  api: Api,
  owner: Account,
  { slug, siteUrl, versionId }: Pick<PendingVersion, 'slug' | 'siteUrl' | 'versionId'>,
  contents: Contents,
): Promise<void> {
  await owner.client.finalize(slug, { versionId })
  for (const [path, content] of Object.entries(contents)) {
    const { body } = await api.visit(siteUrl, `/${path.split('/').map(encodeURIComponent).join('/')}`)
    assert.ok(body.equals(Buffer.from(content)), `${path} is served as it was sent`)
  }
}

/** Asserts that finalize fails because exactly these paths are missing. */
export async function assertMissing(
  owner: Account,
  { slug, versionId }: PendingVersion,
  missing: string[],
): Promise<void> {
  const { details } = await expectFailure(owner.client.finalize(slug, { versionId }), 'UPLOADS_MISSING')
  assert.deepEqual(details, { missing, count: missing.length })
}
