import assert from 'node:assert/strict'
import { stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import { S3Client } from '../../packages/s3-client/client.ts'
import { hashToken } from '../../server/lib/tokens.ts'
import { make } from '../api/archive-requests.ts'
import { type Contents, sha256, toFiles, toManifest } from '../api/content.ts'
import { noise } from '../edge/fixture.ts'
import { createStorage } from '../s3/storage.ts'
import { accountRow, keyRow } from '../store/rows.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { MIB } from '../support/units.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { type ServiceWithInternals, startServiceWithInternals } from './service-with-internals.ts'

/** Where files are published, and a node that has read none of them. */
interface Place extends ServiceWithInternals {
  visitedPort: number
  overwrite(object: string, bytes: Buffer): Promise<unknown>
}

async function startOnDisk(): Promise<Place> {
  const running = await startServiceWithInternals({})
  return {
    ...running,
    visitedPort: running.service.port,
    // With the time that it had, as damage and copies from a backup leave it.
    async overwrite(object, bytes) {
      const path = join(running.service.data, 'blobs', object.slice(0, 2), object)
      const { atime, mtime } = await stat(path)
      await writeFile(path, bytes)
      await utimes(path, atime, mtime)
    },
  }
}

async function startInBucket(): Promise<Place> {
  await using stack = new AsyncDisposableStack()
  const storage = stack.use(await createStorage())
  const port = await freePort()
  const settings = {
    DATABASE_URL: stack.use(await (await sharedPostgres()).borrowDatabase()).url,
    BLOBS_URL: storage.url,
    SECRET: 'a secret of all nodes of this test',
    SMTP_URL: 'smtp://127.0.0.1:1',
    BASE_URL: `http://localhost:${port}`,
  }
  const running = stack.use(await startServiceWithInternals({ ...settings, PORT: `${port}` }))
  const { path: DATA } = stack.use(await memoryFolder())
  const visited = stack.use(await startTestService({ ...settings, DATA }))
  const client = new S3Client({
    bucket: parseBucketUrl(storage.url),
    credentials: defaultProvider(),
    timeouts: PATIENT.blobs,
  })
  const owned = stack.move()
  return {
    ...running,
    visitedPort: visited.port,
    overwrite: (object, bytes) => client.send({ kind: 'put', method: 'PUT', object, body: [bytes] }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface Again {
  slug: string
  /** Of an update with the same files that was staged before the damage. */
  pendingVersionId: string
  contents: Contents
}

const WAYS: Record<string, (client: Slipway, again: Again) => Promise<unknown>> = {
  async 'the same folder'(client, { slug, contents }) {
    const { unchanged, uploaded } = await client.publish({ slug, files: toFiles(contents), ifChanged: true })
    assert.deepEqual([unchanged, uploaded], [true, 1])
  },
  'an update': (client, { slug, contents }) => client.publish({ slug, files: toFiles(contents) }),
  'an update that is resumed': (client, { contents, ...pending }) =>
    client.publish({ ...pending, files: toFiles(contents) }),
  'an archive': (client, { slug, contents }) =>
    client.publishArchive(make('zip', contents), { slug, contentType: 'application/zip' }),
  'another site': (client, { contents }) => client.publish({ files: toFiles(contents) }),
}

const KEY = `sl_live_${sha256('ann').slice(0, 32)}`

const CASES: [what: 'damaged' | 'missing', bytes: number][] = [
  ['damaged', 1000],
  ['damaged', 2 * MIB],
  ['missing', 1000],
]

for (const [where, start, parts] of [
  ['on the disk', startOnDisk, []],
  ['in a bucket', startInBucket, ['ceph', 'postgres']],
] as const)
  describe(`a damaged file ${where}`, requires(...parts), () => {
    const place = startForAllTests(start)
    before(() =>
      place.operator.store.write('durable', {}, async (tx) => {
        await tx.rows.insert('accounts', accountRow('ann'))
        await tx.rows.insert('named_keys', keyRow(hashToken(KEY), { accountId: 'ann', scope: 'manage' }))
      }),
    )

    for (const [way, publishAgain] of Object.entries(WAYS))
      for (const [what, size] of way === 'the same folder' ? CASES : CASES.slice(0, 1))
        test(`is replaced by ${way} with its bytes: ${what}, ${size} bytes`, async () => {
          const { service, operator, visitedPort, overwrite, sweep } = place
          const client = service.client(KEY)
          // Of a type that nothing compresses: compression in the background reads a file as a whole, and compares it.
          const bytes = noise(size)
          const contents = { 'index.html': `<p>${way} ${what} ${size}`, 'file.png': bytes }
          const { slug } = await client.publish({ files: toFiles(contents) })
          const { slug: other } = await client.publish({ files: toFiles({ 'copy.png': bytes }) })
          const { versionId: pendingVersionId } = (await client.update(slug, { files: toManifest(contents) }))
            .upload
          const { read } = operator.store
          const { object } = (await read.blobs.find(sha256(bytes)))!
          if (what === 'damaged') await overwrite(object, toDamaged(bytes))
          else await operator.blobs.remove([object])
          const visit = async (site = slug, path = '/file.png') => {
            const { status, body } = await sendRequest(visitedPort, { site, path })
            return [status, body.equals(bytes)]
          }
          const listDamaged = () => read.blobs.damagedAmong([sha256(bytes)])
          // A large file on a disk is compared with its hash by the sweep, and when that has found other bytes.
          const isRead = start === startOnDisk && size > MIB
          for (let times = 0; times < 3; times++)
            assert.deepEqual(await visit(other, '/copy.png'), [isRead ? 200 : 500, false])
          if (isRead) {
            assert.equal(await sweep('verification'), 1)
            assert.deepEqual(await listDamaged(), new Set([sha256(bytes)]))
            await waitFor(async () => (await visit(other, '/copy.png'))[0] === 500)
            assert.deepEqual(await visit(), [500, false])
            await overwrite(object, bytes)
            assert.deepEqual(await visit(), [200, true], 'copied back from a backup')
            await overwrite(object, toDamaged(bytes))
            assert.deepEqual(await visit(), [500, false])
          }
          // By another node, at any time; the writes of one process follow each other.
          if (start === startInBucket) await waitFor(async () => (await listDamaged()).size > 0)
          await client.publish({ slug: other, files: toFiles({ 'a.txt': way }), merge: true })
          assert.deepEqual(await listDamaged(), new Set([sha256(bytes)]))

          await publishAgain(client, { slug, pendingVersionId, contents })
          for (let times = 0; times < 2; times++) {
            assert.deepEqual(await visit(other, '/copy.png'), [200, true])
            assert.deepEqual(await visit(), [200, true])
            await sweep('blobs')
          }
          assert.deepEqual(await read.blobs.withoutRow([object]), [object], 'it is deleted')
          assert.equal(await sweep('verification'), 0)
        })

    if (start === startOnDisk)
      test('is right again at each site that has one of several that a publish replaces', async () => {
        const { service, operator, visitedPort, overwrite } = place
        const client = service.client(KEY)
        const both = [noise(MIB), noise(MIB)]
        const contents = { 'index.html': '<p>both', 'a.png': both[0]!, 'b.png': both[1]! }
        const { slug } = await client.publish({ files: toFiles(contents) })
        const copies: string[] = []
        for (const bytes of both)
          copies.push((await client.publish({ files: toFiles({ 'copy.png': bytes }) })).slug)
        const visit = async () =>
          Promise.all(
            copies.map(async (site, at) => {
              const { body } = await sendRequest(visitedPort, { site, path: '/copy.png' })
              return body.equals(both[at]!)
            }),
          )
        assert.deepEqual(await visit(), [true, true])
        for (const bytes of both) {
          const { object } = (await operator.store.read.blobs.find(sha256(bytes)))!
          await overwrite(object, toDamaged(bytes))
          await operator.store.write('relaxed', {}, (tx) => tx.blobs.markDamaged(object))
        }
        assert.deepEqual(await visit(), [false, false], 'what a site has is not compared with its hash')
        await client.publish({ slug, files: toFiles(contents) })
        assert.deepEqual(await visit(), [true, true])
      })
  })

function toDamaged(bytes: Buffer): Buffer {
  const damaged = Buffer.from(bytes)
  damaged[7]! ^= 1
  return damaged
}
