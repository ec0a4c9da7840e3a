import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toFiles } from '../api/content.ts'
import { noise } from '../edge/fixture.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { findHeader, type RawResponse, sendRaw } from './raw-http.ts'

/** A host and the content it may serve. */
export interface TestHost {
  host: string
  /** Published paths of its files. */
  paths: string[]
  /** Paths handled by its rules or by the service itself. */
  others: string[]
  /** The Cookie header of a visitor who entered the password. */
  cookie?: string
  /** Contents of its current and former files. */
  bodies: Buffer[]
}

/** Two services with copies of the same sites: with the HTTP/1 fast path and without. */
export interface ServicePair extends AsyncDisposable {
  fast: RunningService
  plain: RunningService
  hosts: TestHost[]
}

const REDIRECTS = `
/old /about.html
/old-docs/* /docs/:splat 302
/go/:place/now /docs/:place?from=:place 308
/search q=:q /found/:q 307
/app/* /index.html 200
/forced.txt /letters.txt 200!
/secret/* /404.html 404
/away https://elsewhere.example/there?x=1
/out/* https://elsewhere.example/:splat 303
`
const HEADERS = `
/*
  X-Everywhere: yes
/docs/*
  Cache-Control: public, max-age=60
  X-Docs: one
/docs/deep/*
  X-Docs: two
  ! X-Everywhere
/style.css
  Cache-Control: public, max-age=31536000, immutable
  Vary: Origin
/:name.txt
  X-Name: :name
`

const PASSWORD = 'a word that opens'

function page(title: string): string {
  return `<!doctype html>\n<html lang="en">\n<title>${title}</title>\n<h1>${title}</h1>\n`
}

/** A typical static site, with rules. */
const ORDINARY: Record<string, string | Buffer> = {
  'index.html': page('Home'),
  '404.html': page('Nothing here'),
  'about.html': page('About'),
  'page.html': page('A page'),
  page: 'a file without an ending\n',
  'style.css': 'body { color: #123456 }\n'.repeat(60),
  'app.js': 'export const answer = 42\n'.repeat(60),
  'data.json': `${JSON.stringify({ list: Array.from({ length: 300 }, (_, index) => index) })}\n`,
  'photo.png': noise(5000),
  'letters.txt': 'abcdefghijklmnopqrstuvwxyz',
  'one.txt': '1',
  'empty.css': '',
  'big.bin': noise(60_000),
  noending: 'plain',
  'docs/index.html': page('Docs'),
  'docs/guide.html': page('Guide'),
  'docs/a b.txt': 'a space\n',
  'docs/deep/index.html': page('Deep'),
  'blog/post.html': page('Post'),
  'blog.html': page('Blog'),
  'café/menü.txt': 'menu\n',
  '日本/語.txt': 'kanji\n',
  'Case.txt': 'upper\n',
  '.well-known/security.txt': 'Contact: mailto:someone@example.com\n',
  ...Object.fromEntries(
    [..."+;~'(),@&=$:!*-_"].map((character) => [`mark${character}.txt`, `the mark ${character}\n`]),
  ),
  'percent%.txt': 'percent\n',
  'question?.txt': 'question\n',
  'forced.txt': 'the rule is stronger\n',
  _redirects: REDIRECTS,
  _headers: HEADERS,
}
const BEFORE = { ...ORDINARY, 'gone.txt': 'of the version before\n', 'about.html': 'the old page about\n' }
const APPLICATION = {
  'index.html': '<!doctype html><title>Application</title><script type="module" src="/main.js"></script>\n',
  'main.js': `${'console.log("an application")\n'.repeat(40)}`,
  'assets/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
}
const LISTED = { 'a.txt': 'a\n', 'more/b.txt': 'b\n', 'more/c d.txt': 'c d\n', 'z<&>.txt': 'marks\n' }
const ALONE = { 'notes.txt': 'one file and no page\n'.repeat(100) }

const RULED = `
/old /old/ /old-docs/guide.html /old-docs /old-docs/%2e%2e /go/deep/now /go//now /search?q=x /search?q= /search /app /app/a/b
/app/missing.js /forced.txt /secret /secret/x /away /away?y=2 /out/a/b /out//evil.example /out/%5Cevil /gone.txt /_redirects
/_headers /_slipway/password /_slipway /%5fheaders`
  .trim()
  .split(/\s+/)

/** Publishes the sites once and starts both services on copies, with equal clocks. */
export async function openServicePair(): Promise<ServicePair> {
  await using stack = new AsyncDisposableStack()
  const folders = await Promise.all(
    ['fast', 'plain'].map(() => mkdtemp(join(tmpdir(), 'slipway-fast-path-'))),
  )
  for (const folder of folders) stack.defer(() => rm(folder, { recursive: true, force: true }))
  const [one, other] = folders as [string, string]
  const { hosts, baseUrl } = await publishAll(one)
  await cp(one, other, { recursive: true })
  const now = Date.now()
  const start = async (data: string, fastPath: string) => {
    const service = stack.use(await startTestService({ DATA: data, BASE_URL: baseUrl, FAST_PATH: fastPath }))
    service.clock.now = now
    return service
  }
  const [fast, plain] = [await start(one, 'on'), await start(other, 'off')]
  const opened = stack.move()
  return { fast, plain, hosts, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function publishAll(data: string): Promise<{ hosts: TestHost[]; baseUrl: string }> {
  await using service = await startTestService({ DATA: data })
  const client = service.client(await service.signIn('owner@example.com'))
  const publish = async (
    contents: Record<string, string | Buffer>,
    more: { spaMode?: boolean; title?: string; slug?: string },
  ) => client.publish({ files: toFiles(contents), ...more })
  const before = await publish(BEFORE, {})
  const now = await publish(ORDINARY, { slug: before.slug })
  const draft = await client.publish({ files: toFiles(LISTED), slug: before.slug, live: false })
  const application = await publish(APPLICATION, { spaMode: true, title: 'A title of its own' })
  const listed = await publish(LISTED, { title: 'Things & more' })
  const alone = await publish(ALONE, {})
  const closed = await publish(ALONE, {})
  await client.setMetadata(closed.slug, { password: PASSWORD })
  const toHost = (
    slug: string,
    contents: Record<string, string | Buffer>,
    others: string[] = [],
  ): TestHost => ({
    host: `${slug}.localhost`,
    paths: Object.keys(contents),
    others,
    bodies: Object.values(contents).map((content) => Buffer.from(content)),
  })
  const hosts = [
    toHost(now.slug, BEFORE, RULED),
    toHost(application.slug, APPLICATION, ['/deep/link', '/deep/link.js', '/deep.link/page', '/favicon.ico']),
    toHost(listed.slug, LISTED),
    toHost(alone.slug, ALONE),
    toHost(`${now.versionId}--${now.slug}`, ORDINARY, RULED),
    toHost(`${draft.versionId}--${now.slug}`, LISTED),
    { ...toHost(closed.slug, ALONE), cookie: await obtainCookie(service, closed.slug) },
    toHost('no-such-site', {}),
  ]
  await service.service.precompressor.onIdle()
  return { hosts, baseUrl: service.baseUrl }
}

async function obtainCookie(service: RunningService, slug: string): Promise<string> {
  const form = new URLSearchParams({ password: PASSWORD, next: '/' }).toString()
  const response = await sendOnce(
    service,
    `POST /_slipway/password HTTP/1.1\r\nHost: ${slug}.localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
      `Content-Length: ${form.length}\r\n\r\n${form}`,
  )
  return findHeader(response, 'set-cookie')!.split(';')[0]!
}

export async function sendOnce(service: RunningService, text: string): Promise<RawResponse> {
  const to = { port: service.port, host: '127.0.0.1' }
  const { responses } = await sendRaw(to, [Buffer.from(text, 'latin1')], {
    methods: [text.split(' ')[0]!],
    count: 1,
  })
  return responses[0]!
}
