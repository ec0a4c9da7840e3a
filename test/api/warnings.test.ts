import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PublishWarning } from '../../protocol/api/publish.ts'
import { CliUser } from '../journeys/person.ts'
import { type Account, Api, blobFolder } from './api.ts'
import { type Kind, make, send } from './archive-requests.ts'
import { away } from './away.ts'
import type { Contents } from './content.ts'

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const PAGE = { 'index.html': 'home' }

/** A rule that works and one that cannot. */
const RULES = {
  ...PAGE,
  _redirects: '# what moved\n/old /new\n/a /b 999\n',
  _headers: '/*\n  X-Good: yes\n  Bad Name: no\n',
}

const places = (warnings: PublishWarning[] | undefined) =>
  warnings?.map(({ file, line }) => (line === undefined ? file : `${file}:${line}`))

const PLACES = ['_redirects:3', '_headers:3']

describe('a line of _redirects or _headers that cannot be read', () => {
  test('is named in the answer of finalize, and the site is live with the others', async () => {
    const { siteUrl, warnings } = await api.publish(owner.client, RULES)
    assert.deepEqual(places(warnings), PLACES)
    assert.match(warnings![0]!.message, /999/)
    const moved = await api.visit(siteUrl, '/old')
    assert.deepEqual([moved.status, moved.headers.location], [301, '/new'])
    assert.equal((await api.visit(siteUrl)).headers['x-good'], 'yes')
  })

  test('is named again when finalize is repeated, and when the version is restored', async () => {
    const { slug, versionId, warnings } = await api.publish(owner.client, RULES)
    const again = await owner.client.finalize(slug, { versionId })
    assert.deepEqual([again.replayed, again.warnings], [true, warnings])
    await api.publish(owner.client, PAGE, { slug })
    assert.deepEqual((await owner.client.restore(slug, versionId)).warnings, warnings)
  })

  test('is named for a draft, and once more when that goes live', async () => {
    const draft = await api.publish(owner.client, RULES, { live: false })
    assert.deepEqual(places(draft.warnings), PLACES)
    const { slug, versionId } = draft
    assert.deepEqual((await owner.client.finalize(slug, { versionId })).warnings, draft.warnings)
  })

  for (const kind of ['zip', 'tar', 'tar.gz'] as Kind[]) {
    test(`is named for a ${kind}, new or an update`, async () => {
      const created = await send(api, kind, make(kind, RULES), { key: owner.key })
      assert.equal(created.status, 201, created.text)
      assert.deepEqual(places(created.json.warnings), PLACES)
      const updated = await send(api, kind, make(kind, RULES), { key: owner.key, slug: created.json.slug })
      assert.deepEqual(places(updated.json.warnings), PLACES)
    })
  }

  test('is named when nothing of it had to be uploaded', async () => {
    const { slug, warnings } = await api.publish(owner.client, RULES)
    const second = await api.publish(owner.client, { ...RULES, 'new.txt': 'new' }, { slug })
    assert.equal(second.uploaded, 1)
    assert.deepEqual(second.warnings, warnings)
  })

  test('is no longer named once it is gone', async () => {
    const { slug } = await api.publish(owner.client, RULES)
    const second = await api.publish(owner.client, PAGE, { slug })
    assert.equal('warnings' in second, false)
  })

  test('counts at the root alone', async () => {
    const below: Contents = { ...PAGE, 'docs/_redirects': RULES._redirects, '_headers.txt': RULES._headers }
    assert.equal('warnings' in (await api.publish(owner.client, below)), false)
  })

  test('is shown by the command, in the words of the service', async () => {
    using person = new CliUser(api.baseUrl)
    person.write(Object.fromEntries(Object.entries(RULES).map(([path, text]) => [`site/${path}`, text])))
    const { code, stdout, stderr } = await person.slipway('publish', 'site')
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^http:\S+\n$/)
    assert.match(stderr, /\nCareful: _redirects:3: .*999.*\nCareful: _headers:3: /)
    const { warnings } = JSON.parse((await person.slipway('publish', 'site', '--json')).stdout)
    assert.deepEqual(places(warnings), PLACES)
  })
})

describe('a file of rules that cannot be read at all', () => {
  const files: [what: string, content: string | Buffer, says: RegExp][] = [
    ['is not UTF-8', Buffer.from('/a /b\n\xff\xfe', 'latin1'), /UTF-8/],
    ['is too large', Buffer.alloc(2 ** 20 + 1, '# \n'), /1.?048.?576|MiB/],
  ]
  for (const path of ['_redirects', '_headers']) {
    for (const [what, content, says] of files) {
      test(`is left out with one warning: ${path} ${what}`, async () => {
        const contents = { ...RULES, [path]: content }
        const { siteUrl, warnings } = await api.publish(owner.client, contents)
        const about = warnings!.filter(({ file }) => file === path)
        assert.equal(about.length, 1)
        assert.equal(about[0]!.line, undefined)
        assert.match(about[0]!.message, says)
        assert.equal(warnings!.length, 2, 'the other file is read as ever')
        assert.equal((await api.visit(siteUrl)).text, 'home')
      })
    }
  }
})

test('while bytes cannot be read nothing is half-published, and the same finalize succeeds later', async () => {
  const { slug, siteUrl, versionId } = await api.publish(owner.client, RULES)
  const contents = { ...RULES, 'index.html': 'second' }
  const { upload } = await api.update(owner.client, slug, contents)
  await api.upload(upload, contents)
  const body = { key: owner.key, json: { versionId: upload.versionId } }
  {
    await using _rules = await away(blobFolder(api), RULES._redirects)
    const { status, json } = await api.ask('POST', `/api/v1/publish/${slug}/finalize`, body)
    assert.deepEqual([status, json.code], [503, 'UNAVAILABLE'])
    assert.equal((await owner.client.details(slug)).currentVersionId, versionId)
    assert.equal((await api.visit(siteUrl)).text, 'home')
  }
  const { json } = await api.ask('POST', `/api/v1/publish/${slug}/finalize`, body)
  assert.deepEqual(places(json.warnings), PLACES)
  assert.equal((await api.visit(siteUrl)).text, 'second')
})
