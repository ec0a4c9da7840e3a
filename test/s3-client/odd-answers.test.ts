import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import { S3Client } from '../../packages/s3-client/client.ts'
import { outcomeOf, S3Error, S3TimeoutError } from '../../packages/s3-client/errors.ts'
import { listSizes, removeObjects } from '../../packages/s3-client/listing.ts'
import { MultipartUpload } from '../../packages/s3-client/multipart.ts'
import { COPYING_BLOBS } from '../../server/lib/deadlines.ts'
import { PATIENT } from '../support/patient.ts'

type Answer = [status: number, body?: string, headers?: Record<string, string>]

const ERROR = '<Error><Code>InternalError</Code><Message>m</Message></Error>'
const CONTENTS = '<Contents><Key>a</Key><Size>1</Size></Contents>'
const BEGUN: Answer = [
  200,
  '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>',
]
const MD5 = '5d41402abc4b2a76b9719d911017c592'

const list = (client: S3Client) => listSizes(client, {})
const remove = (client: S3Client) => removeObjects(client, ['a', 'b'])
const upload = (client: S3Client) =>
  client.upload({ kind: 'put', method: 'PUT', object: 'a' }, 5, [Buffer.from('hello')].values() as never)
async function multipart(client: S3Client) {
  const parts = await MultipartUpload.begin(client, 'a')
  await parts.put([Buffer.from('hello')])
  await parts.complete()
}

const [DONE, BROKEN] = ['succeeds', 'fails'] as const
const PUT: Answer = [200, '', { etag: '"e"' }]

// biome-ignore format: a table reads best a row a line
const CASES: [what: string, work: (client: S3Client) => Promise<unknown>, typeof DONE | typeof BROKEN, ...answers: Answer[]][] = [
  ['a list', list, DONE, [200, `<ListBucketResult>${CONTENTS}</ListBucketResult>`]],
  ['a list that is cut off between two names', list, BROKEN, [200, `<ListBucketResult>${CONTENTS}`]],
  ['a list that is cut off within a name', list, BROKEN, [200, `<ListBucketResult>${CONTENTS}<Contents><Key>`]],
  ['an empty body for a list', list, BROKEN, [200]],
  ['an error with status 200 for a list', list, BROKEN, [200, ERROR]],
  ['a list after one that was cut off', list, DONE, [200, '<ListBucketResult>'], [200, `<ListBucketResult>${CONTENTS}</ListBucketResult>`]],
  ['a deletion', remove, DONE, [200, '<DeleteResult></DeleteResult>']],
  ['a deletion with one empty element', remove, DONE, [200, '<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>']],
  ['a deletion that is cut off before its errors', remove, BROKEN, [200, '<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">']],
  ['an empty body for a deletion', remove, BROKEN, [200]],
  ['a deletion after one that was cut off', remove, DONE, [200, '<DeleteResult>'], [200, '<DeleteResult></DeleteResult>']],
  ['a deletion of an absent object', remove, DONE, [200, '<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error></DeleteResult>']],
  ['a deletion of which one failed', remove, BROKEN, [200, '<DeleteResult><Error><Key>a</Key><Code>AccessDenied</Code></Error></DeleteResult>']],
  ['a deletion of an absent object and one that failed', remove, BROKEN, [200, '<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error><Error><Key>b</Key><Code>AccessDenied</Code></Error></DeleteResult>']],
  ['a deletion whose errors are cut off', remove, BROKEN, [200, '<DeleteResult><Error><Key>a</Key><Code>Acc']],
  ['an error with status 200 for a deletion', remove, BROKEN, [200, ERROR]],
  ['an upload with the MD5 as its tag', upload, DONE, [200, '', { etag: `"${MD5}"` }]],
  ['an upload without a tag', upload, DONE, [200]],
  ['an upload with a tag that is no MD5', upload, DONE, [200, '', { etag: `"${MD5}-1"` }]],
  ['an upload that is encrypted with a key of its own', upload, DONE, [200, '', { etag: `"${'0'.repeat(32)}"`, 'x-amz-server-side-encryption': 'aws:kms' }]],
  ['an upload with the MD5 of other bytes', upload, BROKEN, [200, '', { etag: `"${'0'.repeat(32)}"` }]],
  ['an upload in parts', multipart, DONE, BEGUN, PUT, [200, '<CompleteMultipartUploadResult/>']],
  ['an upload in parts without an id', multipart, BROKEN, [200, '<InitiateMultipartUploadResult/>']],
  ['an error with status 200 for the begin of an upload in parts', multipart, BROKEN, [200, ERROR]],
  ['an error with status 200 for the end of an upload in parts', multipart, BROKEN, BEGUN, PUT, [200, ERROR]],
  ['the end of an upload in parts after an error with status 200', multipart, DONE, BEGUN, PUT, [200, ERROR], [200, '<CompleteMultipartUploadResult/>']],
  ['an empty body for the end of an upload in parts', multipart, BROKEN, BEGUN, PUT, [200]],
]

/** `answer` sends a response after the body of the request. */
async function startBucket(answer: (response: ServerResponse) => void, timeouts = PATIENT.blobs) {
  const server = createServer(async (request, response) => {
    await request.resume().toArray()
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = new S3Client({
    bucket: parseBucketUrl(`s3://bucket/?endpoint=http://127.0.0.1:${port}`),
    credentials: { accessKeyId: 'KEY', secretAccessKey: 'secret' },
    timeouts,
  })
  return {
    client,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

for (const [what, work, outcome, ...answers] of CASES)
  test(`${what} ${outcome}`, async () => {
    await using bucket = await startBucket((response) => {
      const [status, body = '', headers = {}] = answers.length > 1 ? answers.shift()! : answers[0]!
      response.writeHead(status, headers).end(body)
    })
    if (outcome === DONE) await work(bucket.client)
    else await assert.rejects(work(bucket.client))
  })

test('objects beyond one request are deleted although the first request is refused', async () => {
  let requests = 0
  await using bucket = await startBucket((response) => {
    if (++requests === 1) response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
    else response.writeHead(200).end('<DeleteResult></DeleteResult>')
  })
  const objects = Array.from({ length: 1001 }, (_, number) => `object ${number}`)
  await assert.rejects(removeObjects(bucket.client, objects), { code: 'AccessDenied' })
  assert.equal(requests, 2)
})

test('a response that never ends although bytes arrive fails at the limit of an exchange, which copies do not have', async () => {
  const drips: NodeJS.Timeout[] = []
  const trickle = (response: ServerResponse) => void drips.push(setInterval(() => response.write(' '), 10))
  await using bucket = await startBucket(trickle, { ...PATIENT.blobs, exchange: 100 })
  await assert.rejects(list(bucket.client), S3TimeoutError)
  for (const drip of drips) clearInterval(drip)
  assert.ok(COPYING_BLOBS.exchange >= 60 * 60_000)
})

for (const [status, code, outcome] of [
  [403, 'InvalidAccessKeyId', 'refused'],
  [404, 'NoSuchBucket', 'refused'],
  [404, 'NoSuchKey', 'not_found'],
  [416, 'InvalidRange', 'wrong_bytes'],
  [403, 'InvalidObjectState', 'wrong_bytes'],
  [400, 'RequestTimeout', 'stopped'],
  [503, 'SlowDown', 'throttled'],
  [500, 'InternalError', 'server_error'],
] as const)
  test(`an answer ${status} ${code} is counted as ${outcome}`, () => {
    assert.equal(outcomeOf(new S3Error(status, Buffer.from(`<Error><Code>${code}</Code></Error>`))), outcome)
  })
