import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { program } from '../../scripts/program.mjs'
import { ProbeToken } from '../../server/lib/probe-token.ts'
import { DAY_MS } from '../../server/lib/time.ts'
import { FakeCa } from '../acme/fake-ca.ts'
import { Issuer } from '../certificates/issuer.ts'
import { listen } from '../support/listen.ts'
import { startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { startSmtp } from '../tools/smtp.ts'
import { run, type Settings } from './program.ts'

const SECRET = 'a secret that no line of a check contains'

/** Runs the command and returns its lines. */
async function check(settings: Settings, args: string[] = []): Promise<string[]> {
  const { code, lines, stderr } = await run(['check', ...args], settings)
  assert.deepEqual([code, stderr], [lines.some((line) => line.startsWith('FAILED')) ? 1 : 0, ''])
  assert.doesNotMatch(lines.join(), new RegExp(SECRET))
  return lines
}

/** An HTTP proxy that appends the address of the client. */
async function startProxy(port: number) {
  const proxy = createServer((incoming, outgoing) => {
    const forwarded = [incoming.headers['x-forwarded-for'] ?? [], '127.0.0.1'].flat().join(', ')
    const headers = { ...incoming.headers, 'x-forwarded-for': forwarded }
    request({ port, path: incoming.url, headers }, (response) => {
      outgoing.writeHead(response.statusCode!, response.headers)
      response.pipe(outgoing)
    }).end()
  })
  return {
    url: `http://127.0.0.1:${await listen(proxy)}`,
    async [Symbol.asyncDispose]() {
      proxy.close()
      proxy.closeAllConnections()
      await once(proxy, 'close')
    },
  }
}

test('the token of a check is valid for a minute, with the secret of the service only', () => {
  const token = new ProbeToken(SECRET)
  const created = token.create(1_000_000)
  assert.ok(token.isValid(created, 1_060_000) && token.isValid(created, 940_000))
  for (const [given, now] of [
    [created, 1_060_001],
    [created.replace('1000000', '1060001'), 1_060_001],
    [new ProbeToken(`${SECRET}, but another one`).create(1_000_000), 1_000_000],
    [undefined, 1_000_000],
    ['', 0],
  ] as const)
    assert.equal(token.isValid(given, now), false, `${given}`)
})

describe('a check of one machine', () => {
  const opened = new AsyncDisposableStack()
  let data: string
  before(async () => {
    data = join(opened.use(await memoryFolder()).path, 'data')
    await mkdir(data, { mode: 0o700 })
  })
  after(() => opened.disposeAsync())

  const own = (): Settings => ({ PORT: '0', DATA: data })

  /** The line of a part. */
  async function findLine(part: string, settings: Settings, args?: string[]): Promise<string> {
    const found = (await check({ ...own(), ...settings }, args)).filter((line) => line.includes(` ${part}: `))
    return found.join('\n')
  }

  test('has a line for each part, and no part of a new service fails', async () => {
    const lines = await check(own())
    assert.deepEqual(
      lines.map((line) => /^(\w+) +([\w ]+):/.exec(line)?.slice(1).join(' ')),
      [
        'ok settings',
        'ok port',
        'ok data folder',
        'ok disk flush',
        'ok disk space',
        'ok disk inodes',
        'ok secret',
        'WARNING mail',
        'ok DNS',
        'ok DNS',
        'ok DNS',
      ],
    )
  })

  test('names settings that do not exist, and each value that is not allowed', async () => {
    const lines = await check({ ...own(), BASE_URI: 'x', WORKERS: 'many' })
    assert.equal(lines.length, 2)
    assert.match(
      lines.join('\n'),
      /^FAILED {2}settings: SLIPWAY_BASE_URI is not a setting\. Did you mean SLIPWAY_BASE_URL\?/m,
    )
    assert.match(lines.join('\n'), /^FAILED {2}settings: SLIPWAY_WORKERS="many" is not allowed/m)
  })

  test('names the process that has a port', async () => {
    const other = createServer()
    const PORT = String(await listen(other))
    const taken = await findLine('port', { PORT })
    assert.match(taken, new RegExp(`^FAILED  port: Port ${PORT} is in use.* It is process ${process.pid}: `))
    other.close()
  })

  test('passes beside the running service, and not beside another one', async () => {
    for (const settings of [{}, { PROXY_PROTOCOL: 'private' }]) {
      await using service = await startTestService(settings)
      const PORT = String(service.port)
      assert.equal(
        await findLine('port', { PORT, DATA: service.data, ...settings }),
        `ok      port: SLIPWAY_PORT: the service is running, and listens on ${PORT}`,
      )
    }
    await using service = await startTestService()
    const PORT = String(service.port)
    assert.match(await findLine('port', { PORT }), /^FAILED {2}port: Port \d+ is in use/)
  })

  test('fails with less free space than the reserve', async () => {
    const line = await findLine('disk space', { DISK_RESERVE: '900GB' })
    assert.match(line, /^FAILED {2}disk space: .* are free of .*less than SLIPWAY_DISK_RESERVE .*make room/)
  })

  test('fails when Chromium does not start', async () => {
    const line = await findLine('thumbnails', { CHROMIUM: '/bin/false', CHROMIUM_SANDBOX: 'off' })
    assert.equal(line, 'FAILED  thumbnails: SLIPWAY_CHROMIUM: /bin/false: Chromium ended (1)')
  })

  test('draws a page with Chromium', requires('chromium'), async () => {
    const settings = { CHROMIUM: program('chromium-headless-shell')!, CHROMIUM_SANDBOX: 'off' }
    assert.match(await findLine('thumbnails', settings), /^ok {6}thumbnails: .* has drawn a page$/)
  })

  test('fails when the access log cannot be written', async () => {
    const missing = await findLine('access log', { ACCESS_LOG: join(data, 'absent', 'access.log') })
    assert.match(
      missing,
      /^FAILED {2}access log: SLIPWAY_ACCESS_LOG: .* cannot write to .*: create its folder/,
    )
    assert.match(await findLine('access log', { ACCESS_LOG: data }), /^FAILED/)
    assert.match(await findLine('access log', { ACCESS_LOG: join(data, 'access.log') }), /^ok/)
  })

  test('fails when other users can read the secret, and when it is short', async () => {
    await using folder = await memoryFolder()
    const file = join(folder.path, 'secret')
    await writeFile(file, SECRET)
    await chmod(file, 0o640)
    const readable = await findLine('secret', { DATA: folder.path })
    assert.match(readable, /^FAILED {2}secret: .* can be read by other users: chmod 600 /)
    await writeFile(file, 'short')
    assert.match(
      await findLine('secret', { DATA: folder.path }),
      /^FAILED {2}secret: .* must have at least 32 characters$/,
    )
  })

  const NAMES = ['*.sites.test', 'slipway.example']
  for (const [status, message, from, until, names = NAMES] of [
    ['ok', /UTC$/, -1, 6],
    ['ok', /UTC$/, -60, 30],
    ['WARNING', /UTC: replace it/, -82, 8],
    ['WARNING', /UTC: replace it/, -6.5, 0.5],
    ['FAILED', /UTC: browsers refuse it/, -90, -0.1],
    ['FAILED', /but only from .* UTC: browsers refuse it/, 1, 90],
    ['FAILED', /PEM/, 0, 0],
    ['WARNING', /not for slipway\.example/, -1, 60, NAMES.slice(0, 1)],
  ] as [string, RegExp, number, number, string[]?][])
    test(`says ${status} of a certificate file for ${names} that is valid from day ${from} to ${until}`, async () => {
      await using folder = await memoryFolder()
      const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(folder.path, 'chain'), join(folder.path, 'key')]
      const issuer = await Issuer.create()
      const life = { notBefore: Date.now() + from * DAY_MS, notAfter: Date.now() + until * DAY_MS }
      const { chain, key } = await issuer.issueWithKey({ names, ...life })
      await writeFile(TLS_CERT_FILE, from === until ? 'no certificate' : chain)
      await writeFile(TLS_KEY_FILE, key)
      const hosts = { BASE_URL: 'https://slipway.example', SITE_DOMAIN: 'sites.test' }
      const settings = { HTTPS_PORT: '0', ...hosts, TLS_CERT_FILE, TLS_KEY_FILE }
      const line = await findLine('certificate file', { ...settings, ACME_URL: 'https://127.0.0.1:1/' })
      assert.deepEqual([line.split(' ', 1)[0], message.test(line)], [status, true], line)
    })

  test('sends an email on request', requires('smtp'), async () => {
    await using smtp = await startSmtp()
    const line = await findLine('mail', { SMTP_URL: smtp.url }, ['--mail', 'ann@example.test'])
    assert.match(line, /accepted an email to ann@example\.test/)
    const [letter] = await smtp.letters()
    assert.equal(letter!.to, 'ann@example.test')
    assert.match(
      await findLine('mail', {}, ['--mail', 'ann@example.test']),
      /^FAILED .*SLIPWAY_SMTP_URL is not set/,
    )
    const { code, stderr } = await run(['check', '--mail', 'no address'], own())
    assert.deepEqual(
      [code, stderr],
      [1, 'slipway-server: email: must be an email address such as name@example.com\n'],
    )
  })

  test('asks the certificate authority for its directory, and compares the clocks', async () => {
    await using ca = await FakeCa.start()
    const https = { HTTPS_PORT: String(await freePort()), ACME_URL: ca.directory, ACME_CA_FILE: ca.caFile }
    const find = (settings: Settings = {}) => findLine('certificate authority', { ...https, ...settings })
    assert.match(await find(), /^ok {6}certificate authority: .* answers$/)
    assert.match(await find({ ACME_CA_FILE: '' }), /^FAILED .*untrusted certificate .*SLIPWAY_ACME_CA_FILE/)
    ca.profiles = { tlsserver: 'for servers' }
    assert.match(await find({ ACME_PROFILE: 'other' }), /^FAILED .*no profile other.*Available: tlsserver/)
    ca.override = async (_, runDefault) => {
      const answer = await runDefault()
      const headers = { date: new Date(Date.now() - 3_600_000).toUTCString() }
      return typeof answer === 'function' ? answer : { ...answer, headers }
    }
    assert.match(await findLine('clock', https), /^FAILED {2}clock: .* differ by 3\d\d\d\.\d s: synchronize/)
    assert.deepEqual(new Set(ca.requests.map(({ endpoint }) => endpoint)), new Set(['directory']))
  })

  test('requests the base URL, and says how many proxies are in front of the service', async () => {
    await using service = await startTestService({ DATA: data, SECRET })
    await using proxy = await startProxy(service.port)
    const find = (settings: Settings = {}) =>
      findLine('proxies', { PORT: String(service.port), SECRET, BASE_URL: proxy.url, ...settings })
    assert.match(await find({ TRUSTED_PROXIES: '1' }), /^ok {6}proxies: .* behind one proxy$/)
    assert.match(await find(), /^FAILED .* behind one proxy, .* all visitors .* set it to 1$/)
    assert.match(await find({ TRUSTED_PROXIES: '2' }), /^FAILED .* can forge their address; set it to 1$/)
    const stranger = await find({ SECRET: `${SECRET}, but another one` })
    assert.match(stranger, /^FAILED .* leads to another service, or to one with another secret/)
    const nothing = await find({ BASE_URL: `http://127.0.0.1:${await freePort()}` })
    assert.match(nothing, /^WARNING proxies: .*ECONNREFUSED.*start the service and check again$/)
  })
})
