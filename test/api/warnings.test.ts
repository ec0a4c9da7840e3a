import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PublishWarning } from '../../protocol/api/publish.schema.ts'
import { pluck } from '../support/pluck.ts'
import { startApi } from './api.ts'
import { makeUnreadable } from './unreadable-blob.ts'

const api = await startApi()
const owner = await api.account()

const PAGE = { 'index.html': 'home' }

/** A valid rule and an invalid one. */
const RULES = {
  ...PAGE,
  _redirects: '# what moved\n/old /new\n/a /b 999\n',
  _headers: '/*\n  X-Good: yes\n  Bad Name: no\n',
}

const places = (warnings: PublishWarning[] | undefined) =>
  warnings?.map(({ file, line }) => (line === undefined ? file : `${file}:${line}`))

const PLACES = ['_redirects:3', '_headers:3']

describe('an invalid line of _redirects or _headers', () => {
  test('is reported by finalize, and the site is live with the other rules', async () => {
    const { siteUrl, warnings } = await api.publish(owner.client, RULES)
    assert.deepEqual(places(warnings), PLACES)
    assert.match(warnings![0]!.message, /999/)
    const moved = await api.visit(siteUrl, '/old')
    assert.deepEqual([moved.status, moved.headers.location], [301, '/new'])
    assert.equal((await api.visit(siteUrl)).headers['x-good'], 'yes')
  })

  test('is reported when the file is unchanged and not uploaded, until it is removed', async () => {
    const { slug, warnings } = await api.publish(owner.client, RULES)
    const second = await api.publish(owner.client, { ...RULES, 'new.txt': 'new' }, { slug })
    assert.equal(second.uploaded, 1)
    assert.deepEqual(second.warnings, warnings)
    assert.equal('warnings' in (await api.publish(owner.client, PAGE, { slug })), false)
  })
})

const files: [what: string, content: string | Buffer, message: RegExp][] = [
  ['is not UTF-8', Buffer.from('/a /b\n\xff\xfe', 'latin1'), /UTF-8/],
  ['is too large', Buffer.alloc(2 ** 20 + 1, '# \n'), /larger than 1 MB/],
]
test('a rules file that cannot be read is ignored with one warning', async () => {
  for (const path of ['_redirects', '_headers'])
    for (const [what, content, message] of files) {
      const { siteUrl, warnings } = await api.publish(owner.client, { ...RULES, [path]: content })
      const about = warnings!.filter(({ file }) => file === path)
      assert.deepEqual(pluck(about, 'line'), [undefined], `${path} ${what}`)
      assert.match(about[0]!.message, message)
      assert.equal(warnings!.length, 2, 'the other file is still read')
      assert.equal((await api.visit(siteUrl)).text, 'home')
    }
})

test('a finalize that cannot read a blob publishes nothing, and succeeds when it is repeated later', async () => {
  const { slug, siteUrl, versionId } = await api.publish(owner.client, RULES)
  const contents = { ...RULES, 'index.html': 'second' }
  const { upload } = await api.update(owner.client, slug, contents)
  await api.upload(upload, contents)
  const body = { key: owner.key, json: { versionId: upload.versionId } }
  {
    using _rules = makeUnreadable(api, RULES._redirects)
    const { status, json } = await api.request('POST', `/api/v1/publish/${slug}/finalize`, body)
    assert.deepEqual([status, json.code], [503, 'UNAVAILABLE'])
    assert.equal((await owner.client.details(slug)).currentVersionId, versionId)
    assert.equal((await api.visit(siteUrl)).text, 'home')
  }
  const { json } = await api.request('POST', `/api/v1/publish/${slug}/finalize`, body)
  assert.deepEqual(places(json.warnings), PLACES)
  assert.equal((await api.visit(siteUrl)).text, 'second')
})
