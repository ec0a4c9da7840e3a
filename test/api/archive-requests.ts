import assert from 'node:assert/strict'
import { type Dirent, existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Part } from '../archive/part.ts'
import { tar } from '../archive/tar-file.ts'
import { zip } from '../archive/zip-file.ts'
import type { ApiResponse } from './answer.ts'
import { type Account, type Api, DAY_MS } from './api.ts'
import type { Contents } from './content.ts'

export const TYPES = {
  zip: 'application/zip',
  tar: 'application/x-tar',
  'tar.gz': 'application/gzip',
} as const
export type Kind = keyof typeof TYPES

export const part = (name: string, data: string | Buffer = 'x'): Part => ({ name, data: Buffer.from(data) })

export function make(kind: Kind, contents: Contents): Buffer {
  const parts = Object.entries(contents).map(([name, data]) => part(name, data))
  if (kind === 'zip') return zip(parts)
  return kind === 'tar' ? tar(parts) : gzipSync(tar(parts))
}

/** Sends an archive, as a new site or to one that is there. */
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
  return api.ask(method!, path + query, { key, body, headers: { 'content-type': type, ...headers } })
}

/** The files below folders of the service, as they are now. A folder that goes during the look is looked for again. */
export async function filesIn({ data }: Api, ...folders: string[]): Promise<string[]> {
  const look = (name: string): Promise<Dirent[]> =>
    readdir(join(data, name), { recursive: true, withFileTypes: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT' || !existsSync(join(data, name))) throw error
        return look(name)
      },
    )
  const found = await Promise.all(folders.map(look))
  const files = found.flat().filter((entry) => entry.isFile())
  return files.map((entry) => join(entry.parentPath, entry.name).slice(data.length + 1))
}

/** All bytes that are kept, once none are under way any more: what follows an answer may take a moment. */
export async function bytesAtRest(api: Api): Promise<Set<string>> {
  for (let round = 0; round < 500 && (await filesIn(api, 'blobs/staged', 'spool')).length > 0; round++) {
    await setImmediate()
  }
  return new Set(await filesIn(api, 'blobs', 'spool'))
}

/** What the database knows that could belong to an archive. */
async function knownOf(api: Api, account: Account) {
  const house = await api.inside()
  const { versions, blobReferences } = house.store.read
  const pending = (await versions.abandoned(api.clock.now + DAY_MS, 1000)).length
  const sites = await Array.fromAsync(account.client.sites())
  return { pending, sites, named: await blobReferences.count() }
}

/** Runs what must be refused and sees to it that neither the disk nor the database has anything of it afterwards. */
export async function keepsNothing<T>(api: Api, account: Account, work: () => Promise<T>): Promise<T> {
  const before = { bytes: await bytesAtRest(api), known: await knownOf(api, account) }
  const outcome = await work()
  const after = { bytes: await bytesAtRest(api), known: await knownOf(api, account) }
  assert.deepEqual(
    [...after.bytes].filter((path) => !before.bytes.has(path)),
    [],
  )
  assert.deepEqual(after.known.sites, before.known.sites)
  // A sweep may have taken something of earlier tests meanwhile.
  assert.ok(after.known.pending <= before.known.pending, 'no version is waiting')
  assert.ok(after.known.named <= before.known.named, 'no bytes are named')
  return outcome
}
