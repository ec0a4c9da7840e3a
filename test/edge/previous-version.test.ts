import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { EdgeFixture } from './fixture.ts'
import { buildTable, describeResponse, getResponse, header, NOW, toStoredFile } from './responses.ts'

const UNTIL = NOW + HOUR_MS

describe('former files', () => {
  const formerFiles =
    'index.html app.old.js old.html old/index.html same.txt now-a-page _redirects caf\u00e9.txt'
      .split(' ')
      .map((path) => ({ ...toStoredFile(path), until: UNTIL }))
  const files = ['index.html', 'app.new.js', 'same.txt', 'now-a-page.html', '404.html']
  const table = (redirects = '', spaMode = false) => buildTable(files, { formerFiles, redirects, spaMode })
  const rows: [string, string, string][] = [
    ['', '/app.old.js', 'app.old.js'],
    ['', '/app.old.js?v=1', 'app.old.js'],
    ['', '/caf%C3%A9.txt', 'caf\u00e9.txt'],
    ['', '/cafe%CC%81.txt', 'caf\u00e9.txt'],
    ['', '/old.html', 'old.html'],
    ['', '/old', '404 404.html'],
    ['', '/old/', '404 404.html'],
    ['', '/old/index.html', 'old/index.html'],
    ['', '/app.new.js', 'app.new.js'],
    ['', '/now-a-page', 'now-a-page.html'],
    ['', '/_redirects', '404 404.html'],
    ['', '/app.older.js', '404 text'],
    ['/* /index.html 200', '/app.old.js', 'app.old.js'],
    ['/* /index.html 200', '/old.html', 'old.html'],
    ['/* /404.html 404', '/old.html', 'old.html'],
    ['/* /index.html 200!', '/old.html', 'index.html'],
    ['/old.html / 301', '/old.html', '→ /'],
    ['/* / 302', '/app.old.js', '→ 302 /'],
    ['/* /index.html 200\n/old.html / 301', '/old.html', 'old.html'],
    ['/x /old.html 200', '/x', '404 404.html'],
  ]
  test('are served where the live version lacks them, before its fallbacks', () => {
    for (const [redirects, target, expected] of rows)
      assert.equal(describeResponse(table(redirects), target), expected, `${target} with ${redirects}`)
  })

  test('take precedence over spaMode', () => {
    assert.equal(describeResponse(table('', true), '/old.html'), 'old.html')
    assert.equal(describeResponse(table('', true), '/now'), 'index.html')
  })

  test('are served like those of the live version', () => {
    const one = table()
    assert.equal(
      header(getResponse(one, '/app.old.js'), 'cache-control'),
      'public, max-age=0, must-revalidate',
    )
    assert.equal(getResponse(one, '/app.old.js', { 'if-none-match': '*' }).status, 304)
    assert.equal(getResponse(one, '/app.old.js', { range: 'bytes=0-1' }).status, 206)
    assert.equal(getResponse(one, '/app.old.js'), getResponse(one, '/app.old.js'))
  })
})

describe('former files, over HTTP', () => {
  const edge = EdgeFixture.shared()

  test('keep open pages working for an hour, cached or not, and no longer', async () => {
    const [warm, cold] = [await edge.createSite(), await edge.createSite()]
    for (const slug of [warm, cold]) {
      await edge.createVersion(slug, { 'index.html': 'one', 'app.1.js': 'one' })
      await edge.createVersion(slug, { 'index.html': 'two', 'app.2.js': 'two' })
    }
    assert.equal((await edge.get(warm, '/app.1.js')).text, 'one')
    edge.clock.now += HOUR_MS - 1
    for (const slug of [warm, cold]) assert.equal((await edge.get(slug, '/app.1.js')).text, 'one')
    assert.equal((await edge.get(warm)).text, 'two')
    edge.clock.now += 1
    for (const slug of [warm, cold]) assert.equal((await edge.get(slug, '/app.1.js')).status, 404)
    edge.edge.invalidate([warm])
    assert.equal((await edge.get(warm, '/app.1.js')).status, 404)
    assert.equal((await edge.get(warm, '/app.2.js')).text, 'two')
  })

  test('stay for their hour, whichever version had them, and however many were published since', async () => {
    const slug = await edge.createSite()
    const publish = (number: number, more = {}) =>
      edge.createVersion(slug, { 'index.html': `${number}`, [`app.${number}.js`]: `${number}`, ...more })
    const status = async (path: string) => (await edge.get(slug, path)).status
    await publish(0, { 'back.js': 'first' })
    for (let number = 1; number <= 12; number++) {
      edge.clock.now += 4 * MINUTE_MS
      await publish(number)
    }
    // The first went away at the first of twelve publishes, 44 minutes ago.
    for (let number = 0; number <= 12; number++)
      assert.equal((await edge.get(slug, `/app.${number}.js`)).text, `${number}`)
    assert.equal((await edge.get(slug, '/back.js')).text, 'first')
    edge.clock.now += 16 * MINUTE_MS
    assert.deepEqual([await status('/app.0.js'), await status('/app.1.js')], [404, 200])
    await publish(13, { 'back.js': 'second' })
    assert.equal((await edge.get(slug, '/back.js')).text, 'second')
    await publish(14)
    assert.equal((await edge.get(slug, '/back.js')).text, 'second')
    assert.deepEqual([await status('/app.1.js'), await status('/app.2.js')], [200, 200])
    edge.clock.now += HOUR_MS
    for (const path of ['/back.js', '/app.2.js', '/app.13.js']) assert.equal(await status(path), 404)
    assert.equal(await status('/app.14.js'), 200)
  })

  test('are found as published and in NFC', async () => {
    const slug = await edge.createSite()
    await edge.createVersion(slug, { 'index.html': 'one', 'cafe\u0301.txt': 'old' })
    await edge.createVersion(slug, { 'index.html': 'two' })
    for (const path of ['/cafe%CC%81.txt', '/caf%C3%A9.txt'])
      assert.equal((await edge.get(slug, path)).text, 'old')
  })

  test('are those of the version that was live before a restore', async () => {
    const slug = await edge.createSite()
    const first = await edge.createVersion(slug, { 'index.html': 'one', 'one.js': 'one' })
    await edge.createVersion(slug, { 'index.html': 'two', 'two.js': 'two' })
    edge.clock.now += 2 * HOUR_MS
    await edge.restore(slug, first)
    assert.equal((await edge.get(slug, '/two.js')).text, 'two')
    edge.clock.now += HOUR_MS
    assert.equal((await edge.get(slug, '/two.js')).status, 404)
  })

  test('have encodings, and require the current password', async () => {
    const slug = await edge.createSite()
    await edge.createVersion(slug, { 'old.js': 'one' }, { encoded: { 'old.js': { br: 'encoded' } } })
    await edge.createVersion(slug, { 'new.js': 'two' })
    const get = () => edge.get(slug, '/old.js', { headers: { 'accept-encoding': 'br' } })
    assert.deepEqual([(await get()).text, (await get()).headers['content-encoding']], ['encoded', 'br'])
    await edge.setPassword(slug, 'open sesame')
    assert.equal((await get()).status, 401)
  })
})
