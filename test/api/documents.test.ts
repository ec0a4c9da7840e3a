import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { agentText } from '../../protocol/agent-text.ts'
import { UNLIMITED } from '../../protocol/format.ts'
import { PAGE_PATHS } from '../../protocol/page-paths.ts'
import { GUIDES } from '../../server/web/guides.ts'
import { ICON_FILES } from '../../server/web/pages.ts'
import { Api, HOUR_MS, startApi, toTarget } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { toManifest } from './content.ts'

const api = await startApi()

describe('the pages about the API', () => {
  test('explain at / how to publish: as HTML to browsers and crawlers, as text to curl and agents', async () => {
    for (const [type, headers] of [
      ['text/html', {}],
      ['text/html', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }],
      ['text/html', { accept: '*/*', 'accept-encoding': 'gzip, deflate' }],
      ['text/plain', { accept: '*/*' }],
      ['text/plain', { accept: 'text/markdown, text/plain;q=0.9', 'accept-encoding': 'gzip' }],
      ['text/plain', { accept: 'application/json', 'accept-encoding': 'gzip' }],
    ] as const) {
      const answer = await api.request('GET', '/', { headers })
      assert.equal(answer.status, 200)
      assert.match(answer.headers['content-type']!, new RegExp(`^${type}`), JSON.stringify(headers))
      assert.equal(answer.headers.vary, 'Accept, Accept-Encoding')
      assert.match(String(answer.headers.link), /<\/api\/openapi.json>; rel="service-desc"/)
      if (type === 'text/plain') assert.ok(answer.text.includes(`curl -T site.zip ${api.baseUrl}\n`))
    }
  })

  test('name the key that each request needs where sites need an account', async () => {
    await using own = await Api.start({ ANONYMOUS: 'off' })
    for (const [path, headers] of [
      ['/', { accept: 'text/plain' }],
      ['/', { accept: 'text/html' }],
      ['/llms.txt', {}],
      ['/skill.md', {}],
    ] as const) {
      const { text } = await own.request('GET', path, { headers })
      assert.doesNotMatch(
        text,
        /No account|CLAIM_TOKEN|Claim-Token|claimUrl|without an account|unclaimed/,
        path,
      )
      assert.match(text, /Authorization: Bearer KEY/, path)
      // The command refuses the one without the other.
      assert.match(text, /--print-key --key-name agent/, path)
    }
  })

  test('are found by programs: llms.txt, a skill, the catalog of APIs, robots.txt', async () => {
    const text = agentText({ name: 'Slipway', baseUrl: api.baseUrl, lifetime: '24 hours', isAnonymous: true })
    const llms = await api.request('GET', '/llms.txt')
    assert.ok(llms.text.startsWith('# Slipway\n\n> ') && llms.text.includes(text))
    for (const path of ['/mcp/account', '/skill.md']) assert.ok(llms.text.includes(`${api.baseUrl}${path}`))
    for (const [, url = ''] of llms.text.matchAll(/\]\((.+?)\)/g)) {
      assert.equal((await api.request('GET', toTarget(url))).status, 200, url)
    }
    const skill = await api.request('GET', '/skill.md')
    assert.match(skill.text, /^---\nname: [a-z-]+\ndescription: .+\n---\n/)
    assert.ok(skill.text.includes(text))
    for (const part of [
      `${api.baseUrl}/mcp/account`,
      `${api.baseUrl}/mcp `,
      'cli.tgz mcp',
      `${api.baseUrl}/docs/ci.md`,
      'SLIPWAY_KEY',
      'feedback --preview NAME --wait',
      'SECRET_DETECTED',
    ])
      assert.ok(skill.text.includes(part), part)
    const full = await api.request('GET', '/llms-full.txt')
    assert.match(full.headers['content-type']!, /^text\/plain/)
    for (const name of ['publish', 'agents', 'ci', 'security'])
      assert.ok(full.text.includes((await api.request('GET', `/docs/${name}.md`)).text.trim()), name)
    const card = await api.request('GET', '/.well-known/mcp/server-card.json')
    assert.equal(JSON.parse(card.text).transport.endpoint, `${api.baseUrl}/mcp`)
    const catalog = await api.request('GET', '/.well-known/api-catalog')
    assert.match(catalog.headers['content-type']!, /^application\/linkset\+json/)
    const [{ 'service-desc': description }] = JSON.parse(catalog.text).linkset
    assert.equal(description[0].href, `${api.baseUrl}/api/openapi.json`)
    assert.match((await api.request('GET', '/robots.txt')).text, /^User-agent: \*\n/)
  })

  test('are Markdown for clients that prefer it', async () => {
    const cases: [accept: string, type: RegExp][] = [
      ['text/markdown', /^text\/markdown/],
      ['text/markdown, text/html, */*', /^text\/markdown/],
      ['text/html;q=0.9, text/markdown; q=0.8', /^text\/html/],
      ['text/markdown;q=0', /^text\/html/],
      ['text/html,application/xhtml+xml,*/*;q=0.8', /^text\/html/],
    ]
    for (const path of ['/docs', '/docs/api', '/docs/publish', '/docs/agents', '/docs/ci']) {
      for (const [accept, type] of cases) {
        const { status, headers } = await api.request('GET', path, { headers: { accept } })
        assert.deepEqual([status, headers.vary], [200, 'Accept, Accept-Encoding'])
        assert.match(headers['content-type']!, type, `${path} ${accept}`)
      }
    }
  })

  test('are also found by their common paths', async () => {
    for (const [path, target] of [
      ['/openapi', '/api/openapi.json'],
      ['/openapi.json', '/api/openapi.json'],
      ['/api', '/docs/api'],
      ['/docs/', '/docs'],
      ['/docs/index.md', '/llms.txt'],
      ['//publish.sh', '/publish.sh'],
      ['/docs//api', '/docs/api'],
      ['/docs/serving/', '/docs/serving'],
      ['/docs//serving/?q=1', '/docs/serving?q=1'],
      ['/sign-in/', '/sign-in'],
      ['/llms.txt/', '/llms.txt'],
    ] as const) {
      const { status, headers } = await api.request('GET', path)
      assert.deepEqual([status, headers.location], [308, target], path)
      assert.equal((await api.request('GET', target)).status, 200, target)
    }
    for (const path of ['//%5Cevil.test//', '//\\evil.test', '//evil.test//']) {
      const { headers } = await api.request('GET', path)
      assert.doesNotMatch(headers.location ?? '', /^\/[/\\]/, path)
    }
  })

  test('and the API are found below a base URL that ends with a slash', async () => {
    assert.equal((await api.request('GET', '//api/openapi.json')).status, 200)
    const json = { files: [{ path: 'index.html', content: 'x' }] }
    assert.equal((await api.request('POST', '//api/v1/publish', { json })).status, 201)
    const upload = { headers: { 'content-type': 'text/html' }, body: '<p>x' }
    assert.equal((await api.request('PUT', '//page.html', upload)).status, 201)
  })

  test('are guides, as pages and as Markdown with the address of the service', async () => {
    const names = GUIDES.flatMap(([, guides]) => guides.map(({ name }) => name))
    const pages = new Map<string, Promise<ApiResponse>>()
    const read = (path: string) => {
      const page = pages.get(path) ?? api.request('GET', path)
      pages.set(path, page)
      return page
    }
    for (const name of names.filter((page) => page !== 'api')) {
      const page = await read(`/docs/${name}`)
      assert.match(page.headers['content-type']!, /^text\/html/, name)
      assert.match(page.text, /<h1[^>]*>[A-Z].*<\/h1>/)
      assert.doesNotMatch(page.text, /(<|&#60;)!--|href="(?!\/)[^"]*\.md/)
      const source = await read(`/docs/${name}.md`)
      assert.match(source.headers['content-type']!, /^text\/markdown/)
      for (const text of [page.text, source.text])
        assert.doesNotMatch(text, /\{(base_url|npx|version)\}|by\s+the URL of your server/)
      for (const [, target = ''] of source.text.matchAll(/\]\(([^)#\s]+)/g)) {
        const { origin, pathname } = new URL(target, `${api.baseUrl}/docs/${name}.md`)
        if (origin === new URL(api.baseUrl).origin)
          assert.equal((await read(pathname)).status, 200, `${name}.md: ${target}`)
      }
      for (const [, target = '', anchor] of page.text.matchAll(/href="(\/docs\/?\w*)(?:#([^"]+))?"/g)) {
        const linked = await read(target)
        assert.equal(linked.status, 200, target)
        if (anchor) assert.ok(linked.text.includes(`id="${anchor}"`), `${name}: ${target}#${anchor}`)
      }
    }
    assert.ok((await api.request('GET', '/docs/publish.md')).text.includes(`${api.baseUrl}/cli.tgz publish`))
    // Read on the machine of a server.
    for (const name of ['backup', 'monitoring'])
      assert.ok((await read(`/docs/${name}.md`)).text.includes('http://localhost:8080'), name)
    assert.match((await read('/docs/run')).text, /href="\/docs\/backup"/)
    assert.equal(
      (await api.request('GET', '/docs/nothing', { headers: { accept: 'text/html' } })).status,
      404,
    )
  })

  test('report at /health that the service is healthy, and at /ready that it may receive requests', async () => {
    for (const [path, expected] of Object.entries({ '/health': 'ok', '/ready': 'ready' })) {
      const { status, json } = await api.request('GET', path)
      assert.deepEqual([status, json], [200, { status: expected }])
    }
  })

  test('say at /status what works, to people', async () => {
    const works = await api.request('GET', '/status')
    assert.equal(works.status, 200)
    assert.match(works.text, /<h1>Everything works<[\s\S]*Publishing<.dt><dd>Works</)
    await using full = await Api.start({ DISK_RESERVE: '16TiB' })
    assert.match(
      (await full.request('GET', '/status')).text,
      /<h1>Publishing is paused<[\s\S]*disk of the server is full/,
    )
  })
})

test('URLs have the scheme, host and port of the configured base URL', async () => {
  await using far = await Api.start({
    BASE_URL: 'https://slipway.example.com:8443/',
    SITE_DOMAIN: 'sites.example.net',
  })
  const { json } = await far.request('POST', '/api/v1/publish', {
    json: { files: toManifest({ 'index.html': 'x' }) },
  })
  const { slug, siteUrl, upload, claimUrl } = json
  assert.equal(siteUrl, `https://${slug}.sites.example.net:8443/`)
  assert.equal(upload.finalizeUrl, `https://slipway.example.com:8443/api/v1/publish/${slug}/finalize`)
  assert.ok(upload.uploads[0].url.startsWith(`https://slipway.example.com:8443/api/v1/_upload/${slug}/`))
  assert.ok(claimUrl.startsWith(`https://slipway.example.com:8443/claim?slug=${slug}&token=`))
})

const fetchPage = (path: string, headers: Record<string, string> = {}) =>
  api.request('GET', path, { headers })

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "manifest-src 'self'",
  `img-src 'self' data: http://*.localhost:${api.port}`,
  "connect-src 'self'",
  "worker-src 'self'",
  `frame-src http://*.localhost:${api.port}`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  'report-uri /_reports/csp',
].join('; ')

describe('a page', () => {
  const paths = [
    ...Object.values(PAGE_PATHS)
      .flatMap((path) => [path.replace(/\/:view\?$/, ''), path.replace(':view?', 'files')])
      .map((path) => path.replace(':slug', 'a-site').replace(':id', 'an-id')),
    '/docs',
  ]

  test('runs only own scripts, frames only sites, and sends no referrer', async () => {
    for (const path of [...paths, '/favicon.svg']) {
      const { status, headers, text } = await fetchPage(path)
      assert.equal(status, 200, path)
      if (path !== '/favicon.svg')
        assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/, `${path} is inline`)
      assert.equal(headers['content-security-policy'], POLICY, path)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
      assert.equal(headers['x-ratelimit-limit'], undefined)
    }
  })

  test('is revalidated by its etag, and compressed for a client that accepts it', async () => {
    for (const path of ['/', '/docs', '/favicon.svg']) {
      const plain = await fetchPage(path)
      const { 'cache-control': caching, etag = '' } = plain.headers
      assert.equal(caching, 'no-cache')
      assert.equal((await fetchPage(path, { 'If-None-Match': `"other", W/${etag}` })).status, 304)
      for (const [accepted, read] of [
        ['gzip, br', brotliDecompressSync],
        ['gzip;q=1.0, br;q=0', gunzipSync],
        ['zstd', zstdDecompressSync],
      ] as const) {
        const small = await fetchPage(path, { 'Accept-Encoding': accepted })
        assert.ok(small.body.length < plain.body.length)
        assert.deepEqual(read(small.body), plain.body)
        const negotiated = path === '/favicon.svg' ? 'Accept-Encoding' : 'Accept, Accept-Encoding'
        assert.equal(small.headers.vary, negotiated)
        assert.notEqual(small.headers.etag, etag)
      }
    }
  })

  test('names its scripts, styles and fonts by their hashes, so that they can be cached forever', async () => {
    const html = (await fetchPage('/')).text
    const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
    assert.ok(assets.some((path) => path.endsWith('.js')) && assets.some((path) => path.endsWith('.css')))
    for (const path of assets) {
      const { status, headers } = await fetchPage(path)
      assert.equal(status, 200)
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
      assert.match(headers['content-type'] ?? '', /^(text\/(javascript|css); charset=utf-8|font\/woff2)$/)
      if (headers['content-type'] === 'font/woff2') continue
      const small = await fetchPage(path, { 'Accept-Encoding': 'gzip, br' })
      assert.equal(small.headers['content-encoding'], 'br')
      assert.equal((await fetchPage(`${path}.br`)).status, 404)
    }
  })

  test('has an icon for every platform and a picture for link previews', async () => {
    const html = (await fetchPage('/')).text
    const [, picture = ''] = /<meta property="og:image" content="([^"]+)">/.exec(html) ?? []
    const linked = [...html.matchAll(/<link rel="(?:icon|apple-touch-icon|manifest)" href="([^"]+)"/g)]
    const manifest = JSON.parse((await fetchPage('/site.webmanifest')).text) as { icons: { src: string }[] }
    const { pathname, origin } = new URL(picture)
    assert.equal(origin, api.baseUrl)
    const paths = [...linked.map(([, path]) => path!), ...manifest.icons.map(({ src }) => src), pathname]
    assert.deepEqual(new Set(paths), new Set(ICON_FILES.map((name) => `/${name}`)))
    for (const path of paths) {
      const { status, headers } = await fetchPage(path)
      assert.equal(status, 200, path)
      assert.match(String(headers['content-type']), /^(image\/|application\/manifest\+json)/)
    }
  })

  test('and every other place show the limits and plan names of the settings', async () => {
    const given = {
      PLAN_FREE: 'Staff',
      DOMAINS_FREE: '0',
      RATE_FREE: 'unlimited',
      FILES: '2',
      FILE_BYTES: '1kB',
      ANONYMOUS_FILES: '1',
      ANONYMOUS_FILE_BYTES: '1000',
      ANONYMOUS_LIFETIME: '3600',
      SITE_BYTES: 'unlimited',
    }
    await using own = await Api.start(given)
    const html = (await own.request('GET', '/')).text
    const [, content = ''] = /<meta name="slipway" content="([^"]*)">/.exec(html) ?? []
    const settings = JSON.parse(content.replaceAll('&#34;', '"'))
    assert.deepEqual(
      [settings.baseUrl, settings.anonymous.fileBytes, settings.anonymousLifetime],
      [own.baseUrl, 1000, 3600],
    )
    const { client } = await own.account()
    const { planName, limits } = await client.me()
    assert.deepEqual(
      [planName, limits.requestsPerHour, limits.domains, limits.filesPerSite, limits.fileBytes],
      ['Staff', UNLIMITED, 0, 2, 1000],
    )
    assert.equal(limits.siteBytes, UNLIMITED)
    const file = (path: string, size = 1) => ({ path, size, contentType: 'text/plain' })
    const created = await client.create({ files: [file('a'), file('b')] })
    await assert.rejects(client.create({ files: ['img/a', 'img/b', 'c'].map((path) => file(path)) }), {
      message: /3 files. The limit is 2 per site \(img\/ has 2\)/,
    })
    await assert.rejects(own.anonymous.create({ files: [file('a'), file('b')] }), {
      message: /2 files. The limit is 1 per site/,
    })
    await assert.rejects(client.create({ files: [file('a', 1001)] }), {
      message: /1,001 bytes. The limit is 1,000 bytes per file/,
    })
    await assert.rejects(client.addDomain('www.example.com', created.slug), {
      message: 'The Staff plan includes no custom domains. Ask the administrator for a higher limit.',
    })
    const document = (await own.request('GET', '/api/openapi.json')).text
    assert.match(document, /"maxItems":2[,}]/)
  })
})

test('a file that is not one of the pages is not found', async () => {
  for (const path of [
    '/assets/nothing.js',
    '/assets/..%2findex.html',
    '/assets/%2e%2e/index.html',
    '/assets/',
    '/claim.js',
  ]) {
    const { status, text } = await fetchPage(path, { accept: 'text/html' })
    assert.equal(status, 404, path)
    assert.match(text, /Page not found/)
  }
})

describe('a report of a violated Content-Security-Policy', () => {
  const report = (body: string, type = 'application/csp-report') =>
    api.request('POST', '/_reports/csp', { headers: { 'content-type': type }, body })
  const logged = () =>
    api.running.log.filter(({ message }) => message === 'content security policy violation')

  test('is logged without the parts of URLs that may be secret', async () => {
    const { status } = await report(
      JSON.stringify({
        'csp-report': {
          'document-uri': 'http://localhost/claim?slug=a&token=secret',
          'effective-directive': 'script-src-elem',
          'blocked-uri': 'inline',
          'script-sample': 'secret',
        },
      }),
    )
    assert.equal(status, 204)
    const [line = {}] = logged().slice(-1)
    assert.deepEqual(
      [line.level, line['document-uri'], line['effective-directive'], line['blocked-uri']],
      ['warn', 'http://localhost/claim', 'script-src-elem', 'inline'],
    )
    assert.doesNotMatch(JSON.stringify(line), /secret/)
  })

  test('that is not one is ignored, and one that is too long is refused', async () => {
    for (const body of ['', '[]', 'null', '{"csp-report":7}', '{"csp-report":{"blocked-uri":{"a":1}}}'])
      assert.equal((await report(body, 'text/plain')).status, 204, body)
    assert.equal((await report('x'.repeat(10_000), 'text/plain')).status, 204)
    assert.equal((await report('x'.repeat(20_000))).status, 413)
  })

  test('is logged at most a hundred times an hour', async () => {
    api.pass(HOUR_MS)
    const before = logged().length
    for (let count = 0; count < 150; count++) await report('{}')
    assert.equal(logged().length - before, 100)
    api.pass(HOUR_MS)
    await report('{}')
    assert.equal(logged().length - before, 101)
  })
})
