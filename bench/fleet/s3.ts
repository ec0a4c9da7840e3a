import { join } from 'node:path'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import { S3Client } from '../../packages/s3-client/client.ts'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { COPYING_BLOBS } from '../../server/lib/deadlines.ts'
import { startCeph } from '../../test/tools/ceph.ts'
import { startS3Proxy } from '../../test/tools/s3-proxy.ts'
import { type Figure, figure, type Measurement } from '../figures.ts'
import { addedByUploads } from '../memory.ts'
import { type Content, makeContent, publishWithSdk, toFiles, touch } from '../publish-flow.ts'
import { scratchFolder, startServer } from '../server-process.ts'

const FILES = 1000
const BYTES = 10_240
const ROUNDS = 7
const CONCURRENT = 16

const BINARY = 'application/octet-stream'

/** A publish to a bucket, beside a program that only puts the same objects. */
export const s3: Measurement = {
  name: 's3',
  means:
    '1,000 files of 10 kB to a bucket of Ceph; beside a program that puts the same objects, and its requests',
  missing: () => whatIsMissing('ceph'),
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
  await using scratch = await scratchFolder()
  const url = ceph.storageUrl()
  const settings = { BLOBS_URL: url }
  await using server = await startServer(join(scratch.path, 'data'), { settings })
  const bare: number[] = []
  const published: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const content = makeContent(FILES, BYTES)
    const bareMs = await putObjects(url, round, content)
    const { milliseconds } = await publishWithSdk(server.baseUrl, toFiles(content, BINARY))
    if (round === 0) continue
    bare.push(bareMs)
    published.push(milliseconds)
  }
  const ratios = published.map((time, round) => time / bare[round]!)
  return [
    figure('1,000 files of 10 kB put by a program without Slipway', 'ms', bare),
    figure('published', 'ms', published),
    figure('published, over the program', 'times', ratios, 1.25),
  ]
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
