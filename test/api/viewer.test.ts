import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Account, Api } from './api.ts'

const MIB = 2 ** 20

let api: Api
let owner: Account
before(async () => {
  api = await Api.start({
    ANONYMOUS_FILE_BYTES: `${2 * MIB}`,
    ANONYMOUS_SITE_BYTES: `${3 * MIB}`,
    FILE_BYTES: `${2 ** 30}`,
    SITE_BYTES: `${1.5 * 2 ** 30}`,
  })
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const PAGE = { path: 'index.html', size: 5, contentType: 'text/html' }

/** Sends a manifest with these entries. */
function send(files: unknown, more: object = {}) {
  return api.request('POST', '/api/v1/publish', { key: owner.key, json: { files, ...more } })
}

const EMOJI = '😀'

describe('the metadata of a site', () => {
  const picture = { path: 'card.png', size: 3, contentType: 'image/png' }
  const details = async (more: object) => {
    const answer = await send([PAGE, picture], more)
    assert.equal(answer.status, 201, answer.text)
    const { slug, upload } = answer.json
    await api.upload(upload, { 'index.html': 'hello', 'card.png': 'png' })
    await owner.client.finalize(slug, upload)
    const { title, description, ogImagePath, spaMode } = await owner.client.details(slug)
    return { title, description, ogImagePath, spaMode }
  }

  const metadata = { title: 'T', description: 'D', ogImagePath: 'card.png', spaMode: true }
  const other = { title: 'other', description: 'other', ogImagePath: 'nowhere.png', spaMode: false }
  const nothing = { title: null, description: null, ogImagePath: null, spaMode: false }

  test('is read at the top level', async () => assert.deepEqual(await details(metadata), metadata))
  test('is read in viewer', async () => assert.deepEqual(await details({ viewer: metadata }), metadata))
  test('is read from the top level where both have a field', async () => {
    assert.deepEqual(await details({ ...metadata, viewer: other }), metadata)
    assert.deepEqual(await details({ title: 'T', viewer: { ...metadata, title: 'no' } }), metadata)
  })
  test('is empty by default', async () => assert.deepEqual(await details({}), nothing))
  test('can be null, which is empty', async () => {
    assert.deepEqual(await details({ title: null, description: null, ogImagePath: null }), nothing)
    assert.deepEqual(await details({ title: null, viewer: { title: 'T' } }), nothing)
  })

  const limits: [field: string, value: unknown, valid: boolean][] = [
    ['title', 't'.repeat(200), true],
    ['title', 't'.repeat(201), false],
    ['title', EMOJI.repeat(200), true],
    ['title', EMOJI.repeat(201), false],
    ['title', 5, false],
    ['title', ['t'], false],
    ['description', 'd'.repeat(500), true],
    ['description', 'd'.repeat(501), false],
    ['description', EMOJI.repeat(500), true],
    ['description', {}, false],
    ['ogImagePath', 'card.png', true],
    ['ogImagePath', 'index.html', false],
    ['ogImagePath', 'nowhere.png', false],
    ['ogImagePath', '/card.png', false],
    ['ogImagePath', 5, false],
    ['spaMode', true, true],
    ['spaMode', 'true', false],
    ['spaMode', 1, false],
    ['ttlSeconds', 60, true],
    ['ttlSeconds', 59, false],
    ['ttlSeconds', 31_536_000, true],
    ['ttlSeconds', 31_536_001, false],
    ['ttlSeconds', 60.5, false],
    ['ttlSeconds', '60', false],
    ['ttlSeconds', null, true],
    ['baseVersionId', 5, false],
    ['claimToken', 5, false],
    ['viewer', 'T', false],
    ['viewer', [], false],
  ]
  for (const [field, value, valid] of limits) {
    const shown = JSON.stringify(value)
    test(`${field}: ${shown.length > 30 ? `${[...shown].length - 2} characters` : shown} is ${valid ? 'fine' : 'refused'}`, async () => {
      const isTop = ['baseVersionId', 'claimToken', 'viewer'].includes(field)
      const places = isTop ? [{ [field]: value }] : [{ [field]: value }, { viewer: { [field]: value } }]
      for (const place of places) {
        const answer = await send([PAGE, picture], place)
        assert.equal(answer.status, valid ? 201 : 400, answer.text)
        if (!valid) assert.match(answer.json.details[0].field, new RegExp(`^(viewer\\.)?${field}$`))
      }
    })
  }
})
