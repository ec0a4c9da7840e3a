import { createHash } from 'node:crypto'
import type { S3Client } from './client.ts'
import { S3Error } from './errors.ts'
import { childText, childTexts, encodeText } from './xml.ts'

/** Objects of one request. */
const MAX_DELETES = 1000
const MAX_LISTED = 1000

interface ListOptions {
  /** Begins the names that are listed. */
  folder?: string
  after?: string
  limit?: number
}

/** Names of objects that follow `after`, in byte order; fewer than `limit` only at the end. */
export async function listObjects(client: S3Client, options: ListOptions): Promise<string[]> {
  return (await listSizes(client, options)).map(({ name }) => name)
}

export async function listSizes(
  client: S3Client,
  { folder = '', after, limit = MAX_LISTED }: ListOptions,
): Promise<{ name: string; size: number }[]> {
  const { prefix } = client.bucket
  const startAfter = after === undefined ? {} : { 'start-after': `${prefix}${after}` }
  const about = { 'list-type': '2', 'max-keys': `${limit}`, 'encoding-type': 'url' }
  const query = { ...about, prefix: `${prefix}${folder}`, ...startAfter }
  // Of a list that is cut off, or of an error with status 200, the rest would count as absent.
  const verify = (body: Buffer) => body.includes('</ListBucketResult>')
  const { body } = await client.send({ kind: 'list', method: 'GET', query, verify })
  const text = body.toString()
  const isEncoded = childText(text, 'EncodingType') === 'url'
  const objects = childTexts(text, 'Contents').map((object) => {
    const given = childText(object, 'Key') ?? ''
    const key = isEncoded ? decodeURIComponent(given.replaceAll('+', ' ')) : given
    return { name: key.slice(prefix.length), size: Number(childText(object, 'Size')) }
  })
  // A server that does not continue after the last name would never come to an end.
  return after === undefined ? objects : objects.filter(({ name }) => name > after)
}

/** Absent objects are ignored. Rejects after all requests when one of them failed. */
export async function removeObjects(client: S3Client, objects: readonly string[]): Promise<void> {
  const failures: unknown[] = []
  for (let at = 0; at < objects.length; at += MAX_DELETES)
    await removePage(client, objects.slice(at, at + MAX_DELETES)).catch((error: unknown) =>
      failures.push(error),
    )
  if (failures.length > 0) throw failures[0]
}

async function removePage(client: S3Client, objects: readonly string[]): Promise<void> {
  const { prefix } = client.bucket
  const keys = objects.map((object) => `<Object><Key>${encodeText(`${prefix}${object}`)}</Key></Object>`)
  const body = Buffer.from(`<Delete><Quiet>true</Quiet>${keys.join('')}</Delete>`)
  const { body: response } = await client.send({
    kind: 'delete',
    method: 'POST',
    query: { delete: '' },
    headers: { 'content-md5': createHash('md5').update(body).digest('base64') },
    body: [body],
    // Of a result that is cut off, the missing errors would count as deletions. Without errors it may be one empty element.
    verify: (result) => /<\/DeleteResult>|<DeleteResult[^<>]*\/>/.test(result.toString()),
  })
  const errors = response.toString().split('<Error>').slice(1)
  const failed = errors.find((error) => childText(error, 'Code') !== 'NoSuchKey')
  if (failed !== undefined) throw new S3Error(503, Buffer.from(failed))
}
