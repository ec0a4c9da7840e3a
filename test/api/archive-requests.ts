import assert from 'node:assert/strict'
import { type Dirent, existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buildArchive } from '../archive/build-archive.ts'
import type { Part } from '../archive/part.ts'
import { listObjects } from '../blobs/bytes.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Account, type Api, DAY_MS } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import type { Contents } from './content.ts'

export const TYPES = {
  zip: 'application/zip',
  tar: 'application/x-tar',
  'tar.gz': 'application/gzip',
} as const
export type Kind = keyof typeof TYPES

export const part = (name: string, data: string | Buffer = 'x'): Part => ({ name, data: Buffer.from(data) })

export function make(kind: Kind, contents: Contents): Buffer {
  return buildArchive(
    kind,
    Object.entries(contents).map(([name, data]) => part(name, data)),
  )
}

/** Sends an archive as a new site, or as an update of the site `slug`. */
export function send(
  api: Api,
  kind: Kind | string,
  body: Buffer | Readable,
  {
    slug,
    query = '',
    key,
    headers,
  }: { slug?: string; query?: string; key?: string | undefined; headers?: Record<string, string> } = {},
): Promise<ApiResponse> {
  api.pass()
  const type = TYPES[kind as Kind] ?? kind
  const [method, path] = slug === undefined ? ['POST', '/api/v1/publish'] : ['PUT', `/api/v1/publish/${slug}`]
  return api.request(method!, path + query, { key, body, headers: { 'content-type': type, ...headers } })
}

/** The current files below folders of the service. A folder that disappears while it is listed is listed again. */
export async function filesIn({ data }: Pick<Api, 'data'>, ...folders: string[]): Promise<string[]> {
  const list = (name: string): Promise<Dirent[]> =>
    readdir(join(data, name), { recursive: true, withFileTypes: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT' || !existsSync(join(data, name))) throw error
        return list(name)
      },
    )
  const entries = await Promise.all(folders.map(list))
  const files = entries.flat().filter((entry) => entry.isFile())
  return files.map((entry) => join(entry.parentPath, entry.name).slice(data.length + 1))
}

/**
 * The stored files without those that a sweep deletes next, once each has a row: work after a response, or after the
 * end of a connection, may take a moment.
 */
export async function storedFiles(api: Api): Promise<Set<string>> {
  const { blobs, store } = await api.operator()
  await api.running.service.precompressor.onIdle()
  const findStrays = async () => store.read.blobs.withoutRow(await listObjects(blobs))
  await waitFor(async () => (await findStrays()).length === 0)
  const discarded = new Set(await store.read.blobs.listDiscarded(api.clock.now, 10_000))
  const objects = (await listObjects(blobs)).filter((object) => !discarded.has(object))
  return new Set([...objects, ...(await filesIn(api, 'spool'))])
}

/** Counts of rows that an archive could have added. */
async function readCounts(api: Api, account: Account) {
  const operator = await api.operator()
  const { versions } = operator.store.read
  const pending = (await versions.abandoned(api.clock.now + DAY_MS, 1000)).length
  const sites = await Array.fromAsync(account.client.sites())
  return { pending, sites }
}

/** Asserts that a refused request leaves no files on the disk and no rows in the database. */
export async function assertKeepsNothing<T>(api: Api, account: Account, work: () => Promise<T>): Promise<T> {
  const before = { bytes: await storedFiles(api), counts: await readCounts(api, account) }
  const outcome = await work()
  const after = { bytes: await storedFiles(api), counts: await readCounts(api, account) }
  const added = [...after.bytes].filter((path) => !before.bytes.has(path))
  assert.deepEqual(added, [])
  // A sweep may have deleted sites and rows of earlier tests.
  const known = new Set(before.counts.sites.map(({ slug }) => slug))
  const created = after.counts.sites.filter(({ slug }) => !known.has(slug))
  assert.deepEqual(created, [])
  assert.ok(after.counts.pending <= before.counts.pending, 'no pending version')
  return outcome
}
