import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Dns } from '../../server/domains/dns/dns.ts'
import { checkRecords, hasProof } from '../../server/domains/dns-check.ts'
import { MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { pluck } from '../support/pluck.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import type { RecordType } from '../tools/knot.ts'
import {
  DomainFixture,
  needsDns,
  PROXY,
  PROXY_ADDRESSES,
  sharedTestDns,
  type TestUser,
} from './domain-fixture.ts'

const EDGE = PROXY.replaceAll('.', '\\.')

interface Case {
  title: string
  domain: string
  zone: [name: string, type: RecordType, ...values: string[]][]
  /** Undefined when only the other record is wrong. */
  reason: RegExp | undefined
  found?: [pointing: unknown, texts?: unknown]
}

// biome-ignore format: one row per case
const pointingCases: Case[] = [
  { title: 'an alias of another host', domain: 'www.one.test', zone: [['www.one.test', 'CNAME', 'elsewhere.one.test.']], reason: new RegExp(`^www\\.one\\.test is an alias of elsewhere\\.one\\.test \\(expected ${EDGE}\\)\\. `), found: [['elsewhere.one.test']] },
  { title: 'an alias of a name whose DNS servers fail', domain: 'www.ten.test', zone: [['www.ten.test', 'CNAME', 'elsewhere.lame.ten.test.'], ['lame.ten.test', 'NS', 'nowhere.ten.test.']], reason: new RegExp(`^www\\.ten\\.test is an alias of elsewhere\\.lame\\.ten\\.test \\(expected ${EDGE}\\), and elsewhere\\.lame\\.ten\\.test could not be looked up: `), found: [['elsewhere.lame.ten.test']] },
  { title: 'an address of another host', domain: 'www.two.test', zone: [['www.two.test', 'A', '198.51.100.7']], reason: new RegExp(`^www\\.two\\.test has the address 198\\.51\\.100\\.7 \\(expected those of ${EDGE}: 192\\.0\\.2\\.1, 2001:db8::1\\)\\. `), found: [['198.51.100.7']] },
  { title: 'one right address and two others', domain: 'three.test', zone: [['three.test', 'A', '192.0.2.1', '198.51.100.7', '198.51.100.8']], reason: /^three\.test has the addresses 192\.0\.2\.1, 198\.51\.100\.7, 198\.51\.100\.8 \(expected only those of /, found: [['192.0.2.1', '198.51.100.7', '198.51.100.8']] },
  { title: 'a right address and a stale IPv6 address', domain: 'stale.test', zone: [['stale.test', 'A', '192.0.2.1'], ['stale.test', 'AAAA', '2001:db8::bad']], reason: /^stale\.test has the addresses 192\.0\.2\.1, 2001:db8::bad \(expected only those of /, found: [['192.0.2.1', '2001:db8::bad']] },
  { title: 'an alias of an alias of the proxy', domain: 'www.four.test', zone: [['www.four.test', 'CNAME', 'hop.four.test.'], ['hop.four.test', 'CNAME', `${PROXY}.`]], reason: undefined, found: [['hop.four.test', PROXY]] },
  { title: 'an alias in capitals', domain: 'www.five.test', zone: [['www.five.test', 'CNAME', `${PROXY.toUpperCase()}.`]], reason: undefined, found: [[PROXY]] },
  { title: 'addresses instead of an alias', domain: 'six.test', zone: [['six.test', 'A', '192.0.2.1']], reason: undefined, found: [['192.0.2.1']] },
  { title: 'an alias of a root whose addresses are those of the service', domain: 'www.seven.test', zone: [['www.seven.test', 'CNAME', 'seven.test.'], ['seven.test', 'AAAA', '2001:db8:0::1']], reason: undefined, found: [['seven.test']] },
  { title: 'a CNAME loop', domain: 'www.eight.test', zone: [['www.eight.test', 'CNAME', 'round.eight.test.'], ['round.eight.test', 'CNAME', 'www.eight.test.']], reason: new RegExp(`^www\\.eight\\.test is an alias of round\\.eight\\.test \\(expected ${EDGE}\\), and round\\.eight\\.test could not be looked up: its CNAME records form a loop\\. `) },
  { title: 'a hundred addresses', domain: 'nine.test', zone: [['nine.test', 'A', ...Array.from({ length: 100 }, (_, number) => `198.51.100.${number}`)]], reason: /^nine\.test has the addresses 198\.51\.100\.\d+, [\d., ]+ and 96 more \(expected / },
]

// biome-ignore format: one row per case
const proofCases: Case[] = [
  { title: 'a value of another service', domain: 'www.eleven.test', zone: [['_slipway.www.eleven.test', 'TXT', 'verify=1']], reason: /^_slipway\.www\.eleven\.test has the TXT value "verify=1" \(expected "slipway-[0-9a-f]{32}"\)\.$/, found: [[PROXY], ['verify=1']] },
  { title: 'six values', domain: 'www.twelve.test', zone: [['_slipway.www.twelve.test', 'TXT', 'a', 'b', 'c', 'd', 'e', 'f']], reason: /has the TXT values "[a-f]", "[a-f]", "[a-f]", "[a-f]" and 2 more \(expected/ },
  { title: 'one under the root domain instead of www', domain: 'www.thirteen.test', zone: [['_slipway.thirteen.test', 'TXT', 'x']], reason: /^No TXT record found for _slipway\.www\.thirteen\.test \(expected/, found: [[PROXY], []] },
  { title: 'a very long value', domain: 'www.fourteen.test', zone: [['_slipway.www.fourteen.test', 'TXT', 'x'.repeat(3000)]], reason: /has the TXT value "x{299}… \(expected/, found: [[PROXY], [`${'x'.repeat(300)}…`]] },
  { title: 'control characters', domain: 'www.bell.test', zone: [['_slipway.www.bell.test', 'TXT', '\u001b[31mred\u0007']], reason: /"�\[31mred�"/, found: [[PROXY], ['�[31mred�']] },
]

const MISPLACED_TEXTS: [domain: string, name: string, entry: string][] = [
  ['www.zone-twice.test', '_slipway.www.zone-twice.test.zone-twice.test', '_slipway.www'],
  ['root-twice.test', '_slipway.root-twice.test.root-twice.test', '_slipway'],
  ['www.at-host.test', 'www.at-host.test', '_slipway.www'],
  ['www.at-root.test', 'at-root.test', '_slipway.www'],
  ['www.without-label.test', '_slipway.without-label.test', '_slipway.www'],
  ['a.b.deep.test', '_slipway.a.b.deep.test.a.b.deep.test', '_slipway.a.b'],
]

test('a proof may be padded with quotes and spaces, up to the length of one TXT string', () => {
  const around = (count: number) => `${' "'.repeat(count)}slipway-proof${'" '.repeat(count)}`
  for (const [count, is] of [
    [0, true],
    [1, true],
    [60, true],
    [61, false],
    [16_000, false],
  ] as const)
    assert.equal(hasProof([around(count)], 'slipway-proof'), is, `${count} on each side`)
  const started = process.cpuUsage()
  for (let check = 0; check < 1000; check++) hasProof([`x${'"'.repeat(65_000)}x`], 'slipway-proof')
  assert.ok(
    process.cpuUsage(started).user < 1e6,
    'a thousand values of maximum length take more than a second',
  )
})

test('a domain does not fail when only some addresses of the proxy could be looked up', async () => {
  const all = ['192.0.2.1', '2001:db8::1']
  const dns: Dns = {
    cname: async () => ({ values: [] }),
    addresses: async (name) =>
      name === PROXY ? { values: all.slice(0, 1), error: 'no response' } : { values: all },
    txt: async () => ({ values: [] }),
    caa: async () => ({ records: [] }),
  }
  const { pointing } = await checkRecords(dns, { domain: 'root.test', verificationToken: 'proof' }, PROXY)
  assert.ok(pointing.is === 'unclear' && pointing.isOurFault)
  assert.match(pointing.message, /domain target, edge\.slipway\.test, could not be looked up \(no response\)/)
})

test('a domain does not fail when the resolver of the service fails for the zone above it, too', async () => {
  const failure = { values: [], error: 'the DNS servers fail' }
  for (const isResolverFailing of [true, false]) {
    const above: string[] = []
    const dns: Dns = {
      cname: async () => failure,
      addresses: async (name) => (name === PROXY ? { values: ['192.0.2.1'] } : failure),
      txt: async () => failure,
      caa: async (name) => {
        above.push(name)
        return { records: [], ...(isResolverFailing && { error: 'the DNS servers fail' }) }
      },
    }
    const domain = { domain: 'www.example.co.uk', verificationToken: 'proof' }
    const { pointing } = await checkRecords(dns, domain, PROXY)
    assert.ok(pointing.is === 'unclear')
    assert.equal(pointing.isOurFault, isResolverFailing)
    assert.equal(/fail for co\.uk, too: contact the administrator$/.test(pointing.message), isResolverFailing)
    assert.deepEqual(above, ['co.uk'])
  }
})

const testDns = sharedTestDns()

describe('the reason of a domain names the problem of', needsDns, () => {
  const fixture = startForAllTests(() => DomainFixture.build(testDns))

  const addAndCheck = async (user: TestUser, { domain, zone }: Case) => {
    await fixture.add(user, domain)
    for (const [name, type, ...values] of zone) await testDns.zone.set(name, type, ...values)
    fixture.advanceClock(4 * SECOND_MS)
    return fixture.domains.check(user.account, domain)
  }

  for (const one of pointingCases) {
    test(`its target: ${one.title}`, async () => {
      const { reason, records } = await addAndCheck(await fixture.createUser(), one)
      assert.match(reason!, one.reason ?? /^No TXT record found for _slipway\.\S+/)
      if (one.found) assert.deepEqual(records[0]!.found, one.found[0])
      if (one.reason === undefined) assert.deepEqual([records[0]!.right, records[1]!.right], [true, false])
      else assert.notEqual(records[0]!.right, true)
    })
  }

  for (const one of proofCases) {
    test(`its proof: ${one.title}`, async () => {
      await fixture.pointToProxy(one.domain)
      const { reason, records } = await addAndCheck(await fixture.createUser(), one)
      assert.match(reason!, one.reason!)
      if (one.found) assert.deepEqual(pluck(records, 'found'), one.found)
    })
  }

  for (const [domain, name, entry] of MISPLACED_TEXTS) {
    test(`its proof at the wrong name ${name}`, async () => {
      const user = await fixture.createUser()
      const { records } = await fixture.add(user, domain)
      await fixture.pointToProxy(domain)
      if (name !== domain) await testDns.zone.set(name, 'TXT', 'other', records[1]!.value)
      else {
        await testDns.zone.remove(domain)
        await testDns.zone.set(domain, 'A', PROXY_ADDRESSES[0])
        await testDns.zone.set(name, 'TXT', records[1]!.value)
      }
      fixture.advanceClock(4 * SECOND_MS)
      const { reason } = await fixture.domains.check(user.account, domain)
      const root = domain.replace(/^(?:www|a\.b)\./, '')
      const sentence = `The TXT record is at ${name} (expected _slipway.${domain}): in the zone ${root} its name is ${entry}`
      assert.ok(reason!.includes(sentence), reason!)
    })
  }

  test('its alias with the zone twice', async () => {
    const user = await fixture.createUser()
    await fixture.add(user, 'www.twice.test')
    await testDns.zone.set('www.twice.test.twice.test', 'CNAME', `${PROXY}.`)
    fixture.advanceClock(4 * SECOND_MS)
    const { reason } = await fixture.domains.check(user.account, 'www.twice.test')
    assert.match(
      reason!,
      /^The CNAME record is at www\.twice\.test\.twice\.test \(expected www\.twice\.test\): in the zone twice\.test its name is www\. /,
    )
  })

  test('its DNS when no server responds', async () => {
    await using isolated = await DomainFixture.build({ ...testDns, servers: '127.0.0.1:1' })
    const user = await isolated.createUser()
    await isolated.add(user, 'www.silent.test')
    await isolated.sweep()
    const { reason, records, checkedAt, nextCheckAt } = await isolated.record(user, 'www.silent.test')
    assert.match(
      reason!,
      /^www\.silent\.test could not be looked up: .*\. _slipway\.www\.silent\.test could not be looked up: /,
    )
    assert.deepEqual(pluck(records, 'found'), [null, null])
    assert.equal(checkedAt, new Date(isolated.clock.now).toISOString())
    assert.equal(
      nextCheckAt,
      new Date(isolated.clock.now + MINUTE_MS).toISOString(),
      'later than with a DNS server that responds',
    )
  })
})
