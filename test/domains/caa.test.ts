import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type CaaPolicy, findCaaProblem } from '../../server/domains/caa.ts'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import type { DomainService } from '../../server/domains/domain.ts'
import type { DomainCertificates } from '../../server/domains/status.ts'
import { SECOND_MS } from '../../server/lib/time.ts'
import { PATIENT } from '../support/patient.ts'
import { DomainFixture, needsDns, sharedTestDns } from './domain-fixture.ts'

const ACCOUNT = 'https://ca.example/acme/acct/1'
const POLICY: CaaPolicy = {
  identities: ['ca.example', 'old-ca.example'],
  accountUrl: ACCOUNT,
  validationMethods: ['http-01', 'tls-alpn-01'],
}

const testDns = sharedTestDns()

/** The records at names, and whether they forbid a certificate for the first name. RFC 8659, 3 and 4; RFC 8657. */
// biome-ignore format: one case a row
const CASES: [title: string, domain: string, records: [name: string, ...records: string[]][], isForbidden: boolean][] = [
  ['no record', 'www.c1.test', [], false],
  ['the authority', 'www.c2.test', [['www.c2.test', '0 issue "ca.example"']], false],
  ['another name of it, in capitals, among others', 'www.c3.test', [['www.c3.test', '0 issue "other.example"', '0 ISSUE "OLD-CA.example"']], false],
  ['another authority', 'www.c4.test', [['www.c4.test', '0 issue "other.example"']], true],
  ['another authority at the root domain', 'www.c5.test', [['c5.test', '0 issue "other.example"']], true],
  ['the nearest set, however the one above reads', 'www.c6.test', [['c6.test', '0 issue "other.example"'], ['www.c6.test', '0 issue "ca.example"']], false],
  ['the nearest set, which has no issue property', 'www.c7.test', [['c7.test', '0 issue "other.example"'], ['www.c7.test', '0 iodef "mailto:a@c7.test"']], false],
  ['no authority', 'www.c8.test', [['www.c8.test', '0 issue ";"']], true],
  ['no authority for wildcards', 'www.c9.test', [['www.c9.test', '0 issuewild ";"']], false],
  ['an authority for wildcards only', 'www.c10.test', [['www.c10.test', '0 issue ";"', '0 issuewild "ca.example"']], true],
  ['an unknown property', 'www.c11.test', [['www.c11.test', '0 issue "ca.example"', '0 tbs "x"']], false],
  ['an unknown critical property', 'www.c12.test', [['www.c12.test', '0 issue "ca.example"', '128 tbs "x"']], true],
  ['a critical known property', 'www.c13.test', [['www.c13.test', '128 issue "ca.example"']], false],
  ['the account', 'www.c14.test', [['www.c14.test', `0 issue "ca.example; accounturi=${ACCOUNT}"`]], false],
  ['another account', 'www.c15.test', [['www.c15.test', `0 issue "ca.example; accounturi=${ACCOUNT}2"`]], true],
  ['two accounts', 'www.c16.test', [['www.c16.test', `0 issue "ca.example; accounturi=${ACCOUNT}; accounturi=${ACCOUNT}"`]], true],
  ['a method that is used', 'www.c17.test', [['www.c17.test', '0 issue "ca.example; validationmethods=dns-01,http-01"']], false],
  ['a method that is not used', 'www.c18.test', [['www.c18.test', '0 issue "ca.example;validationmethods=dns-01"']], true],
  ['a parameter that is unknown', 'www.c19.test', [['www.c19.test', '0 issue "ca.example; policy=ev"']], false],
  ['a malformed value', 'www.c20.test', [['www.c20.test', '0 issue "ca.example %%%"']], true],
  ['a malformed parameter', 'www.c21.test', [['www.c21.test', '0 issue "ca.example; x"']], true],
]

describe('CAA records with', needsDns, () => {
  for (const [title, domain, records, isForbidden] of CASES) {
    test(`${title} ${isForbidden ? 'forbid' : 'permit'} a certificate`, async () => {
      for (const [name, ...values] of records) await testDns.zone.set(name, 'CAA', ...values)
      const dns = resolverDns({ servers: [testDns.servers], timeoutMs: PATIENT.dns })
      const problem = await findCaaProblem(dns, domain, POLICY)
      assert.equal(problem !== undefined, isForbidden, problem ?? 'permitted')
    })
  }

  test('another authority are no problem for one that publishes no name of its own', async () => {
    await testDns.zone.set('c22.test', 'CAA', '0 issue "other.example"')
    const dns = resolverDns({ servers: [testDns.servers], timeoutMs: PATIENT.dns })
    assert.equal(await findCaaProblem(dns, 'c22.test', { ...POLICY, identities: [] }), undefined)
    assert.match((await findCaaProblem(dns, 'c22.test', POLICY))!, /^c22\.test has the CAA record /)
  })
})

test('CAA records above a name whose own are not known are no problem', async () => {
  const [record] = [{ critical: false, tag: 'issue', value: 'other.example' }]
  const problemWith = (error?: string) =>
    findCaaProblem(
      {
        caa: async (name) =>
          name === 'c23.test' ? { records: [record] } : { records: [], ...(error && { error }) },
      },
      'www.c23.test',
      POLICY,
    )
  assert.match((await problemWith())!, /^c23\.test has the CAA record /)
  assert.equal(await problemWith('SERVFAIL'), undefined)
})

describe('a domain whose CAA records forbid its certificate', needsDns, () => {
  let fixture: DomainFixture
  let domains: DomainService
  const requested: string[] = []
  before(async () => {
    fixture = await DomainFixture.build(testDns)
    const certificates: DomainCertificates = {
      request: async (_, name) => void requested.push(name),
      release: async () => undefined,
      retry: async () => undefined,
      statuses: async () => new Map(),
      caaPolicy: async () => POLICY,
    }
    domains = fixture.createDomainService({ certificates })
  })
  after(async () => {
    domains[Symbol.dispose]()
    await fixture[Symbol.asyncDispose]()
  })

  test('stays pending, names the record and what to add, requests no certificate, is active once that is there, and then warns of a record that forbids the renewal', async () => {
    const user = await fixture.createUser()
    await testDns.zone.set('caa.test', 'CAA', '0 issue "other.example"', '0 iodef "mailto:a@caa.test"')
    await fixture.addRecords(await domains.add(user.account, 'www.caa.test', user.slug))
    const check = async () => {
      fixture.advanceClock(5 * SECOND_MS)
      return domains.check(user.account, 'www.caa.test')
    }
    await check()
    const { status, reason } = await check()
    assert.equal(status, 'pending')
    assert.equal(
      reason,
      'caa.test has the CAA record 0 issue "other.example", which does not permit the certificate authority of this server: add the CAA record 0 issue "ca.example" to caa.test.',
    )
    assert.deepEqual(requested, [])
    await testDns.zone.add('caa.test', 'CAA', '0 issue "ca.example"')
    await check()
    assert.equal((await check()).status, 'active')
    assert.deepEqual(requested, ['www.caa.test'])
    // A record that appears later forbids the renewal.
    await testDns.zone.set('caa.test', 'CAA', '0 issue "other.example"')
    const warned = await check()
    assert.equal(warned.status, 'active')
    assert.match(
      warned.reason!,
      /^caa\.test has the CAA record .+ to caa\.test; until then, the certificate cannot be renewed\.$/,
    )
    await testDns.zone.add('caa.test', 'CAA', '0 issue "ca.example"')
    assert.equal((await check()).reason, null)
  })
})
