import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DiskCache } from '../../server/blobs/s3/disk-cache.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { deterministicBytes } from '../blobs/bytes.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

const FILE_BYTES = 2 ** 18

/** The disk has space for 24 files beside the reserve, less than the cache may use. */
const DISK_FILES = 24
const LIMIT = 32 * FILE_BYTES

test('a cache that gives way deletes copies that were not read for longer first', async () => {
  await using folder = await memoryFolder()
  let isFull = false
  const assertSpace = async () => {
    if (!isFull) return
    isFull = false
    throw new ApiError('INSUFFICIENT_STORAGE', 'The disk is full.')
  }
  const options = { folder: folder.path, limit: 32 * 4096, processes: 1, metrics: new Metrics() }
  const cache = new DiskCache({ ...options, reserve: { assertSpace } })
  const bytes = deterministicBytes(0, 4096)
  const hash = createHash('sha256').update(bytes).digest('hex')
  cache.write(hash, bytes)
  const prefix = hash.slice(0, 2)
  const shard = join(folder.path, prefix)
  await waitFor(() => existsSync(join(shard, `${hash}.4096`)))
  for (let number = 0; number < 27; number++) writeFileSync(join(shard, `${prefix}${number}.4096`), bytes)
  while (readdirSync(shard).length > 4) {
    assert.ok(await cache.read(hash, 4096), `with ${readdirSync(shard).length} files`)
    isFull = true
    await cache.assertSpace()
  }
})

test('a cache that fills the disk gives way to new content and to publishing', async () => {
  await using folder = await memoryFolder()
  const countFiles = () =>
    readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      .length
  let otherFiles = 0
  const assertSpace = async (bytes = 0) => {
    if ((countFiles() + otherFiles) * FILE_BYTES + bytes > DISK_FILES * FILE_BYTES)
      throw new ApiError('INSUFFICIENT_STORAGE', 'The disk is full.')
  }
  const metrics = new Metrics()
  const options = { folder: folder.path, limit: LIMIT, processes: 1, metrics }
  const cache = new DiskCache({ ...options, reserve: { assertSpace } })
  for (let number = 0; number < 2 * DISK_FILES; number++) {
    const bytes = deterministicBytes(number, FILE_BYTES)
    const hash = createHash('sha256').update(bytes).digest('hex')
    cache.write(hash, bytes)
    const path = join(folder.path, hash.slice(0, 2), `${hash}.${FILE_BYTES}`)
    await waitFor(() => existsSync(path))
  }
  assert.ok(countFiles() > DISK_FILES / 2, 'most of the disk is used')
  for (otherFiles = 0; otherFiles <= DISK_FILES; otherFiles++) await cache.assertSpace()
  assert.equal(countFiles(), 0)
  await assert.rejects(cache.assertSpace(), { code: 'INSUFFICIENT_STORAGE' })
  const failures = (operation: string) =>
    metrics.read()[`slipway_disk_cache_failures_total{operation="${operation}"}`] ?? 0
  assert.deepEqual([failures('write'), failures('evict')], [0, 0])
  // A folder cannot be deleted as a file, as a file of another user cannot.
  mkdirSync(join(folder.path, 'ab', `${'ab'.repeat(32)}.${FILE_BYTES}`), { recursive: true })
  await assert.rejects(cache.assertSpace(), { code: 'INSUFFICIENT_STORAGE' })
  assert.ok(failures('evict') > 0)
})
