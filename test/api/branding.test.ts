import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import { readConfig } from '../../server/config/settings.ts'
import { buildMessage } from '../../server/mail/mail.ts'
import { sampleEmails } from '../../server/operations/notices/samples.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { waitFor } from '../support/wait-for.ts'
import { readLetter } from '../tools/letter.ts'
import { DAY_MS, startApi } from './api.ts'
import type { ApiResponse } from './api-response.ts'

const NAME = `<b>"&'s`
const TERMS = 'https://legal.example/terms?a=1&b=%22'
const IMPRINT = 'https://legal.example/imprint'
const LINKS = [`Terms: ${TERMS}`, `Imprint: ${IMPRINT}`]
const BROWSER = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

const LOGO =
  '<?xml version="1.0"?><!-- drawn by hand --><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><defs><linearGradient id="a"><stop/></linearGradient></defs><style>path{fill:url(#a)}</style><path d="M0 0h8v8z"/></svg>'
const folder = mkdtempSync(join(tmpdir(), 'slipway-logo-'))
const LOGO_FILE = join(folder, 'logo.svg')
writeFileSync(LOGO_FILE, LOGO)

const api = await startApi({
  NAME,
  TERMS_URL: TERMS,
  IMPRINT_URL: IMPRINT,
  COLOR: '#742',
  LOGO_FILE,
  ANONYMOUS_NOTICE: 'page',
})

/** What HTML shows of the branding; its attributes and texts must be escaped. */
function readHtml(html: string) {
  assert.ok(!html.includes(NAME) && !html.includes(TERMS), 'not escaped')
  const text = html.replaceAll(/<meta name="slipway"[^>]*>/g, '').replaceAll(/&#(\d+);/g, decode)
  const links = [...text.matchAll(/<a href="(https:\/\/legal[^>]*?)">([^<]+)<\/a>/g)]
  return { isNamed: text.includes(NAME), links: links.map(([, url, label]) => `${label}: ${url}`) }
}

function decode(_: string, code: string): string {
  return String.fromCharCode(Number(code))
}

describe('the name of the service and the documents of its operator', () => {
  after(() => rmSync(folder, { recursive: true }))

  test('are on every page that visitors of sites get from the service', async () => {
    const { client } = await api.account()
    const publish = () => api.publish(client, { 'index.html': 'content' })
    const [open, locked, suspended] = [await publish(), await publish(), await publish()]
    const anonymous = await api.publish(api.anonymous, { 'index.html': 'content' })
    await client.setMetadata(locked.slug, { password: 'open sesame' })
    const { suspensions } = await api.operator()
    await suspensions.changeSite(COMMAND_LINE, suspended.slug, { reason: 'It imitates a bank' })
    const visit = (url: string, path = '/', headers = {}) => api.visit(url, path, { ...BROWSER, ...headers })
    await waitFor(async () => (await visit(suspended.siteUrl)).status === 451)
    const pages: Record<string, [status: number, page: ApiResponse]> = {
      'a missing page': [404, await visit(open.siteUrl, '/missing')],
      'a part beyond the end of a file': [416, await visit(open.siteUrl, '/', { range: 'bytes=100-' })],
      'a page that has changed': [412, await visit(open.siteUrl, '/', { 'if-match': '"other"' })],
      'a missing site': [404, await visit(open.siteUrl.replace('//', '//x'))],
      'the password form': [401, await visit(locked.siteUrl)],
      'a suspended site': [451, await visit(suspended.siteUrl)],
      'the notice before an anonymous site': [200, await visit(anonymous.siteUrl)],
      'the form for reports': [200, await api.request('GET', '/report')],
      'a link of an email': [404, await api.request('GET', '/unsubscribe')],
      'an unknown path of the service': [404, await api.request('GET', '/missing', { headers: BROWSER })],
    }
    api.pass(2 * DAY_MS)
    pages['an expired site'] = [410, await visit(anonymous.siteUrl)]
    for (const [name, [status, page]] of Object.entries(pages)) {
      assert.equal(page.status, status, name)
      assert.deepEqual(readHtml(page.text), { isNamed: true, links: LINKS }, name)
    }
  })

  test('are on the front page without scripts, and the dashboard and the reference have the name', async () => {
    const front = await api.request('GET', '/', { headers: BROWSER })
    assert.deepEqual(readHtml(front.text), { isNamed: true, links: LINKS })
    assert.doesNotMatch(front.text, /[>"]Slipway[^-]|card\.png/)
    for (const path of ['/sign-in', '/docs', '/docs/publish'])
      assert.match((await api.request('GET', path)).text, /<title>[^<]*&#60;b&#62;&#34;&#38;&#39;s/, path)
    const manifest = await api.request('GET', '/site.webmanifest')
    const { name, short_name } = JSON.parse(manifest.text)
    assert.deepEqual([name, short_name], [NAME, NAME])
  })

  test('are in the documents for programs', async () => {
    const get = async (path: string) => (await api.request('GET', path, { headers: { accept: '*/*' } })).json
    const { info } = await get('/api/openapi.json')
    assert.deepEqual([info.title, info.termsOfService], [NAME, TERMS])
    assert.equal((await get('/.well-known/mcp/server-card.json')).serverInfo.title, NAME)
    assert.equal((await get('/.well-known/oauth-protected-resource')).resource_name, NAME)
    const { text } = await api.request('GET', '/llms.txt')
    assert.ok(text.startsWith(`# ${NAME}\n`))
    for (const line of [`- [Terms](${TERMS})`, `- [Imprint](${IMPRINT})`])
      assert.ok(text.includes(line), line)
    const session = await api.anonymous.requestCode('new@example.com')
    const code = await api.running.mailedCode('new@example.com')
    const { message } = await api.anonymous.verifyCode('new@example.com', code)
    assert.deepEqual([session.email, message], ['new@example.com', `Welcome to ${NAME}`])
  })

  test('are in every kind of email, with the name as its sender', async () => {
    const { branding, mailFrom } = readConfig({
      ...{ SLIPWAY_NAME: NAME, SLIPWAY_TERMS_URL: TERMS, SLIPWAY_IMPRINT_URL: IMPRINT },
      ...{ SLIPWAY_SITE_DOMAIN: 'sites.example', SLIPWAY_COLOR: '#742' },
    })
    const addresses = new UrlBuilder({ baseUrl: 'https://pages.example', siteDomain: 'sites.example' })
    const emails = sampleEmails({ to: 'ann@example.com', addresses, branding, now: api.clock.now })
    assert.ok(emails.some(({ kind }) => kind === 'site-reported'))
    for (const email of emails) {
      assert.deepEqual(readHtml(email.html), { isNamed: true, links: LINKS }, email.kind)
      assert.ok(email.text.endsWith(`\n${LINKS.join('\n')}\n`), email.kind)
    }
    assert.match(emails[0]!.html, /background:#774422;color:#ffffff/)
    const { from } = readLetter(String(await buildMessage(emails[0]!, mailFrom)))
    assert.equal(from, `"<b>\\"&'s" <slipway@sites.example>`)
  })

  test('come with the color of the operator, which the policies of the pages allow by its hash', async () => {
    const { siteUrl } = await api.publish(api.anonymous, { 'a.txt': 'a', 'b.txt': 'b' })
    const files = await api.visit(siteUrl)
    for (const [name, { text, headers }] of Object.entries({
      'the listing of a site': files,
      'a missing page': await api.visit(siteUrl, '/missing', BROWSER),
      'the front page': await api.request('GET', '/', { headers: BROWSER }),
      'the dashboard': await api.request('GET', '/sign-in'),
      'the documentation': await api.request('GET', '/docs'),
    })) {
      const [, style = ''] = /<style>(.*?)<\/style>/s.exec(text) ?? []
      assert.match(style, /:root\{--accent:#774422;/, name)
      const policy = String(headers['content-security-policy'])
      assert.ok(policy.includes(`'sha256-${hash('sha256', style, 'base64')}'`), name)
    }
    assert.equal(JSON.parse((await api.request('GET', '/site.webmanifest')).text).theme_color, '#774422')
  })

  test('come with the logo of the operator, which pages of all hosts may load as an image', async () => {
    const { siteUrl } = await api.publish(api.anonymous, { 'a.txt': 'a' })
    const missing = await api.visit(siteUrl, '/_slipway/password', BROWSER)
    assert.ok(missing.text.includes(`<img src="${api.baseUrl}/logo" alt=""`))
    assert.ok(String(missing.headers['content-security-policy']).includes(`img-src ${api.baseUrl}/logo;`))
    for (const path of ['/', '/docs']) {
      const { text } = await api.request('GET', path, { headers: BROWSER })
      assert.match(text, /<link rel="icon" href="\/logo" type="image\/svg\+xml">/, path)
      assert.match(text, /<a class="home" href="\/"><img src="\/logo"/, path)
      assert.doesNotMatch(text, /(?:href|src)="\/(?:favicon|apple-touch-icon)/, path)
    }
    const manifest = await api.request('GET', '/site.webmanifest')
    assert.deepEqual(JSON.parse(manifest.text).icons[0].src, '/logo')
    const { text, headers } = await api.request('GET', '/logo')
    assert.deepEqual([text, headers['content-type']], [LOGO, 'image/svg+xml'])
    assert.match(String(headers['content-security-policy']), /^default-src 'none'; .*sandbox$/)
    assert.equal(headers['cross-origin-resource-policy'], 'cross-origin')
  })

  test('include no logo that could run or load anything, or that is large', () => {
    const svg = (content: string) => `<svg xmlns="http://www.w3.org/2000/svg">${content}</svg>`
    const refused: [content: string | Buffer, reason: RegExp][] = [
      [svg('<script>1</script>'), /has <script>/],
      [svg('<x:script xmlns:x="http://www.w3.org/2000/svg">1</x:script>'), /has <x:script>/],
      [svg('<foreignObject><p>x</p></foreignObject>'), /has <foreignObject>/],
      [svg('<image href="a.png"/>'), /has <image>/],
      [svg('<a href="https://example.com"><path/></a>'), /has <a>/],
      [svg('<path><set attributeName="href" to="x"/></path>'), /has <set>/],
      [svg('<path d=">" onload="run()"/>'), /a script in an attribute/],
      [svg('<path onclick\n="run()"/>'), /a script in an attribute/],
      [svg('<use href="https://example.com/a.svg#a"/>'), /refers to another file/],
      [svg('<use xlink:href = "a.svg#a"/>'), /refers to another file/],
      [svg('<path fill="url(https://example.com/a)"/>'), /refers to another file/],
      [svg('<path fill="&#117;rl(a.svg#a)"/>'), /refers to another file/],
      [svg('<style>@import "a.css";</style>'), /@import/],
      [svg('<style>path{fill:\\75rl(a)}</style>'), /a backslash/],
      [svg('<style><![CDATA[path{}]]></style>'), /has <!\[CDATA\[path\{\}\]\]>/],
      [`<!DOCTYPE svg [<!ENTITY a "x">]>${svg('&a;')}`, /does not begin with <svg>/],
      [`<?xml-stylesheet href="a.css"?>${svg('')}`, /does not begin with <svg>/],
      ['<html></html>', /does not begin with <svg>/],
      ['', /does not begin with <svg>/],
      [Buffer.from([0xff, 0xd8, 0xff]), /neither PNG nor text/],
      [svg(' '.repeat(65_536)), /at most 65536 bytes, and has/],
    ]
    const file = join(folder, 'refused.svg')
    for (const [content, reason] of refused) {
      writeFileSync(file, content)
      assert.throws(() => readConfig({ SLIPWAY_LOGO_FILE: file }), reason, String(content).slice(0, 100))
    }
    writeFileSync(file, Buffer.from('89504e470d0a1a0a0000', 'hex'))
    assert.equal(readConfig({ SLIPWAY_LOGO_FILE: file }).branding.logo?.type, 'image/png')
  })

  test('are absent by default from the pages of sites and from emails', async () => {
    const plain = await startApi()
    const { siteUrl } = await plain.publish(plain.anonymous, { 'index.html': 'content' })
    const { text } = await plain.visit(siteUrl, '/missing', BROWSER)
    assert.match(text, /<footer><a href="\/_slipway\/report" rel="nofollow">Report abuse<\/a><\/footer>/)
    assert.equal(readConfig({}).mailFrom, 'Slipway <slipway@localhost>')
    assert.deepEqual(readConfig({}).branding, DEFAULT_BRANDING)
    const { json } = await plain.request('GET', '/api/openapi.json')
    assert.deepEqual([json.info.title, 'termsOfService' in json.info], ['Slipway', false])
  })
})
