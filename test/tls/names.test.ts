import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { hello } from './build-client-hello.ts'
import { SecureService, SITES, UNKNOWN_NAME } from './secure-service.ts'

let service: SecureService
let slug: string
before(async () => {
  service = await SecureService.start()
  slug = (await service.publish({ 'index.html': 'home' })).slug
})
after(() => service[Symbol.asyncDispose]())

test('an active domain has its certificate in any spelling of its name', async () => {
  await service.addSecureDomain('www.example.test', slug)
  for (const name of ['www.example.test', 'WWW.Example.TEST', 'www.example.test.'])
    assert.equal(await service.namesFor(name), 'DNS:www.example.test')
})

test('with certificates for single sites, a host has one exactly while its site exists', async () => {
  await using own = await SecureService.start({ SITE_CERTIFICATES: '5' })
  const site = await own.publish({ 'index.html': 'home' })
  const host = `${site.slug}.${SITES}`
  assert.equal(await own.namesFor(host), UNKNOWN_NAME)
  for (const name of [host, `unknown.${SITES}`, `${site.versionId}--${site.slug}.${SITES}`])
    await own.certify(name)
  assert.equal(await own.namesFor(host), `DNS:${host}`)
  assert.equal((await own.secure(host)).body.toString(), 'home')
  for (const name of [`unknown.${SITES}`, `${site.versionId}--${site.slug}.${SITES}`, SITES])
    assert.equal(await own.namesFor(name), UNKNOWN_NAME, name)
})

describe('a handshake is refused, without a write, for a name', () => {
  const held = {
    domain: 'held.test',
    accountId: 'another-account',
    verificationToken: 'proof',
    until: Date.UTC(2090),
  }
  const refused: Record<string, () => Promise<void>> = {
    'that was never added': async () => undefined,
    'that is pending': async () => {
      await service.addDomain('pending.test', slug, { status: 'pending' })
      await service.certify('pending.test')
    },
    'that is active and has no certificate yet': async () => service.addDomain('waiting.test', slug),
    'whose first certificate is being ordered': async () => {
      await service.addDomain('ordered.test', slug)
      await service.certify('ordered.test', undefined, { chain: null, key: null })
    },
    'that was deleted': async () => {
      await service.addSecureDomain('deleted.test', slug)
      assert.equal(await service.namesFor('deleted.test'), 'DNS:deleted.test')
      await service.change(['deleted.test'], async (tx) => {
        await tx.domains.remove('an-account', 'deleted.test')
      })
    },
    'that is reserved for an account': async () => {
      await service.certify('held.test')
      await service.change([], (tx) => tx.domains.reserve(held))
    },
    'that went back to pending': async () => {
      await service.addSecureDomain('failed.test', slug)
      assert.equal(await service.namesFor('failed.test'), 'DNS:failed.test')
      await service.change(['failed.test'], (tx) =>
        tx.domains.update({ accountId: 'an-account', domain: 'failed.test' }, { status: 'pending' }),
      )
    },
    'that is an IP address': async () => undefined,
    'of a site while the site domain has no certificate': async () => undefined,
  }
  const names = [
    'nobody.test',
    'pending.test',
    'waiting.test',
    'ordered.test',
    'deleted.test',
    'held.test',
    'failed.test',
    '192.0.2.7',
    `any-site.${SITES}`,
  ]
  for (const [index, [why, prepare]] of Object.entries(refused).entries()) {
    test(why, async () => {
      await prepare()
      const name = names[index]!
      const [before, problems] = [await contents(), service.running.log.length]
      if (name === '192.0.2.7') assert.equal(await alertFor(name), 112)
      else for (let time = 0; time < 3; time++) assert.equal(await service.namesFor(name), UNKNOWN_NAME)
      assert.deepEqual(await contents(), before)
      assert.deepEqual(service.running.log.slice(problems), [])
    })
  }

  /** The rows that a handshake could write. */
  async function contents() {
    const { read } = service.store
    return JSON.stringify([
      await read.certificates.due(Number.MAX_SAFE_INTEGER, 100, { withOrders: true }),
      await read.certificates.missing(100),
      await read.certificates.unneeded([], 100),
      await read.domains.bySite(slug),
    ])
  }

  /** Node's client does not send IP addresses as server names. */
  async function alertFor(name: string): Promise<number> {
    const socket = await service.raw()
    socket.write(hello({ serverName: name }))
    const [alert] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    return alert[6]!
  }
})

test('a name is served as soon as it is active and has a certificate, by every process on the store', async () => {
  await using other = await SecureService.start({ DATA: service.running.data })
  const both = [service, other]
  const name = 'new.test'
  for (const one of both) assert.equal(await one.namesFor(name), UNKNOWN_NAME)
  await service.addDomain(name, slug)
  for (const one of both) assert.equal(await one.namesFor(name), UNKNOWN_NAME)
  await service.certify(name)
  assert.equal(await service.namesFor(name), 'DNS:new.test')
  // The other process gets the change through the store.
  while ((await other.namesFor(name)) === UNKNOWN_NAME) await turn()
  assert.equal((await other.secure(name)).body.toString(), 'home')
})

test('a renewed certificate is used from the next handshake on', async () => {
  await service.addSecureDomain('renewed.test', slug)
  const before = await serial()
  assert.equal(await serial(), before)
  await service.renew('renewed.test')
  assert.notEqual(await serial(), before)

  async function serial(): Promise<string> {
    const socket = await service.handshake('renewed.test')
    const { serialNumber } = socket.getPeerCertificate()
    socket.destroy()
    return serialNumber
  }
})

test('an invalid certificate is logged with its name, and does not affect other names', async () => {
  await service.addSecureDomain('sound.test', slug)
  await service.addDomain('broken.test', slug)
  await service.certify('broken.test', undefined, { chain: 'no certificate' })
  assert.equal(await service.namesFor('broken.test'), 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR')
  const line = service.running.log.findLast(({ message }) => message === 'TLS handshake failed')
  assert.equal(line?.name, 'broken.test')
  assert.equal(await service.namesFor('sound.test'), 'DNS:sound.test')
})

test('a service with another secret logs why it cannot use its certificates', async () => {
  await service.addSecureDomain('sealed.test', slug)
  const { data } = service.running
  await using other = await SecureService.start({ DATA: data, SECRET: 'another one, that is long enough' })
  assert.equal(await other.namesFor('sealed.test'), UNKNOWN_NAME)
  const lines = other.running.log.filter(({ message }) => /SLIPWAY_SECRET differs/.test(String(message)))
  assert.deepEqual(
    lines.map(({ level, name }) => [level, name]),
    [['error', 'sealed.test']],
  )
})
