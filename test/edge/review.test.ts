import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { extendPolicies } from '../../server/edge/review.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { toFiles } from '../api/content.ts'
import { openBrowser } from '../support/browser.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'

const service = await startTestService({}, Date.now(), { scheduledSweeps: [] })
after(() => service[Symbol.asyncDispose]())
const client = service.client(await service.signIn('ann@example.test'))
const origin = new URL(service.baseUrl).origin

const PAGE = '<!doctype html><p>1'
const TAG =
  /\n<script src="\/_slipway\/review.js" type="module" integrity="(sha256-[^"]+)" async><\/script>\n$/

/** A site with a review of its live version. */
async function startSite(headers = '/*\n  X-Frame-Options: DENY\n', page = PAGE) {
  const files = toFiles({ 'index.html': page, 'a.txt': 'text', _headers: headers })
  const { slug } = await client.publish({ files })
  const review = client.review(slug)
  /** The frame of the review, as a browser requests it there. */
  const getFrame = async () => new URL((await review.get()).frame.url).hostname.split('.')[0]!
  const get = (label: string, path = '/', fetched: string | null = 'iframe') =>
    sendRequest(service.port, {
      site: label,
      path,
      headers: fetched === null ? {} : { 'sec-fetch-dest': fetched },
    })
  return { slug, review, getFrame, get, grant: await getFrame() }
}

describe('the frame of a review', () => {
  test('has the script in its documents, and everything else has the bytes as they were published', async () => {
    const { slug, get, grant } = await startSite()
    const framed = await get(grant)
    assert.match(framed.text, TAG)
    assert.ok(framed.text.startsWith(PAGE))
    const policies = framed.headers['content-security-policy']
    assert.deepEqual([framed.headers['x-frame-options'], policies], [undefined, `frame-ancestors ${origin}`])
    assert.equal(framed.headers['cache-control'], 'private, no-store')
    for (const [label, path, fetched] of [
      [grant, '/', null],
      [grant, '/', 'document'],
      [grant, '/', 'empty'],
      [slug, '/', 'iframe'],
    ] as const)
      assert.equal((await get(label, path, fetched)).text, PAGE, `${label} ${fetched}`)
    assert.equal((await get(grant, '/a.txt')).text, 'text')
    assert.equal((await get(slug)).headers['x-frame-options'], 'DENY')
    assert.equal((await get(grant, '/_slipway/review.js', 'script')).status, 200)
    assert.equal((await get(slug, '/_slipway/review.js', 'script')).status, 404)
    assert.ok((await get(grant, '/_slipway/review.js', 'script')).text.length <= 6144)
  })

  test('has the script in a page that the service generates', async () => {
    const { slug, get, getFrame } = await startSite()
    await client.publish({ slug, files: toFiles({ 'README.md': '# Notes' }) })
    const { text, headers } = await get(await getFrame())
    assert.match(text, /<h1 id="notes">Notes<\/h1>/)
    const [, integrity] = TAG.exec(text)!
    assert.match(`${headers['content-security-policy']}`, /default-src 'none'; .*; script-src-elem 'sha256-/)
    assert.ok(`${headers['content-security-policy']}`.includes(`script-src-elem '${integrity}'`))
    assert.doesNotMatch((await get(slug)).text, TAG)
  })

  test('is shown with a password, and ends after 30 minutes, with a link, the password or the version', async () => {
    const { slug, get, getFrame, review } = await startSite()
    const { id } = await review.createLink()
    await client.setMetadata(slug, { password: 'secret' })
    const [grant, other] = [await getFrame(), await startSite()]
    assert.equal((await get(grant)).status, 200)
    assert.equal((await get(slug)).status, 401)
    const wrong = grant.replace(slug, other.slug)
    assert.notEqual((await get(wrong)).status, 200, 'of another site')
    await review.revokeLink(id)
    assert.notEqual((await get(grant)).status, 200, 'after a link was revoked')
    const next = await getFrame()
    assert.equal((await get(next)).status, 200)
    await client.setMetadata(slug, { password: 'another' })
    assert.notEqual((await get(next)).status, 200, 'after the password changed')
    const last = await getFrame()
    assert.equal((await get(last)).status, 200)
    service.clock.now += 31 * MINUTE_MS
    assert.equal((await get(last)).status, 404, 'after 30 minutes')
    const ofVersion = await getFrame()
    const { versionId } = await review.get()
    await client.publish({ slug, files: toFiles({ 'index.html': 'another version' }) })
    assert.equal((await get(ofVersion)).status, 200, 'while another version is live')
    await client.deleteVersion(slug, versionId)
    assert.notEqual((await get(ofVersion)).status, 200, 'after the version was deleted')
  })

  // The hash, or the URL where a hash would end what the site allows.
  const script = { source: "'sha256-x'", url: 'http://h/s.js' }
  for (const [policy, expected] of [
    ["default-src 'self'", ["default-src 'self'; script-src-elem 'self' 'sha256-x'"]],
    ["default-src 'none'; img-src *", ["default-src 'none'; img-src *; script-src-elem 'sha256-x'"]],
    ["script-src 'none'", ["script-src 'sha256-x'"]],
    ["script-src 'unsafe-inline'", ["script-src 'unsafe-inline' http://h/s.js"]],
    ["script-src 'unsafe-inline' 'nonce-1'", ["script-src 'unsafe-inline' 'nonce-1' 'sha256-x'"]],
    ["Script-Src 'nonce-1' 'strict-dynamic'", ["Script-Src 'nonce-1' 'strict-dynamic' 'sha256-x'"]],
    ["script-src *; script-src-elem 'self'", ["script-src *; script-src-elem 'self' 'sha256-x'"]],
    ["img-src 'self'", ["img-src 'self'"]],
    ['sandbox allow-scripts', ['sandbox allow-scripts']],
    ["sandbox; script-src 'self'", ["sandbox; script-src 'self' 'sha256-x'"]],
    ["frame-ancestors 'none'", []],
    ["frame-ancestors 'none'; img-src *", ['img-src *']],
    ["img-src *, script-src 'self'", ['img-src *', "script-src 'self' 'sha256-x'"]],
  ] as const)
    test(`is allowed to run the script by "${policy}"`, () => {
      assert.deepEqual(extendPolicies(policy, script), expected)
    })

  test('runs the script under the strict policies of a site', requires('chromium'), async () => {
    await using browser = await openBrowser()
    for (const policy of [
      "default-src 'none'",
      "script-src 'self'",
      "script-src 'unsafe-inline'",
      "script-src 'nonce-1' 'strict-dynamic'",
    ]) {
      const { review } = await startSite(`/*\n  Content-Security-Policy: ${policy}\n`)
      const { url } = await review.createLink()
      const { page } = browser
      await page.goto(url)
      await page.getByLabel('Your name').fill('Bea')
      await page.getByRole('button', { name: 'Comment', exact: true }).click()
      await page.frameLocator('iframe').getByText('1', { exact: true }).click()
      await page.getByLabel('Comment', { exact: true }).waitFor()
    }
  })

  test('shows a page whose policy blocks the script without marks', requires('chromium'), async () => {
    const meta = `<meta http-equiv="Content-Security-Policy" content="script-src 'none'">`
    await using browser = await openBrowser()
    const { page } = browser
    await page.clock.install()
    for (const [policy, html] of [
      ['sandbox', PAGE],
      ['sandbox allow-scripts', PAGE],
      ['img-src *', `<!doctype html>${meta}<p>1`],
    ] as const) {
      const { review } = await startSite(`/*\n  Content-Security-Policy: ${policy}\n`, html)
      await page.goto((await review.createLink()).url)
      await page.frameLocator('iframe').getByText('1', { exact: true }).waitFor()
      await page.clock.fastForward(5000)
      await page.getByText('This page shows no marks.').waitFor()
      await page.getByLabel('Your name').fill('Bea')
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Approved', { exact: true }).waitFor()
    }
  })

  test('of a hostile page can state a place, and nothing else', requires('chromium'), async () => {
    const attack = `<script>
      const [seen, tried] = [[], []]
      addEventListener('message', (event) => {
        seen.push(JSON.stringify(event.data))
        const [port] = event.ports
        if (!port) return
        globalThis.port = port
        const lie = (text) => port.postMessage({ type: 'place', place: { path: '/', selector: 'p', text, before: '', after: '', width: 1, height: 1, more: 'x' } })
        port.addEventListener('message', ({ data }) => {
          seen.push(JSON.stringify(data))
          if (data.type === 'mode') lie(data.commenting ? '<b>a lie</b>' : 'a place that was not requested')
          if (data.type === 'marks') for (const { id } of data.marks)
            for (let count = 0; count < 20; count++) port.postMessage({ type: 'placed', placed: [], missing: [id] })
        })
        port.postMessage({ type: 'ready', path: '/' })
        port.start()
        for (const message of [null, 5, { type: 'decide', decision: 'approved' }, { type: 'resolve' }, { type: 'open', id: 'x'.repeat(100) },
          { type: 'placed', placed: ['a'], missing: [{}] }, { type: 'ready', path: 'x'.repeat(5000) },
          { type: 'place', place: { path: '/', selector: 'x'.repeat(5000) } }]) port.postMessage(message)
      }, true)
      for (const attempt of [() => (top.location.href = 'https://attacker.test/'), () => parent.document.title, () => open('https://attacker.test/')])
        try { tried.push(String(attempt())) } catch ({ name }) { tried.push(name) }
      Object.assign(globalThis, { seen, tried })
    </script><p>a page</p>`
    const { slug, review, grant } = await startSite('/*\n  X-A: 1\n', `<!doctype html>${attack}`)
    const { versionId } = await review.get()
    const place = { path: '/', selector: 'p', text: 'a page', before: '', after: '', width: 9, height: 9 }
    await review.createThread({ versionId, place, text: 'secret words', name: 'Secret Name' })
    await using browser = await openBrowser()
    const { page } = browser
    const { url } = await review.createLink()
    let reports = 0
    page.on('request', (request) => void (request.url().endsWith('/placements') && reports++))
    await page.goto(url)
    await page.getByLabel('Your name').fill('Guest Name')
    await page.getByRole('button', { name: 'Outdated 1' }).waitFor()
    assert.equal(await page.getByLabel('Comment', { exact: true }).count(), 0, 'only while commenting')
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    await page.getByText('<b>a lie</b>').waitFor()
    assert.equal(new URL(page.url()).pathname, '/review')
    const frame = page
      .frames()
      .find((one) => one.url().includes(grant.slice(0, 4)) || one !== page.mainFrame())!
    await frame.evaluate(
      `for (let count = 0; count < 2000; count++) port.postMessage({ type: 'ready', path: '/' })`,
    )
    await page.getByLabel('Comment', { exact: true }).fill('A comment')
    const sending = page.waitForRequest((request) => request.url().endsWith('/threads'))
    await page.getByRole('button', { name: 'Add comment' }).click()
    assert.deepEqual(Object.keys((await sending).postDataJSON().place), Object.keys(place))
    await page.getByText('A comment', { exact: true }).waitFor()
    const seen: string[] = await frame.evaluate('seen')
    assert.doesNotMatch(seen.join(), /secret|Secret|Guest|token/)
    assert.ok(seen.length < 500, `a flood ends the connection: ${seen.length} messages`)
    assert.ok(reports <= 2, `${reports} reports of one change`)
    const send = (call: string, body: object, options: object) => {
      const init = { method: 'POST', credentials: 'include', body: JSON.stringify(body), ...options }
      const sent = `fetch('${origin}/api/v1/publish/${slug}/review/${call}', ${JSON.stringify(init)})`
      return frame.evaluate(`${sent}.then(({ type }) => type, ({ name }) => name)`)
    }
    const decided = { decision: 'approved', versionId, name: 'Guest Name' }
    const json = { headers: { 'Content-Type': 'application/json' } }
    const forged = { versionId, place, text: 'forged', name: 'Guest Name' }
    for (const [call, body] of [
      ['decisions', decided],
      ['threads', forged],
    ] as const) {
      assert.equal(await send(call, body, json), 'TypeError', 'a browser asks the service first')
      assert.equal(await send(call, body, { mode: 'no-cors' }), 'opaque')
    }
    const { decision, threads } = await review.get()
    assert.deepEqual([decision, threads.map(({ status }) => status)], ['none', ['open', 'open']])
    assert.deepEqual(await frame.evaluate('tried'), ['SecurityError', 'SecurityError', 'null'])
    const again = () => frame.evaluate('fetch(location.href).then(({ status }) => status)')
    assert.equal(await again(), 200)
    for (const { id } of (await review.get()).links!) await review.revokeLink(id)
    assert.equal(await again(), 404, 'a page cannot keep its grant')
  })
})
