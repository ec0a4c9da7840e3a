import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import { s3Blobs } from '../../server/blobs/s3/s3.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { PATIENT } from '../support/patient.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

test('the disk cache of a bucket gives way before the reserve of the disk refuses a publish', async () => {
  await using folder = await memoryFolder()
  const hash = 'ab'.padEnd(64, '0')
  const cached = join(folder.path, 'ab', `${hash}.4096`)
  await mkdir(join(folder.path, 'ab'))
  await writeFile(cached, Buffer.alloc(4096))
  let isFull = false
  const reserve = {
    async assertSpace() {
      if (isFull || existsSync(cached)) throw new ApiError('INSUFFICIENT_STORAGE', 'The disk is full.')
    },
  }
  const blobs = s3Blobs({
    bucket: parseBucketUrl('s3://bucket/?endpoint=http://127.0.0.1'),
    credentials: async () => ({ accessKeyId: 'KEY', secretAccessKey: 'secret' }),
    ...{ clock: Date.now, metrics: new Metrics(), timeouts: PATIENT.blobs },
    cache: { folder: folder.path, limit: 2 ** 20, processes: 1 },
    reserve,
  })
  await blobs.assertSpace(1)
  assert.equal(existsSync(cached), false)
  isFull = true
  await assert.rejects(blobs.assertSpace(1), { code: 'INSUFFICIENT_STORAGE' })
})
