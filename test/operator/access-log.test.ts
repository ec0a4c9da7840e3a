import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, closeSync, constants, createReadStream, openSync, readdirSync } from 'node:fs'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { Counter } from '../../server/lib/metrics.ts'
import { combinedLine, jsonLine } from '../../server/operations/access-log/access-log.ts'
import { LogFile } from '../../server/operations/access-log/log-file.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { silentLog } from '../support/silent-log.ts'
import { waitFor } from '../support/wait-for.ts'
import { BASE, issuer, SecureService, SITES } from '../tls/secure-service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'

const DOMAIN = 'www.example.test'

type Line = Record<string, string | number>

const COMBINED =
  /^(\S+) - - \[(\d\d\/\w{3}\/\d{4}:\d\d:\d\d:\d\d \+0000)\] "([^"]*)" (\d{3}) (\d+) "([^"]*)" "([^"]*)" "([^"]*)"$/

describe('the access log', () => {
  const disposal = new AsyncDisposableStack()
  let service: SecureService
  let file: string
  let slug: string
  before(async () => {
    file = join(disposal.use(await memoryFolder()).path, 'access.log')
    service = disposal.use(await SecureService.start({ ACCESS_LOG: file, ACCESS_LOG_FORMAT: 'json' }))
    slug = (await service.publish({ 'index.html': 'home' })).slug
    await service.addSecureDomain(DOMAIN, slug)
  })
  after(() => disposal.disposeAsync())

  const readLines = async (path = file) =>
    (await readFile(path, 'utf8'))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line)

  /** The lines with this User-Agent, once there are so many. */
  async function linesOf(userAgent: string, count: number): Promise<Line[]> {
    let found: Line[] = []
    await waitFor(async () => {
      found = (await readLines()).filter((line) => line.userAgent === userAgent)
      return found.length >= count
    })
    return found
  }

  test('has the requests of every protocol and of the API', async () => {
    const headers = { host: `${slug}.${SITES}`, 'user-agent': 'test/1', referer: 'https://a.test/from?key=1' }
    const { port } = service.running
    await sendRequest(port, { path: '/?utm=1', headers })
    // A body is beyond the fast path.
    await sendRequest(port, { path: '/missing', method: 'POST', headers, body: 'x' })
    const session = connectHttp2(`https://${DOMAIN}:${service.port}`, {
      ca: issuer.root,
      lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }] as never, 4),
    })
    for (const path of ['/h2', '/.well-known/acme-challenge/x']) {
      const stream = session.request({ ':path': path, 'user-agent': 'test/1' })
      stream.end()
      await text(stream)
    }
    session.close()
    const own = { ...headers, host: BASE }
    await sendRequest(port, { path: '/api/v1/me?secret=1', headers: own })
    const lines = await linesOf('test/1', 5)
    const summaries = lines.map(({ method, host, path, protocol, status, bytes, address, referer }) =>
      [
        method,
        host === headers.host ? 'site' : String(host).replace(/:.*/, ''),
        path,
        protocol,
        status,
        Number(bytes) > 0,
        address,
        referer,
      ].join(' '),
    )
    const from = '127.0.0.0 https://a.test/from'
    assert.deepEqual(summaries.sort(), [
      `GET site /?utm=1 HTTP/1.1 200 true ${from}`,
      `GET slipway.example /api/v1/me HTTP/1.1 401 true ${from}`,
      `GET www.example.test /.well-known/acme-challenge/x HTTP/2.0 404 true 127.0.0.0 `,
      `GET www.example.test /h2 HTTP/2.0 404 true 127.0.0.0 `,
      `POST site /missing HTTP/1.1 405 true ${from}`,
    ])
    assert.equal(lines.find(({ path }) => path === '/?utm=1')!.bytes, 4)
  })

  test('has neither a query of the service itself, which may have tokens, nor an email address in its path', async () => {
    const token = 'token-of-an-upload'
    const headers = { host: BASE, 'user-agent': 'test/2' }
    await sendRequest(service.running.port, { path: `/claim?slug=a&token=${token}`, headers })
    const [line] = await linesOf('test/2', 1)
    assert.equal(line!.path, '/claim')
    for (const email of ['guest@example.net', 'guest%40example.net'])
      await sendRequest(service.running.port, { path: `/api/admin/invitations/${email}`, headers })
    const masked = '/api/admin/invitations/g...@example.net'
    assert.deepEqual(
      (await linesOf('test/2', 3)).map(({ path }) => path),
      ['/claim', masked, masked],
    )
    assert.doesNotMatch(await readFile(file, 'utf8'), new RegExp(`${token}|guest`))
  })

  test('continues in a new file after it was renamed, for the user of the service only, and loses no line', async () => {
    const before = (await readLines()).length
    const request = (number: number) =>
      sendRequest(service.running.port, {
        path: `/${number}`,
        headers: { host: `${slug}.${SITES}`, 'user-agent': 'test/3' },
      })
    for (let number = 0; number < 20; number++) await request(number)
    await linesOf('test/3', 20)
    await rename(file, `${file}.1`)
    for (let number = 20; number < 40; number++) await request(number)
    await waitFor(async () => (await readLines().catch(() => [])).length === 20)
    assert.equal((await readLines(`${file}.1`)).length, before + 20)
    for (const path of [`${file}.1`, file]) assert.equal((await stat(path)).mode & 0o777, 0o600, path)
  })
})

test('nothing that a client sends begins a line or ends a field', () => {
  const hostile = 'a"b\\c\n127.0.0.1 - - [x] "GET / HTTP/1.1" 200 0\r\u0000\u001b[2J\u009b\u00ff'
  const entry = {
    ...{ time: Date.UTC(2026, 10, 23, 10, 55), address: '192.0.2.0', status: 200, bytes: 1 },
    ...{ method: hostile, host: hostile, path: hostile, query: hostile, socket: {} },
    headers: { referer: hostile, 'user-agent': `${hostile}${'x'.repeat(100_000)}` },
  }
  const combined = combinedLine(entry)
  const [, address, time] = COMBINED.exec(combined.slice(0, -1)) ?? assert.fail(combined)
  assert.deepEqual([address, time], ['192.0.2.0', '23/Nov/2026:10:55:00 +0000'])
  // What is left is the escapes of the log: a program that reads it gets the text back.
  assert.doesNotMatch(combined.replaceAll(/\\x[0-9a-f]{2}/g, ''), /\\/)
  const json = jsonLine(entry)
  assert.equal((JSON.parse(json) as Line).host, hostile)
  for (const line of [combined, json]) {
    assert.equal(line.indexOf('\n'), line.length - 1)
    assert.doesNotMatch(line.slice(0, -1), /\p{Cc}/u)
    assert.ok(line.length < 16_384, `${line.length} characters`)
  }
})

test('a disk that is full drops lines and counts them, and visits are answered', async () => {
  await using service = await startTestService({ ACCESS_LOG: '/dev/full', INTERNAL_PORT: '0' })
  assert.equal((await sendRequest(service.port, { path: '/health' })).status, 200)
  await waitFor(async () => {
    const { text } = await sendRequest(service.service.internalPort!, { path: '/metrics' })
    return /^slipway_access_log_lines_total\{outcome="dropped"\} [1-9]/m.test(text)
  })
  assert.ok(service.log.some(({ message }) => message === 'access log: lines dropped'))
})

test('a line that a full disk has cut is not continued by another one', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(2 ** 20)
  const target = join(disk.folder, 'access.log')
  const [written, dropped] = [new Counter(), new Counter()]
  const open = () => new LogFile({ target, log: silentLog, written, dropped })
  /** Writes a line longer than a flush waits for. */
  const write = async (file: LogFile, letter: string) => {
    const before = written.value + dropped.value
    file.add(`${letter.repeat(70_000)}\n`)
    await waitFor(() => written.value + dropped.value > before)
  }
  const file = open()
  await write(file, 'a')
  await disk.fill(8192)
  await write(file, 'b')
  await write(file, 'c')
  assert.equal(dropped.value, 2)
  await disk.clear()
  await write(file, 'd')
  await disk.fill(8192)
  await write(file, 'e')
  await file[Symbol.asyncDispose]()
  await disk.clear()
  await using restarted = open()
  await write(restarted, 'f')
  const lines = (await readFile(target, 'utf8')).split('\n').filter(Boolean)
  for (const line of lines) assert.match(line, /^(.)\1*$/)
  const wholeLines = lines.filter(({ length }) => length === 70_000).map(([letter]) => letter)
  assert.deepEqual(wholeLines, ['a', 'd', 'f'])
})

test('a file that cannot be read leaves no descriptor open', async () => {
  await using folder = await memoryFolder()
  const target = join(folder.path, 'access.log')
  await writeFile(target, 'a', { mode: 0o200 })
  const parts = { target, log: silentLog, written: new Counter(), dropped: new Counter() }
  const isRoot = process.geteuid!() === 0
  const unprivileged = 65_534
  if (isRoot) chownSync(target, unprivileged, unprivileged)
  chmodSync(folder.path, 0o711)
  const before = readdirSync('/proc/self/fd').length
  try {
    if (isRoot) process.seteuid!(unprivileged)
    assert.throws(() => new LogFile(parts), { code: 'EACCES', path: target })
  } finally {
    if (isRoot) process.seteuid!(0)
  }
  assert.equal(readdirSync('/proc/self/fd').length, before)
})

test('lines that a pipe does not take are dropped at a limit, and counted; the others stay whole', async () => {
  await using folder = await memoryFolder()
  const path = join(folder.path, 'pipe')
  execFileSync('mkfifo', [path])
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const [written, dropped] = [new Counter(), new Counter()]
  const file = new LogFile({
    target: { fd },
    log: silentLog,
    written,
    dropped,
    maxWaitingCharacters: 2 ** 18,
  })
  const lines = Array.from({ length: 5000 }, (_, number) => `${number} ${'x'.repeat(90)}\n`)
  for (const line of lines) file.add(line)
  assert.ok(dropped.value > 0)
  const kept = lines.slice(0, lines.length - dropped.value).join('')
  const reader = createReadStream(path)
  let received = ''
  for await (const chunk of reader) {
    received += chunk
    if (received.length >= kept.length) break
  }
  assert.equal(received, kept)
  await file[Symbol.asyncDispose]()
  assert.equal(written.value + dropped.value, lines.length)
  closeSync(fd)
})
