import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { type Account, expectFailure, startApi } from './api.ts'
import { assertInvalid } from './api-response.ts'

const api = await startApi({ SITE_DOMAIN: 'pages.slipway-test.net', PROXY_HOST: 'edge.slipway-proxy.net' })

/** A new account with a live site, on a plan with five domains. */
async function publisher(): Promise<Account & { slug: string; siteUrl: string }> {
  const account = await api.account()
  await api.setPlan(account.email, 'hobby')
  const { slug, siteUrl } = await api.publish(account.client, { 'index.html': 'home' })
  return { ...account, slug, siteUrl }
}

/** A record without the fields that background checks change. */
function lasting({ reason: _, checkedAt, nextCheckAt, ...record }: DomainRecord) {
  return record
}

describe('a domain that is added', () => {
  const records: [domain: string, type: string, name: string, proof: string, alternate: string | null][] = [
    ['www.example.com', 'CNAME', 'www', '_slipway.www', 'example.com'],
    ['a.b.example.com', 'CNAME', 'a.b', '_slipway.a.b', null],
    ['shop.example.co.uk', 'CNAME', 'shop', '_slipway.shop', null],
    ['example.com', 'ALIAS', '@', '_slipway', 'www.example.com'],
    ['example.co.uk', 'ALIAS', '@', '_slipway', 'www.example.co.uk'],
    ['me.github.io', 'ALIAS', '@', '_slipway', 'www.me.github.io'],
  ]
  test('is pending until two DNS records exist, and lists them', async () => {
    const { key, slug } = await publisher()
    for (const [domain, type, name, proof, alternate] of records) {
      const json = { domain, siteSlug: slug }
      const answer = await api.request('POST', '/api/v1/domains', { key, json })
      assert.equal(answer.status, 201, answer.text)
      const { records, reason, ...rest } = answer.json as DomainRecord
      assert.deepEqual(
        [rest.status, rest.redirectsTo, rest.alternate, rest.verifiedAt],
        ['pending', null, alternate, null],
      )
      assert.equal(rest.nextCheckAt, new Date(api.clock.now).toISOString())
      assert.ok(reason!.length > 10, 'in words')
      assert.deepEqual(
        records.map(({ value: _, ...record }) => record),
        [
          { type, name, found: null, right: null },
          { type: 'TXT', name: proof, found: null, right: null },
        ],
      )
      assert.equal(records[0]!.value, 'edge.slipway-proxy.net')
      assert.match(records[1]!.value, /^\S{20,}$/)
      await api.request('DELETE', `/api/v1/domains/${domain}`, { key })
    }
  })

  test('has a separate verification value for each account and each name', async () => {
    const [one, other] = [await publisher(), await publisher()]
    const proofs = new Set()
    for (const { client, slug } of [one, other]) {
      for (const domain of ['proof.example.com', 'proof.example.org']) {
        proofs.add((await client.addDomain(domain, slug)).records[1]!.value)
      }
    }
    assert.equal(proofs.size, 4)
  })

  test('is listed, found and removed', async () => {
    const { client, slug } = await publisher()
    const names = ['one.example.com', 'two.example.com', 'three.example.com']
    const added = []
    for (const name of names) {
      api.pass()
      added.push(await client.addDomain(name, slug))
    }
    assert.deepEqual((await client.domains()).domains.map(lasting), added.map(lasting))
    const { reason, checkedAt, nextCheckAt, ...checked } = await client.checkDomain('two.example.com')
    assert.deepEqual(checked, lasting(added[1]!))
    assert.equal(checkedAt, new Date(api.clock.now).toISOString())
    assert.ok(Date.parse(nextCheckAt!) > api.clock.now)
    assert.match(reason!, /^two\.example\.com could not be looked up: /)
    assert.deepEqual(await client.removeDomain('two.example.com'), {
      domain: 'two.example.com',
      deleted: true,
    })
    await expectFailure(client.checkDomain('two.example.com'), 'NOT_FOUND')
    await expectFailure(client.removeDomain('two.example.com'), 'NOT_FOUND')
    assert.deepEqual((await client.domains()).domains.map(lasting), [added[0]!, added[2]!].map(lasting))
  })

  const writings: [typed: string, domain: string][] = [
    ['WWW.Example.COM', 'www.example.com'],
    [' www.example.com ', 'www.example.com'],
    ['www.example.com.', 'www.example.com'],
    ['bücher.example.com', 'xn--bcher-kva.example.com'],
    ['BÜCHER.example.com', 'xn--bcher-kva.example.com'],
    ['日本.example.com', 'xn--wgv71a.example.com'],
    ['www。example。com', 'www.example.com'],
    ['xn--bcher-kva.example.com', 'xn--bcher-kva.example.com'],
  ]
  test('is the same in every notation', async () => {
    const { client, slug } = await publisher()
    for (const [typed, domain] of writings) {
      assert.equal((await client.addDomain(typed, slug)).domain, domain)
      assert.equal((await client.checkDomain(typed)).domain, domain)
      await expectFailure(client.addDomain(domain, slug), 'DOMAIN_TAKEN')
      assert.equal((await client.removeDomain(typed)).domain, domain)
    }
  })
})

describe('a name that cannot be a custom domain', () => {
  const names = [
    ...['', ' ', '.', 'exa mple.com', 'example.com\u0000', 'exam\u200bple..com', 'x'.repeat(301)],
    ...[`${'a'.repeat(64)}.example.com`, `${'a.'.repeat(130)}example.com`],
    ...'com localhost co.uk github.io 127.0.0.1 0x7f.1 2130706433 ::1 [::1] 192.168.0.1. x.localhost'.split(
      ' ',
    ),
    ...'pages.slipway-test.net a.b.pages.slipway-test.net edge.slipway-proxy.net x.edge.slipway-proxy.net'.split(
      ' ',
    ),
    ...'*.example.com http://example.com example.com/path example.com?query example.com:8080'.split(' '),
    ...'user@example.com under_score.example.com -a.example.com a-.example.com a..example.com .example.com'.split(
      ' ',
    ),
  ]
  const bodies: [unknown, string[]][] = [
    [{}, ['domain', 'siteSlug']],
    [{ domain: 5, siteSlug: 'x' }, ['domain']],
    [{ domain: 'www.example.com' }, ['siteSlug']],
    [{ domain: 'www.example.com', siteSlug: null }, ['siteSlug']],
    [[], ['body']],
  ]
  test('is refused, and so is a body without a domain and a site', async () => {
    const { slug, request } = await publisher()
    for (const domain of names)
      assertInvalid(await request('POST', '/api/v1/domains', { json: { domain, siteSlug: slug } }), 'domain')
    for (const [json, fields] of bodies)
      assertInvalid(await request('POST', '/api/v1/domains', { json }), ...fields)
    for (const [domain, why] of Object.entries({
      'nas.local': /no certificate authority certifies \.local names/,
      'wiki.corp.internal': /certifies \.internal names/,
      'fritz.lan': /certifies \.lan names/,
      'www.intranet': /certifies \.intranet names/,
      'a.onion': /certifies \.onion names/,
      'my_site.example.com': /without an underscore, for which there are no certificates/,
    })) {
      const { json } = await request('POST', '/api/v1/domains', { json: { domain, siteSlug: slug } })
      assert.match(json.details[0].message, why, domain)
    }
  })

  test('is refused on a server without a public host name, and counts for no limit', async () => {
    await using local = await startApi({ PROXY_HOST: '' })
    const { client } = await local.account()
    const { slug } = await local.publish(client, { 'index.html': 'home' })
    const { hint } = await expectFailure(client.addDomain('www.example.com', slug), 'DOMAINS_UNAVAILABLE')
    assert.match(hint!, /SLIPWAY_PROXY_HOST/)
    assert.equal((await client.me()).usage.domains, 0)
  })
})

test('a plan allows one domain on the free plan and five on hobby, over all sites', async () => {
  for (const [plan, most] of Object.entries({ free: 1, hobby: 5 })) {
    const { email, client, slug } = await publisher()
    await api.setPlan(email, plan)
    for (let number = 0; number < most; number++)
      await client.addDomain(`${plan}-${number}.example.com`, slug)
    const other = await api.publish(client, { 'index.html': 'x' })
    const added = client.addDomain('more.example.com', other.slug)
    const error = await expectFailure(added, 'DOMAIN_LIMIT_REACHED')
    assert.match(error.message, new RegExp(`${most}`))
    await client.removeDomain(`${plan}-0.example.com`)
    await client.addDomain('more.example.com', slug)
    assert.equal((await client.me()).usage.domains, most)
  }
})

test('an invalid domain is refused in every operation', async () => {
  const { key } = await publisher()
  for (const name of ['%20', 'com', '127.0.0.1', 'a%2Fb.example.com', `${'a'.repeat(400)}.com`]) {
    for (const method of ['GET', 'DELETE']) {
      const answer = await api.request(method, `/api/v1/domains/${name}`, { key })
      assert.ok([400, 404].includes(answer.status), `${method} ${name}: ${answer.status}`)
    }
  }
})
