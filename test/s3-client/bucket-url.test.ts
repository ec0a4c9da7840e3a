import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'

const CASES: [url: string, endpoint: string, prefix: string, isPathStyle: boolean][] = [
  ['s3://bucket?region=eu-central-1', 'https://s3.eu-central-1.amazonaws.com/', '', false],
  ['s3://bucket/a/b/?region=eu-central-1', 'https://s3.eu-central-1.amazonaws.com/', 'a/b/', false],
  ['s3://dotted.name/p?region=us-east-1', 'https://s3.us-east-1.amazonaws.com/', 'p/', true],
  ['s3://bucket?endpoint=http://127.0.0.1:9000', 'http://127.0.0.1:9000/', '', true],
  ['s3://bucket?endpoint=https%3A%2F%2Fminio.example&region=home', 'https://minio.example/', '', true],
]

for (const [url, endpoint, prefix, isPathStyle] of CASES) {
  test(`${url} is ${endpoint}, ${isPathStyle ? 'path style' : 'virtual host'}`, () => {
    const bucket = parseBucketUrl(url)
    assert.deepEqual(
      { endpoint: bucket.endpoint.href, prefix: bucket.prefix, isPathStyle: bucket.isPathStyle },
      { endpoint, prefix, isPathStyle },
    )
    assert.equal(url.includes(bucket.name), true)
  })
}
