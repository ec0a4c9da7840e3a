import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { beforeEach, describe, test } from 'node:test'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { s3Blobs } from '../../server/blobs/s3/s3.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { S3Target } from '../../server/operations/backup/s3-target.ts'
import { deterministicBytes, readAll, received, toBody, toLocation } from '../blobs/bytes.ts'
import { listen } from '../support/listen.ts'
import { PATIENT } from '../support/patient.ts'

// Answers that Ceph gives to no request of a test, from a server whose handler each test sets.

const LARGE = deterministicBytes('large', 2_500_000)

/** A bucket whose requests have these answers. */
async function startBucket(
  answer: RequestListener,
): Promise<{ blobs: Blobs; bucket: ReturnType<typeof parseBucketUrl> } & AsyncDisposable> {
  const server = createServer((request, response) =>
    request.resume().on('end', () => answer(request, response)),
  )
  const port = await listen(server)
  const bucket = parseBucketUrl(`s3://bucket/?endpoint=http://127.0.0.1:${port}`)
  const blobs = s3Blobs({
    bucket,
    credentials: async () => ({ accessKeyId: 'KEY', secretAccessKey: 'secret' }),
    clock: Date.now,
    metrics: new Metrics(),
    timeouts: PATIENT.blobs,
  })
  return {
    blobs,
    bucket,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const errorBody = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>m</Message></Error>`

describe('an upload in parts', () => {
  let requests: string[] = []
  beforeEach(() => {
    requests = []
  })

  /** A server whose last request of an upload has this answer. */
  const complete = (completion: string) =>
    startBucket(({ method = '', url = '' }, response) => {
      requests.push(method)
      if (method === 'DELETE') response.writeHead(204).end()
      else if (method === 'PUT') response.setHeader('etag', '"a"').end()
      else if (url.endsWith('?uploads='))
        response.end(
          '<InitiateMultipartUploadResult><UploadId>an-upload</UploadId></InitiateMultipartUploadResult>',
        )
      else response.end(completion)
    })

  test('that S3 ends with status 200 and an error is not acknowledged, and its parts are deleted', async () => {
    await using bucket = await complete(errorBody('InternalError'))
    await assert.rejects(bucket.blobs.put(toBody(LARGE), { limit: LARGE.length }), { code: 'UNAVAILABLE' })
    assert.deepEqual(requests, ['POST', 'PUT', 'POST', 'POST', 'DELETE'], 'its end is sent again')
  })

  test('that S3 ends with status 200 and a result is stored', async () => {
    await using bucket = await complete(
      '<CompleteMultipartUploadResult><ETag>"a"</ETag></CompleteMultipartUploadResult>',
    )
    const { size } = await bucket.blobs.put(toBody(LARGE), { limit: LARGE.length })
    assert.equal(size, LARGE.length)
    assert.deepEqual(requests, ['POST', 'PUT', 'POST'])
  })
})

test('files of a bucket that does not exist are unavailable, and a missing object is none', async () => {
  for (const [code, isMissing] of Object.entries({ NoSuchBucket: false, NoSuchKey: true })) {
    await using bucket = await startBucket((_, response) => response.writeHead(404).end(errorBody(code)))
    const location = toLocation({ object: 'an-object', ...received(LARGE), piecesHash: '0'.repeat(64) })
    for (const bytes of [location, { ...location, size: 7, piecesHash: null }])
      for (const read of [() => bucket.blobs.bytes(bytes), () => readAll(bucket.blobs, bytes)])
        if (isMissing) assert.equal(await read(), undefined)
        else await assert.rejects(read(), { code: 'UNAVAILABLE' })
  }
})

test('a full bucket is reported as such', async () => {
  for (const [status, code] of [
    [403, 'QuotaExceeded'],
    [507, 'InsufficientStorage'],
  ] as const) {
    await using bucket = await startBucket((_, response) => response.writeHead(status).end(errorBody(code)))
    const small = Buffer.from('small')
    for (const bytes of [small, LARGE])
      await assert.rejects(bucket.blobs.put(toBody(bytes), { size: bytes.length }), {
        code: 'INSUFFICIENT_STORAGE',
      })
    await assert.rejects(bucket.blobs.putTogether([small]), { code: 'INSUFFICIENT_STORAGE' })
  }
})

test('a backup target has the files of all pages of a list, and all parts of a file', async () => {
  const names = ['contents/aa/1', 'contents/aa/2', 'contents/bb/3']
  const bytes = Buffer.alloc(16 * 2 ** 20 + 1, 'a file of three parts')
  await using server = await startBucket(({ url = '', headers: { range } }, response) => {
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? []
    if (start !== undefined) return response.writeHead(206).end(bytes.subarray(+start, +end! + 1))
    const after = new URL(url, 'http://bucket').searchParams.get('start-after') ?? ''
    const page = names.filter((name) => name > after).slice(0, 2)
    const objects = page.map((name) => `<Contents><Key>${name}</Key><Size>1</Size></Contents>`)
    return response.end(`<ListBucketResult>${objects.join('')}</ListBucketResult>`)
  })
  process.env.AWS_ACCESS_KEY_ID ??= 'KEY'
  process.env.AWS_SECRET_ACCESS_KEY ??= 'secret'
  const target = new S3Target(server.bucket)
  assert.deepEqual(
    (await Array.fromAsync(target.list('contents'))).map(({ name }) => name),
    names,
  )
  const body = await target.read({ name: names[0]!, size: bytes.length })
  assert.ok((await buffer(body!)).equals(bytes))
})

test('the state of a bucket is asked for once in three seconds', async (t) => {
  let requests = 0
  await using bucket = await startBucket((_, response) => {
    requests++
    response.end('<ListBucketResult></ListBucketResult>')
  })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  for (const [at, asked] of [
    [0, 1],
    [2999, 1],
    [3000, 2],
  ] as const) {
    now = at
    await bucket.blobs.check()
    assert.equal(requests, asked, `at ${at} ms`)
  }
})
