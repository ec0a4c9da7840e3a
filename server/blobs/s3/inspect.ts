import { hash } from 'node:crypto'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { parseBucketUrl } from '../../../packages/s3-client/bucket-url.ts'
import { S3Client, type S3ClientOptions } from '../../../packages/s3-client/client.ts'
import { S3Error } from '../../../packages/s3-client/errors.ts'
import { listObjects, removeObjects } from '../../../packages/s3-client/listing.ts'
import { COPYING_BLOBS } from '../../lib/deadlines.ts'
import { createObjectName } from '../blobs.ts'

export interface BucketFacts {
  /** What works, in the order in which it was tried. */
  works: readonly string[]
  /** The first that does not, and the reason. */
  failed: { action: string; reason: string } | undefined
  /** Whether the server refuses bytes that differ from their signed hash; undefined when that was not tried. */
  comparesHashes: boolean | undefined
}

const CONTENT = Buffer.from('An object of slipway-server check, which deletes it.\n')

export async function inspectBucket(url: string): Promise<BucketFacts> {
  const bucket = parseBucketUrl(url)
  const client = new S3Client({ bucket, credentials: defaultProvider(), timeouts: COPYING_BLOBS })
  const object = createObjectName(Date.now())
  const works: string[] = []
  let comparesHashes: boolean | undefined
  const actions: [name: string, run: () => Promise<void>][] = [
    ['put', () => put(client, object)],
    ['read', () => read(client, object, 0, CONTENT.length)],
    ['read a range', () => read(client, object, 3, 9)],
    [
      'list',
      async () => {
        // The name that precedes it: the last character is a hexadecimal digit.
        const page = await listObjects(client, { after: object.slice(0, -1), limit: 1 })
        if (page[0] !== object) throw new Error('the new object is not in the list')
      },
    ],
    [
      'compare hashes',
      async () => {
        comparesHashes = await refusesWrongHash(client, object)
      },
    ],
    ['delete', () => removeObjects(client, [object])],
  ]
  for (const [action, run] of actions) {
    try {
      await run()
      works.push(action)
    } catch (error) {
      return { works, failed: { action, reason: (error as Error).message }, comparesHashes }
    }
  }
  return { works, failed: undefined, comparesHashes }
}

/** False also where the bucket cannot be listed. */
export async function hasObjects(url: string, timeouts: S3ClientOptions['timeouts']): Promise<boolean> {
  const client = new S3Client({ bucket: parseBucketUrl(url), credentials: defaultProvider(), timeouts })
  return listObjects(client, { limit: 1 }).then(
    (page) => page.length > 0,
    () => false,
  )
}

async function put(client: S3Client, object: string): Promise<void> {
  await client.send({ kind: 'put', method: 'PUT', object, body: [CONTENT] })
}

async function read(client: S3Client, object: string, start: number, end: number): Promise<void> {
  const headers = { range: `bytes=${start}-${end - 1}` }
  const { body } = await client.send({ kind: 'get', method: 'GET', object, headers })
  if (!body.equals(CONTENT.subarray(start, end))) throw new Error('the server returned other bytes')
}

/** Tries to replace the object: a server that compares hashes keeps it. */
async function refusesWrongHash(client: S3Client, object: string): Promise<boolean> {
  const bodyHash = hash('sha256', 'other bytes')
  try {
    await client.send({ kind: 'put', method: 'PUT', object, body: [CONTENT], bodyHash })
    return false
  } catch (error) {
    if (error instanceof S3Error && error.status === 400) return true
    throw error
  }
}
