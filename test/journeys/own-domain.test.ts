import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { type Account, Api } from '../api/api.ts'
import { PROXY, startTestDns, type TestDns } from '../domains/domain-fixture.ts'
import { run as runProgram } from '../operator/program.ts'
import { openBrowser } from '../support/browser.ts'
import { requires } from '../tools/part.ts'
import { type Pebble, startPebble } from '../tools/pebble.ts'
import { freePort } from '../tools/port.ts'

// From two DNS records to https://www.example.test/ in a browser: a real resolver in front of a real authoritative
// server, a real CA that validates over this service's own ports, and real clients that trust only that CA's root.

const SECOND_MS = 1000
const run = promisify(execFile)

describe('a custom domain', requires('knot', 'unbound', 'pebble', 'curl', 'chromium'), () => {
  let internet: TestDns
  let pebble: Pebble
  let api: Api
  let owner: Account & { slug: string }
  let ports: { http: number; https: number }
  let root: string

  before(async () => {
    ports = { http: await freePort(), https: await freePort() }
    internet = await startTestDns()
    pebble = await startPebble({ httpPort: ports.http, tlsPort: ports.https })
    api = await Api.start({
      HOST: '127.0.0.1',
      PORT: `${ports.http}`,
      HTTPS_PORT: `${ports.https}`,
      PROXY_HOST: PROXY,
      DNS_SERVERS: internet.servers,
      ACME_URL: pebble.directory,
      ACME_CA_FILE: pebble.caFile,
      ACME_EMAIL: 'operator@example.com',
    })
    api.clock.now = Date.now()
    root = join(api.data, 'root.pem')
    await writeFile(root, await pebble.root())
    const account = await api.account()
    const { slug } = await api.publish(account.client, {
      'index.html':
        '<!doctype html><html lang="en"><title>My own</title><link rel="icon" href="data:,"><h1>My own</h1>',
      'deep/page.html': 'a page',
    })
    owner = { ...account, slug }
  })

  after(async () => {
    await api?.[Symbol.asyncDispose]()
    await pebble?.[Symbol.asyncDispose]()
    await internet?.[Symbol.asyncDispose]()
  })

  /** Repeats the due jobs of the service until the record has the expected state. */
  async function until(domain: string, wanted: (record: DomainRecord) => boolean): Promise<DomainRecord> {
    for (;;) {
      await api.sweep('domains')
      await api.sweep('slow-domains')
      await api.sweep('certificates')
      const record = await owner.client.checkDomain(domain)
      if (wanted(record)) return record
      api.pass(4 * SECOND_MS)
    }
  }

  function enter(records: DomainRecord['records'], zone: string): Promise<unknown> {
    return Promise.all(
      records.map(({ type, name, value }) => {
        const full = name === '@' ? zone : `${name}.${zone}`
        if (type === 'TXT') return internet.zone.set(full, 'TXT', value)
        if (type === 'CNAME') return internet.zone.set(full, 'CNAME', `${value}.`)
        return internet.zone.set(full, 'A', '192.0.2.1')
      }),
    )
  }

  const curl = async (url: string, ...more: string[]) => {
    const host = new URL(url).hostname
    const at = [ports.http, ports.https].flatMap((port) => ['--resolve', `${host}:${port}:127.0.0.1`])
    const write = ['--write-out', '\n%{http_code} %{http_version} %{redirect_url}']
    const usual = ['--silent', '--cacert', root]
    const { stdout } = await run('curl', [...usual, ...at, ...write, ...more, url])
    const [body, status, version, location] = /^(.*)\n(\d+) (\S+) (.*)$/s.exec(stdout)!.slice(1)
    return { body, status: Number(status), version, location }
  }

  test('becomes active with HTTPS automatically once its two records are in DNS', async () => {
    const added = await owner.client.addDomain('www.example.test', owner.slug)
    assert.equal(added.status, 'pending')
    await assert.rejects(curl(`https://www.example.test:${ports.https}/`), 'no HTTPS before')
    await enter(added.records, 'example.test')
    const active = await until('www.example.test', ({ certificate }) => certificate.status === 'active')
    assert.deepEqual([active.status, active.reason], ['active', null])
    const { code, lines } = await runProgram(['certificates'], api.settings)
    const ends = active.certificate.expiresAt!.slice(0, 16).replace('T', ' ')
    assert.match(lines[1]!, new RegExp(`^www\\.example\\.test +${ends} `))
    assert.deepEqual([code, lines.length], [0, 2])
  })

  for (const version of ['1.1', '2']) {
    test(`opens in a client that trusts that CA alone, over HTTP/${version}`, async () => {
      const url = `https://www.example.test:${ports.https}/deep/page`
      const flag = version === '2' ? '--http2' : '--http1.1'
      assert.deepEqual(await curl(url, flag), { body: 'a page', status: 200, version, location: '' })
    })
  }

  test('opens in a browser without a certificate warning', async () => {
    const { store } = await api.operator()
    const { chain } = (await store.read.certificates.find('www.example.test'))!
    const above = chain!.slice(chain!.lastIndexOf('-----BEGIN'))
    assert.ok(new X509Certificate(above).verify(new X509Certificate(await pebble.root()).publicKey))
    const key = new X509Certificate(above).publicKey.export({ type: 'spki', format: 'der' })
    const hash = createHash('sha256').update(key).digest('base64')
    await using browser = await openBrowser(
      '--host-resolver-rules=MAP www.example.test 127.0.0.1',
      `--ignore-certificate-errors-spki-list=${hash}`,
    )
    const { page, complaints } = browser
    const response = await page.goto(`https://www.example.test:${ports.https}/`)
    assert.equal(response?.status(), 200)
    assert.equal(await page.textContent('h1'), 'My own')
    assert.equal((await response?.securityDetails())?.protocol, 'TLS 1.3')
    assert.deepEqual(complaints, [])
  })

  test('adds its root domain, which redirects to it', async () => {
    const { alternate } = await owner.client.checkDomain('www.example.test')
    assert.equal(alternate, 'example.test')
    const added = await owner.client.addDomain('example.test', owner.slug)
    assert.equal(added.redirectsTo, 'www.example.test')
    await internet.zone.set('example.test', 'A', '192.0.2.1')
    await internet.zone.set('example.test', 'AAAA', '2001:db8::1')
    await enter(
      added.records.filter(({ type }) => type === 'TXT'),
      'example.test',
    )
    await until('example.test', ({ certificate }) => certificate.status === 'active')
    const to = `https://www.example.test:${ports.https}/deep/page`
    for (const from of [`http://example.test:${ports.http}`, `https://example.test:${ports.https}`]) {
      const { status, location } = await curl(`${from}/deep/page`)
      assert.deepEqual([status, location], [308, to])
    }
  })

  test('gets another certificate as soon as the operator asks for it', async () => {
    const read = async () => (await owner.client.checkDomain('www.example.test')).certificate.issuedAt
    const before = await read()
    api.pass(SECOND_MS)
    const { code, lines } = await runProgram(['certificates', 'renew', 'www.example.test'], api.settings)
    assert.deepEqual([code, lines], [0, ['Due now: 1. The service orders them within the limits of the CA.']])
    const { store } = await api.operator()
    const { renewAt, dueAt } = (await store.read.certificates.find('www.example.test'))!
    // By the clock of the command, which may be ahead of that of the service.
    assert.ok(renewAt! <= Date.now() && dueAt! <= Date.now(), 'it is due')
    await until('www.example.test', ({ certificate }) => certificate.issuedAt !== before)
    assert.equal((await curl(`https://www.example.test:${ports.https}/deep/page`)).body, 'a page')
  })

  test('is not served once it is removed', async () => {
    await owner.client.removeDomain('www.example.test')
    await assert.rejects(curl(`https://www.example.test:${ports.https}/`))
    assert.equal((await curl(`http://www.example.test:${ports.http}/`)).status, 404)
    assert.equal((await curl(`https://example.test:${ports.https}/deep/page`)).body, 'a page')
  })
})
