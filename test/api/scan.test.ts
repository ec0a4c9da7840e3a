import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Clamd, INFECTED, startClamd } from '../tools/clamd.ts'
import { requires } from '../tools/part.ts'
import { temporaryFolder } from '../tools/temporary-folder.ts'
import { Api, DAY_MS, expectFailure } from './api.ts'
import { assertKeepsNothing, make, send } from './archive-requests.ts'
import { toFiles } from './content.ts'

/** A service whose scanner is a program, and what the program was given. */
async function scannedService(script: string, settings: Record<string, string> = {}) {
  const stack = new AsyncDisposableStack()
  const folder = stack.use(await temporaryFolder('slipway-scan-'))
  const program = join(folder.path, 'scan')
  const given = join(folder.path, 'given')
  await writeFile(given, '')
  await writeFile(program, `#!/bin/sh\ngiven='${given}'\n${script}`)
  await chmod(program, 0o755)
  const api = stack.use(await Api.start({ SCAN_HOOK: program, ...settings }))
  return {
    api,
    owner: await api.account(),
    folder: folder.path,
    program,
    /** The lines of all runs. */
    async lines(): Promise<Record<string, string>[]> {
      const text = await readFile(given, 'utf8')
      return text
        .trim()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    },
    copies: async () => (await readdir(join(api.data, 'spool'))).filter((name) => name.startsWith('scan')),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Reads the copies as well, which are there while the program runs. */
const ACCEPT = `while read -r line; do
  echo "$line" >> "$given"
  file=$(echo "$line" | sed 's/.*"file":"\\([^"]*\\)".*/\\1/')
  grep -q forbidden "$file" && path=$(echo "$line" | sed 's/.*"path":"\\([^"]*\\)".*/\\1/')
done
[ -z "$path" ] || { echo "{\\"path\\":\\"$path\\",\\"reason\\":\\"a forbidden word\\"}"; exit 1; }
`

describe('the program that scans files', () => {
  test('gets each file once, before it is published, and its copies are deleted', async () => {
    await using scanned = await scannedService(ACCEPT)
    const { owner, api } = scanned
    const files = { 'index.html': 'one', 'copy.html': 'one', 'a.txt': 'two' }
    const { slug } = await api.publish(owner.client, files)
    const ofKilled = join(api.data, 'spool/scan-killed')
    await mkdir(ofKilled)
    await utimes(ofKilled, 0, 0)
    const lines = await scanned.lines()
    assert.deepEqual(lines.map(({ path }) => path).sort(), ['a.txt', 'copy.html', 'index.html'])
    assert.deepEqual(Object.keys(lines[0]!), ['path', 'hash', 'size', 'contentType', 'file'])
    await api.publish(owner.client, { ...files, 'b.txt': 'three' }, { slug })
    await api.publish(api.anonymous, files)
    assert.equal((await scanned.lines()).length, 4)
    assert.deepEqual(await scanned.copies(), [])
    api.pass(31 * DAY_MS)
    assert.equal(await api.sweep('scans'), 4)
    await api.publish(owner.client, files)
    assert.equal((await scanned.lines()).length, 7)
  })

  test('gets all files of a version that has too many for one run', async () => {
    await using scanned = await scannedService('cat >> "$given"\n', { FILES: '1001' })
    const names = Array.from({ length: 1001 }, (_, number) => `${number}.txt`)
    const contents = Object.fromEntries(names.map((name) => [name, name]))
    await scanned.api.publish(scanned.owner.client, contents)
    assert.deepEqual(new Set((await scanned.lines()).map(({ path }) => path)), new Set(names))
  })

  test('gets an accepted file again after 30 days, and not before', async () => {
    await using scanned = await scannedService(ACCEPT)
    const { owner, api } = scanned
    for (const [days, count] of [
      [0, 1],
      [29, 1],
      [2, 2],
    ] as const) {
      api.pass(days * DAY_MS)
      await api.publish(owner.client, { 'index.html': 'one' })
      assert.equal((await scanned.lines()).length, count)
    }
  })

  test('refuses a version with the path and the reason, by every way to publish', async () => {
    await using scanned = await scannedService(ACCEPT)
    const { owner, api } = scanned
    const { client } = owner
    const bad = { 'index.html': 'x', 'dir/bad.txt': 'a forbidden word' }
    const contents = Object.entries(bad).map(([path, content]) => ({ path, content }))
    const { slug, siteUrl } = await api.publish(client, { 'index.html': 'good' })
    for (const publish of [
      () => api.publish(client, bad),
      () => api.publish(client, bad, { slug }),
      () => api.publish(client, bad, { slug, preview: 'pr-1' }),
      () => api.publish(api.anonymous, bad),
      () => client.publishContents({ files: contents }),
      () => client.publishContents({ files: contents, merge: true }, slug),
    ]) {
      const { details, message, status } = await expectFailure(publish(), 'CONTENT_REFUSED')
      assert.equal(status, 403)
      assert.deepEqual(details, { path: 'dir/bad.txt', reason: 'a forbidden word' })
      assert.match(message, /refuses the file 'dir\/bad\.txt': a forbidden word/)
    }
    const archive = make('tar', bad)
    for (const options of [{ key: owner.key }, { key: owner.key, slug }, {}]) {
      const { json } = await assertKeepsNothing(api, owner, () => send(api, 'tar', archive, options))
      assert.deepEqual([json.code, json.details.path], ['CONTENT_REFUSED', 'dir/bad.txt'])
    }
    assert.equal((await api.visit(siteUrl)).text, 'good')
    assert.equal((await api.visit(siteUrl, '/dir/bad.txt')).status, 404)
    assert.deepEqual(await scanned.copies(), [])
  })

  test('decides again about an accepted content with another path or type', async () => {
    const refusals = '*installer.apk*) echo a program; exit 1;; *text/html*) echo a page; exit 1;;'
    await using scanned = await scannedService(`read -r line; case "$line" in ${refusals} esac\n`)
    const { client } = scanned.owner
    const bytes = '<form>'
    const publish = (path: string, contentType: string) =>
      client.publish({ files: [{ ...toFiles({ [path]: bytes })[0]!, contentType }] })
    await publish('a.txt', 'text/plain')
    await expectFailure(publish('installer.apk', 'text/plain'), 'CONTENT_REFUSED')
    await expectFailure(publish('a.txt', 'text/html'), 'CONTENT_REFUSED')
  })

  test('has none of the settings of the service in its environment', async () => {
    await using scanned = await scannedService(
      `[ -z "$(env | grep SLIPWAY_)" ] && [ -n "$PATH" ] && exit 0\necho leaked; exit 1\n`,
    )
    await scanned.api.publish(scanned.owner.client, { 'index.html': 'x' })
  })

  test('has a quarter of its places for an account, and others for the next one', async () => {
    const program = `grep -q other || until [ -e "$given.end" ]; do sleep 0.1; done\n`
    await using scanned = await scannedService(program, { UPLOADS_AT_ONCE: '1000' })
    const { owner, api, folder } = scanned
    const other = await api.account()
    const [first, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let refused = 0
    const publish = async ({ request }: typeof owner, content: string) => {
      const json = { files: [{ path: `${content}.html`, content }] }
      const { status } = await request('POST', '/api/v1/publish', { json })
      if (status === 503) first.resolve()
      if (status === 503 && ++refused === 52) rest.resolve()
      return status
    }
    const own = Array.from({ length: 69 }, (_, index) => publish(owner, `${index}`))
    await first.promise
    assert.equal(await publish(other, 'other'), 201)
    await rest.promise
    await writeFile(join(folder, 'given.end'), '')
    assert.deepEqual((await Promise.all(own)).sort(), [...Array(17).fill(201), ...Array(52).fill(503)])
  })

  for (const [failure, script] of [
    ['crashes', 'kill -9 $$\n'],
    ['exits with another code', 'echo broken >&2; exit 2\n'],
    ['exceeds its time', 'sleep 60\n'],
    ['is missing', ''],
    ['has no folder for its copies', ''],
  ] as const)
    test(`that ${failure} refuses the version, and scans the files again`, async () => {
      const settings = { SCAN_SECONDS: failure === 'exceeds its time' ? '1' : '30' }
      await using scanned = await scannedService(script, settings)
      const { api, owner, program } = scanned
      const spool = join(api.data, 'spool')
      if (failure === 'is missing') await rm(program)
      if (failure === 'has no folder for its copies') await rm(spool, { recursive: true })
      const created = await api.create(owner.client, { 'index.html': 'x' })
      await api.upload(created.upload, { 'index.html': 'x' })
      const path = `/api/v1/publish/${created.slug}/finalize`
      const json = { versionId: created.upload.versionId }
      const refused = await owner.request('POST', path, { json })
      assert.deepEqual([refused.status, refused.json.code], [503, 'SCAN_UNAVAILABLE'])
      assert.equal(refused.headers['retry-after'], '30')
      await mkdir(spool, { recursive: true })
      await writeFile(program, '#!/bin/sh\n', { mode: 0o755 })
      assert.equal((await owner.request('POST', path, { json })).status, 200)
    })

  test('that crashes lets the version pass by a setting, and scans the files again', async () => {
    await using scanned = await scannedService('kill -9 $$\n', { SCAN_FAILURE: 'pass' })
    const { api, owner, program } = scanned
    const { siteUrl } = await api.publish(owner.client, { 'index.html': 'x' })
    assert.equal((await api.visit(siteUrl)).text, 'x')
    await writeFile(program, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    await expectFailure(api.publish(owner.client, { 'index.html': 'x' }), 'CONTENT_REFUSED')
  })
})

describe('clamd', () => {
  test('refuses what its signatures know, by its socket and by its port', requires('clamd'), async () => {
    await using clamd: Clamd = await startClamd()
    for (const SCAN_HOOK of clamd.addresses) {
      await using api = await Api.start({ SCAN_HOOK })
      const { client } = await api.account()
      const bad = { 'index.html': 'x', 'bad.txt': INFECTED }
      const { details } = await expectFailure(api.publish(client, bad), 'CONTENT_REFUSED')
      assert.deepEqual(details, { path: 'bad.txt', reason: 'Test.Malware.UNOFFICIAL' })
      const large = 'word '.repeat(200_000)
      await api.publish(client, { 'index.html': 'x', 'large.txt': large.slice(0, 900_000) })
      // Beyond StreamMaxLength, the daemon closes the connection while it is sent to.
      const { upload, slug } = await api.create(client, { 'large.txt': large.repeat(3) })
      await api.upload(upload, { 'large.txt': large.repeat(3) })
      const { status } = await api.request('POST', `/api/v1/publish/${slug}/finalize`, {
        key: (await api.account()).key,
        json: { versionId: upload.versionId },
      })
      assert.equal(status, 404)
      const finalized = client.finalize(slug, { versionId: upload.versionId })
      await expectFailure(finalized, 'SCAN_UNAVAILABLE')
    }
  })

  test('that is away or does not answer as it should refuses the version with 503', async () => {
    await using folder = await temporaryFolder('slipway-clamd-')
    const path = join(folder.path, 'clamd.ctl')
    await using api = await Api.start({ SCAN_HOOK: `clamd:${path}`, SCAN_SECONDS: '1' })
    const { client } = await api.account()
    const { upload, slug } = await api.create(client, { 'index.html': 'x' })
    await api.upload(upload, { 'index.html': 'x' })
    const assertUnavailable = () =>
      expectFailure(client.finalize(slug, { versionId: upload.versionId }), 'SCAN_UNAVAILABLE')
    await assertUnavailable()
    let answer: (socket: Socket) => unknown
    await using server = createServer((socket) => {
      socket.on('error', () => undefined)
      // A socket that is not read does not notice that its peer has closed it.
      socket.resume()
      answer(socket)
    })
    await new Promise<void>((resolve) => server.listen(path, resolve))
    const answers: (typeof answer)[] = [
      (socket) => socket.destroy(),
      (socket) => socket.end('UNKNOWN COMMAND\0'),
      (socket) => void socket.write('x'.repeat(10_000)),
      () => undefined,
    ]
    for (const one of answers) {
      answer = one
      await assertUnavailable()
    }
  })
})
