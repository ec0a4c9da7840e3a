import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationTarget } from '../../client/sdk/operation.ts'
import type { AnyCall } from '../../client/sdk/options.ts'
import type { OperationId } from '../../protocol/api/paths.ts'

const CASES: [OperationId, AnyCall, string][] = [
  ['getSite', { params: { slug: 'bakery' } }, 'GET /api/v1/publish/bakery'],
  [
    'getPreview',
    { params: { slug: 'a', name: 'feature/x?y#z' } },
    'GET /api/v1/publish/a/previews/feature%2Fx%3Fy%23z',
  ],
  ['checkDomain', { params: { domain: 'a b' } }, 'GET /api/v1/domains/a%20b'],
  [
    'downloadFile',
    { params: { slug: 'a', '*': 'img/50 % off?.png' }, query: { versionId: undefined } },
    'GET /api/v1/publish/a/files/img/50%20%25%20off%3F.png',
  ],
  [
    'listSites',
    { query: { limit: 2, q: 'a&b', deleted: false } },
    'GET /api/v1/publishes?limit=2&q=a%26b&deleted=false',
  ],
]

test('the SDK encodes parameters into the path; only the slashes of the path of a file stay', () => {
  for (const [id, call, expected] of CASES) {
    const { method, path } = operationTarget(id, call)
    assert.equal(`${method} ${path}`, expected)
  }
})
