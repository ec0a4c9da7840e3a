import { join } from 'node:path'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import { S3Client } from '../../packages/s3-client/client.ts'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { COPYING_BLOBS } from '../../server/lib/deadlines.ts'
import { startCeph } from '../../test/tools/ceph.ts'
import { startPostgres } from '../../test/tools/postgres.ts'
import { startS3Proxy } from '../../test/tools/s3-proxy.ts'
import { type Figure, figure, type Measurement } from '../figures.ts'
import { addedByUploads } from '../memory.ts'
import { type Content, makeContent, publishWithSdk, toFiles, touch } from '../publish-flow.ts'
import { scratchFolder, startServer } from '../server-process.ts'
import { nodeSettings } from './settings.ts'

const FILES = 1000
const BYTES = 10_240
const ROUNDS = 7
const CONCURRENT = 16

const BINARY = 'application/octet-stream'

/** A publish to a bucket, beside a program that only puts the same objects. */
export const s3: Measurement = {
  name: 's3',
  means:
    '1,000 files of 10 kB to a bucket of Ceph, with both stores; beside a program that puts the same objects',
  missing: () => whatIsMissing('postgres') ?? whatIsMissing('ceph'),
  async run({ quick }) {
    await using ceph = await startCeph()
    return [
      ...(await measureTimes(ceph, quick ? 3 : ROUNDS)),
      ...(await countRequests(ceph)),
      ...(await measureMemory(ceph)),
    ]
  },
}

type Ceph = Awaited<ReturnType<typeof startCeph>>

async function measureTimes(ceph: Ceph, rounds: number): Promise<Figure[]> {
  await using postgres = await startPostgres({ isDurable: true })
  await using scratch = await scratchFolder()
  const url = ceph.storageUrl()
  const settings = { BLOBS_URL: url }
  await using embedded = await startServer(join(scratch.path, 'embedded'), { settings })
  await using node = await startServer(join(scratch.path, 'node'), {
    settings: { ...settings, ...(await nodeSettings(await postgres.createDatabase())) },
  })
  const found: Record<'bare' | 'embedded' | 'node', number[]> = { bare: [], embedded: [], node: [] }
  for (let round = 0; round <= rounds; round++) {
    const times = {
      bare: await putObjects(url, round, makeContent(FILES, BYTES)),
      embedded: await publishOnce(embedded.baseUrl),
      node: await publishOnce(node.baseUrl),
    }
    if (round > 0) for (const name of ['bare', 'embedded', 'node'] as const) found[name].push(times[name])
  }
  const ofBare = (times: number[]) => times.map((time, round) => time / found.bare[round]!)
  return [
    figure('1,000 files of 10 kB put by a program without Slipway', 'ms', found.bare),
    figure('published, with the embedded store', 'ms', found.embedded),
    figure('published, with the embedded store, over the program', 'times', ofBare(found.embedded), 1.2),
    figure('published, with PostgreSQL', 'ms', found.node),
    figure('published, with PostgreSQL, over the program', 'times', ofBare(found.node), 1.2),
  ]
}

async function publishOnce(baseUrl: string): Promise<number> {
  return (await publishWithSdk(baseUrl, toFiles(makeContent(FILES, BYTES), BINARY))).milliseconds
}

/** The same objects, as many at the same time. */
async function putObjects(url: string, round: number, content: Content): Promise<number> {
  const client = new S3Client({
    bucket: parseBucketUrl(url),
    timeouts: COPYING_BLOBS,
    credentials: { accessKeyId: 'TESTKEY', secretAccessKey: 'TESTSECRET' },
  })
  const started = performance.now()
  await forEachConcurrent(CONCURRENT, [...content.values()].entries().toArray(), async ([number, bytes]) => {
    await client.send({ kind: 'put', method: 'PUT', object: `bare-${round}-${number}`, body: [bytes] })
  })
  return performance.now() - started
}

async function countRequests(ceph: Ceph): Promise<Figure[]> {
  await using proxy = await startS3Proxy(ceph.endpoint)
  await using scratch = await scratchFolder()
  const settings = { BLOBS_URL: ceph.storageUrl(proxy.endpoint) }
  await using server = await startServer(join(scratch.path, 'data'), { settings })
  const content = makeContent(FILES, BYTES)
  const before = proxy.requests.length
  const { site } = await publishWithSdk(server.baseUrl, toFiles(content, BINARY))
  const published = proxy.requests.length
  touch(content, BYTES)
  await publishWithSdk(server.baseUrl, toFiles(content, BINARY), site)
  return [
    figure('requests to S3, publish of 1,000 files and finalize', 'requests', [published - before], FILES),
    figure('requests to S3, update of one file', 'requests', [proxy.requests.length - published], 1),
  ]
}

async function measureMemory(ceph: Ceph): Promise<Figure[]> {
  await using scratch = await scratchFolder()
  const settings = { BLOBS_URL: ceph.storageUrl() }
  const large = await addedByUploads(join(scratch.path, 'large'), { count: 1, size: 1024, settings })
  const many = await addedByUploads(join(scratch.path, 'many'), { count: 50, size: 20, settings })
  return [
    figure('memory added by uploading a file of 1.07 GB', 'MB', [large.added], 60),
    figure('memory added by 50 parallel uploads of 20 MB', 'MB', [many.added], 150),
  ]
}
