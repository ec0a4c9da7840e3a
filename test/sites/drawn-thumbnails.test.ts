import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdtempDisposableSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { program } from '../../scripts/program.mjs'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { ThumbnailDrawer } from '../../server/jobs/thumbnail-drawer.ts'
import { ChromiumStartError, FOLDER_PREFIX } from '../../server/lib/chromium.ts'
import { drawPage } from '../../server/sites/draw-page.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { type Contents, toFiles } from '../api/content.ts'
import { buildTar } from '../api/pending-version.ts'
import { createStorage } from '../s3/storage.ts'
import { siteRow, versionRow } from '../store/rows.ts'
import { openBrowser } from '../support/browser.ts'
import { openTestStore } from '../support/engines.ts'
import { listen } from '../support/listen.ts'
import { PATIENT } from '../support/patient.ts'
import { openOperator, type RunningService, startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'

const chromium = { chromium: program('chromium-headless-shell') ?? '', chromiumSandbox: 'off' } as const
/** Tests may run as root. */
const SETTINGS = { CHROMIUM: chromium.chromium, CHROMIUM_SANDBOX: 'off' }
const thumbnails = sweeps.find(({ name }) => name === 'thumbnails')!

const [GREEN, BLUE, WHITE] = [
  [0, 128, 0],
  [0, 0, 255],
  [255, 255, 255],
] as const
const GREEN_PAGE = '<body style="background: green">'

/** Stands for a page that must be drawn green once all of `attempts` have failed, and stays white otherwise. */
const greenAfter = (attempts: string) => `<script type="module">
  const fails = async (attempt) => attempt().then(() => Promise.reject(new Error('it did not fail')), () => undefined)
  const loads = (element) => new Promise((resolve, reject) => Object.assign(element, { onload: resolve, onerror: reject }))
  await Promise.all([${attempts}].map(fails))
  document.body.style.background = 'green'
</script>`

/** The color of a point in the middle of a picture, and its size. */
async function decode(picture: Buffer): Promise<{ color: number[]; size: number[] }> {
  await using browser = await openBrowser()
  return await browser.page.evaluate(
    async (url) => {
      const image = Object.assign(new Image(), { src: url })
      await image.decode()
      const { width, height } = image
      const context = new OffscreenCanvas(width, height).getContext('2d')!
      context.drawImage(image, 0, 0)
      const { data } = context.getImageData(width / 2, height / 2, 1, 1)
      return { color: [...data].slice(0, 3), size: [width, height] }
    },
    `data:image/webp;base64,${picture.toString('base64')}`,
  )
}

async function assertColor(picture: Buffer, expected: readonly number[], what: string): Promise<void> {
  assert.ok(picture.length <= 20_000, what)
  const { color, size } = await decode(picture)
  assert.deepEqual(size, [640, 400], what)
  assert.ok(
    color.every((value, channel) => Math.abs(value - expected[channel]!) < 12),
    `${what}: ${color}`,
  )
}

/** Draws a page whose files are these texts by path. */
function draw(
  files: Record<string, string>,
  { stop = new AbortController().signal, onRequest = (_path: string): unknown => undefined } = {},
): Promise<Buffer> {
  const respond = async (url: URL) => {
    findProcesses()
    onRequest(url.pathname)
    const text = files[url.pathname]
    return {
      status: text === undefined ? 404 : 200,
      headers: ['Content-Type', 'text/html'],
      body: Buffer.from(text ?? ''),
    }
  }
  return drawPage({
    program: chromium,
    url: 'http://bakery.localhost/',
    respond,
    stop,
    timeoutMs: PATIENT.drawing,
  })
}

/** A server of this machine that counts what reaches it. */
async function startCounter() {
  const counter = { connections: 0, datagrams: 0, port: 0 }
  const tcp = createServer((socket) => {
    counter.connections++
    socket.destroy()
  })
  counter.port = await listen(tcp)
  const udp = createSocket('udp4', () => counter.datagrams++)
  udp.bind(counter.port, '127.0.0.1')
  await once(udp, 'listening')
  return Object.assign(counter, {
    [Symbol.dispose]() {
      tcp.close()
      udp.close()
    },
  })
}

/** Process groups of the browsers that this process has started. */
const groups = new Set<number>()

/** The processes of all these browsers, or those of a type. */
function findProcesses(type = ''): number[] {
  const read = (pid: number, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'utf8')
    } catch {
      return ''
    }
  }
  const all = readdirSync('/proc').map(Number).filter(Boolean)
  const isBrowser = (pid: number) =>
    read(pid, 'cmdline').includes('slipway-chromium-') &&
    read(pid, 'status').includes(`\nPPid:\t${process.pid}\n`)
  for (const pid of all.filter(isBrowser)) groups.add(pid)
  const groupOf = (pid: number) => Number(read(pid, 'stat').split(') ')[1]?.split(' ')[2])
  // The name of a process that has ended is empty.
  return all.filter((pid) => groups.has(groupOf(pid)) && read(pid, 'cmdline').match(`.+${type}`))
}

function killProcesses(type?: string): void {
  for (const pid of findProcesses(type)) process.kill(pid, 'SIGKILL')
}

async function pictureOf(service: RunningService, key: string, slug: string): Promise<Buffer | undefined> {
  const { thumbnailUrl } = await service.client(key).details(slug)
  if (thumbnailUrl === null) return undefined
  const response = await fetch(thumbnailUrl, { headers: { authorization: `Bearer ${key}` } })
  return Buffer.from(await response.arrayBuffer())
}

/** Changes the stored bytes of a file. */
function damage({ data }: RunningService, content: string): void {
  const folder = join(data, 'blobs')
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const path = paths.find((one) => readFileSync(one).equals(Buffer.from(content)))
  writeFileSync(path!, content.toUpperCase())
}

describe('thumbnails that the server draws', requires('chromium'), () => {
  test('leave no files of a browser whose service was killed, after the next start', async () => {
    const { pid } = spawnSync('true')
    const folderOf = (id: number) => mkdtempDisposableSync(join(tmpdir(), `${FOLDER_PREFIX}${id}-`))
    using ofKilled = folderOf(pid)
    using ofSamePid = folderOf(process.pid)
    using ofOther = folderOf(process.ppid)
    writeFileSync(join(ofKilled.path, 'Cookies'), '')
    await using _ = await startTestService(SETTINGS)
    await waitFor(() => !existsSync(ofKilled.path) && !existsSync(ofSamePid.path))
    assert.ok(existsSync(ofOther.path))
  })

  test('show the start page of a site that was published with curl, without a visit of its owner', async () => {
    const scheduledSweeps = [{ ...thumbnails, intervalSeconds: 1 }]
    await using service = await startTestService(SETTINGS, Date.now(), { scheduledSweeps })
    const key = await service.signIn('ann@example.test')
    const response = await fetch(`${service.baseUrl}/api/v1/publish`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-tar' },
      body: new Uint8Array(
        buildTar({
          'index.html': '<link rel="stylesheet" href="style.css"><body>',
          'style.css': 'body { background: green }',
        }),
      ),
    })
    const { slug } = (await response.json()) as { slug: string }
    await waitFor(async () => (await service.client(key).details(slug)).thumbnailUrl !== null)
    await assertColor((await pictureOf(service, key, slug))!, GREEN, 'the page')
  })

  test('show each kind of site as its visitors see it, and those without a start page stay without', async () => {
    await using service = await startTestService(SETTINGS, Date.now(), { scheduledSweeps: [] })
    const key = await service.signIn('ann@example.test')
    const client = service.client(key)
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="800"><rect width="1280" height="800" fill="blue"/></svg>'
    // biome-ignore format: one row per case
    const cases: [what: string, contents: Contents, color: readonly number[] | undefined][] = [
      ['a page that a script draws', { 'index.html': '<script type="module">document.body.style.background = (await (await fetch("/a.json")).json()).color</script>', 'a.json': '{ "color": "green" }' }, GREEN],
      ['a page that leads to another', { 'index.html': '<meta http-equiv="refresh" content="0; url=/en/">', 'en/index.html': GREEN_PAGE }, GREEN],
      ['a rule that leads to another', { _redirects: '/ /en/ 302', 'en/index.html': GREEN_PAGE }, GREEN],
      ['a page with a dialog', { 'index.html': `<script>alert(1)</script>${GREEN_PAGE}` }, GREEN],
      ['a page without a file that it names', { 'index.html': `${GREEN_PAGE}<img src="/none.png">` }, GREEN],
      ['a page with a file of more than 8 MiB', { 'index.html': '<script src="/a.js"></script><link rel="stylesheet" href="a.css"><body>', 'a.js': ' '.repeat(2 ** 23 + 1), 'a.css': 'body { background: green }' }, GREEN],
      ['a single picture', { 'sea.svg': svg }, BLUE],
      ['a list of files', { 'a.txt': 'a', 'b.txt': 'b' }, WHITE],
      ['a page that leads to another site', { 'index.html': `${GREEN_PAGE}<meta http-equiv="refresh" content="0; url=https://example.com/">` }, undefined],
      ['a start page with status 404', { _redirects: '/ /404.html 404!', '404.html': GREEN_PAGE, 'index.html': GREEN_PAGE }, undefined],
      ['a page of more than 8 MiB', { 'index.html': GREEN_PAGE + ' '.repeat(2 ** 23) }, undefined],
    ]
    const sites = new Map<string, (typeof cases)[number]>()
    for (const one of cases) sites.set((await client.publish({ files: toFiles(one[1]) })).slug, one)
    const { slug: locked } = await client.publish({ files: toFiles({ 'index.html': GREEN_PAGE }) })
    await client.setMetadata(locked, { password: 'open sesame' })
    const damaged = `${GREEN_PAGE}<p>a page whose bytes the disk has lost`
    await client.publish({ files: toFiles({ 'index.html': damaged }) })
    damage(service, damaged)
    await using operator = await openOperator(service, SETTINGS)
    const drawn = cases.filter(([, , color]) => color !== undefined)
    assert.equal(await runOnce(thumbnails, operator), drawn.length + 1)
    assert.equal(await runOnce(thumbnails, operator), 0, 'none is tried twice')
    for (const [slug, [what, , color]] of sites) {
      const picture = await pictureOf(service, key, slug)
      assert.equal(picture === undefined, color === undefined, what)
      if (picture && color) await assertColor(picture, color, what)
    }
    await assertColor((await pictureOf(service, key, locked))!, GREEN, 'a page with a password')
  })

  test('are not drawn without the setting, nor of a suspended site', async () => {
    await using service = await startTestService({}, Date.now(), { scheduledSweeps: [] })
    const key = await service.signIn('ann@example.test')
    const { slug } = await service.client(key).publish({ files: toFiles({ 'index.html': GREEN_PAGE }) })
    {
      await using operator = await openOperator(service, {})
      assert.equal(await runOnce(thumbnails, operator), 0)
      assert.ok(!(await operator.sweepList.show()).sweeps.some(({ name }) => name === 'thumbnails'))
      await operator.suspensions.changeSite(COMMAND_LINE, slug, { reason: 'x' })
    }
    await using operator = await openOperator(service, SETTINGS)
    assert.equal(await runOnce(thumbnails, operator), 0)
    assert.equal(await pictureOf(service, key, slug), undefined)
  })

  test(
    'of others are drawn when the storage refuses a file of one, which the next run draws',
    requires('ceph'),
    async () => {
      await using storage = await createStorage()
      const settings = { ...SETTINGS, BLOBS_URL: storage.url }
      await using service = await startTestService(settings, Date.now(), { scheduledSweeps: [] })
      const key = await service.signIn('ann@example.test')
      const client = service.client(key)
      const slugs: string[] = []
      for (const name of ['one', 'other'])
        slugs.push(
          (await client.publish({ files: toFiles({ 'index.html': `${GREEN_PAGE}<p>${name}` }) })).slug,
        )
      const countDrawn = async () => {
        const pictures = await Promise.all(slugs.map((slug) => pictureOf(service, key, slug)))
        return pictures.filter((picture) => picture !== undefined).length
      }
      await using operator = await openOperator(service, settings)
      let refused: string | undefined
      storage.proxy.fault = ({ method, path }) => {
        if (method === 'GET') refused ??= path
        return path === refused ? 'slow-down' : undefined
      }
      await assert.rejects(runOnce(thumbnails, operator), /File storage is temporarily unavailable/)
      assert.equal(await countDrawn(), 1)
      storage.proxy.fault = () => undefined
      assert.equal(await runOnce(thumbnails, operator), 1)
      assert.equal(await countDrawn(), 2)
    },
  )

  test('a program that does not start fails the sweep, and loses no site', async () => {
    await using service = await startTestService({}, Date.now(), { scheduledSweeps: [] })
    const key = await service.signIn('ann@example.test')
    await service.client(key).publish({ files: toFiles({ 'index.html': GREEN_PAGE }) })
    await using operator = await openOperator(service, { CHROMIUM: '/bin/false' })
    for (let times = 0; times < 2; times++)
      await assert.rejects(runOnce(thumbnails, operator), (error) => {
        assert.ok(error instanceof ChromiumStartError)
        assert.match(error.message, /^\/bin\/false: Chromium ended \(1\)/)
        return true
      })
  })
})

test('a scheduled sweep draws the fifty sites that changed last, one by hand those before them too', async () => {
  await using folder = await memoryFolder()
  await using store = await openTestStore({ folder: folder.path, clock: Date.now })
  await store.write('durable', {}, async (tx) => {
    for (let number = 1; number <= 60; number++) {
      const [slug, liveVersionId] = [`site-${number}`, `v${number}`]
      await tx.sites.insert(
        siteRow(slug, { liveVersionId, updatedAt: number }),
        versionRow(liveVersionId, slug),
      )
    }
  })
  for (const [since, first] of [
    [1, 11],
    [0, 1],
  ] as const) {
    const tried: string[] = []
    // None of them has a start page.
    const files = { open: async (slug: string) => void tried.push(slug) }
    await new ThumbnailDrawer({ files } as never).run(store, since)
    assert.deepEqual(
      tried,
      Array.from({ length: 61 - first }, (_, index) => `site-${60 - index}`),
    )
  }
})

describe('a page that the server draws', requires('chromium', 'proc'), () => {
  test('whose program starts too slowly is no failure of the page', async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'slipway-slow-'))
    const slow = join(folder.path, 'chromium')
    writeFileSync(slow, '#!/bin/sh\nexec sleep 3600\n', { mode: 0o755 })
    const drawing = drawPage({
      program: { ...chromium, chromium: slow },
      url: 'http://bakery.localhost/',
      respond: async () => undefined,
      timeoutMs: 200,
    })
    await assert.rejects(drawing, ChromiumStartError)
  })

  test('reaches nothing but the files of its site', async () => {
    using counter = await startCounter()
    await using service = await startTestService({}, Date.now(), { scheduledSweeps: [] })
    let connections = 0
    const targets = [
      `http://127.0.0.1:${counter.port}/`,
      `http://localhost:${counter.port}/`,
      `http://[::ffff:127.0.0.1]:${counter.port}/`,
      `${service.baseUrl}/health`,
      'http://169.254.169.254/latest/meta-data/',
      'https://example.com/',
      'file:///etc/passwd',
      'chrome://version/',
    ]
    const attempts = targets.flatMap((url) => [
      `() => fetch('${url}', { mode: 'no-cors' })`,
      `() => loads(document.body.appendChild(Object.assign(new Image(), { src: '${url}' })))`,
      `() => loads(document.body.appendChild(Object.assign(document.createElement('script'), { src: '${url}' })))`,
    ])
    const address = `127.0.0.1:${counter.port}`
    const others = [
      `() => new Promise((resolve, reject) => { const s = new WebSocket('ws://${address}/'); s.onopen = resolve; s.onerror = reject })`,
      `() => new WebTransport('https://${address}/').ready`,
      `() => new Promise((resolve, reject) => { const s = new EventSource('http://${address}/'); s.onopen = resolve; s.onerror = reject })`,
      `() => new Promise((resolve, reject) => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('http://${address}/').then(() => postMessage(1), () => close(postMessage(0)))"]))); w.onmessage = ({ data }) => data ? resolve() : reject() })`,
      `async () => {
        const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:${address}' }, { urls: 'turn:${address}?transport=tcp', username: 'u', credential: 'c' }] })
        peer.createDataChannel('d')
        await peer.setLocalDescription()
        await new Promise((resolve) => { peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && resolve() })
        if (!/candidate:.*srflx|relay/.test(peer.localDescription.sdp)) throw new Error('no candidate')
      }`,
    ]
    const hints = `<link rel="preconnect" href="http://${address}"><link rel="dns-prefetch" href="http://${address}">
      <link rel="prefetch" href="http://${address}/p"><link rel="prerender" href="http://${address}/r">
      <iframe src="http://${address}/"></iframe><iframe src="data:text/html,<script>fetch('http://${address}/')</script>"></iframe>
      <form action="http://${address}/" method="post" target="other"></form>
      <script>navigator.sendBeacon('http://${address}/', 'x'); window.open('http://${address}/'); document.forms[0].submit()</script>`
    const picture = await draw({ '/': `<body>${hints}${greenAfter([...attempts, ...others].join())}` })
    await assertColor(picture, GREEN, 'every attempt fails')
    connections = counter.connections
    assert.deepEqual([connections, counter.datagrams], [0, 0])
  })

  test('ends at its deadline, with all processes, and the next one is drawn', async () => {
    const deadline = new AbortController()
    const endless =
      '<script>const x = new XMLHttpRequest(); x.open("GET", "/running", false); x.send(); for (;;);</script>'
    const drawing = draw(
      { '/': endless, '/running': '' },
      {
        stop: deadline.signal,
        onRequest: (path) => path === '/running' && deadline.abort(new Error('the deadline')),
      },
    )
    await assert.rejects(drawing, /the deadline/)
    assert.deepEqual(findProcesses(), [])
    await assertColor(await draw({ '/': GREEN_PAGE }), GREEN, 'the next page')
  })

  test('ends with the service', async () => {
    const scheduledSweeps = [{ ...thumbnails, intervalSeconds: 1 }]
    await using service = await startTestService(SETTINGS, Date.now(), { scheduledSweeps })
    const client = service.client(await service.signIn('ann@example.test'))
    await client.publish({ files: toFiles({ 'index.html': '<script>for (;;);</script>' }) })
    await waitFor(() => findProcesses('type=renderer').length > 0)
    await service.service[Symbol.asyncDispose]()
    assert.deepEqual(findProcesses(), [])
  })

  test('may crash, alone or with its browser, which ends its drawing only', async () => {
    const whole = draw({ '/': GREEN_PAGE }, { onRequest: () => killProcesses() })
    await assert.rejects(whole, /Chromium ended \(SIGKILL\)/)
    const alone = draw(
      { '/': `${GREEN_PAGE}<img src="/crash">` },
      { onRequest: (path) => path === '/crash' && killProcesses('type=renderer') },
    )
    await assert.rejects(alone, /the page crashed/)
    assert.deepEqual(findProcesses(), [])
  })

  test('has a limit of memory', async () => {
    let limits: string[] = []
    const onRequest = () => {
      limits = findProcesses().map((pid) => readFileSync(`/proc/${pid}/limits`, 'utf8'))
    }
    await draw({ '/': GREEN_PAGE }, { onRequest })
    assert.ok(limits.length > 1)
    for (const limit of limits) assert.match(limit, /^Max data size +1073741824 +1073741824 /m)
  })

  test('is not drawn by root with the sandbox, and the error names the setting', {
    skip: process.getuid!() !== 0,
  }, async () => {
    const drawing = drawPage({
      program: { ...chromium, chromiumSandbox: 'on' },
      url: 'http://bakery.localhost/',
      respond: async () => undefined,
      timeoutMs: PATIENT.drawing,
    })
    await assert.rejects(drawing, /root.*SLIPWAY_CHROMIUM_SANDBOX=off/)
  })
})
