import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { RecordType } from '../tools/knot.ts'
import { requires } from '../tools/part.ts'
import {
  DomainFixture,
  MINUTE_MS,
  PROXY,
  SECOND_MS,
  startTestDns,
  type TestDns,
  type TestUser,
} from './town.ts'

const EDGE = PROXY.replaceAll('.', '\\.')

interface Case {
  sentence: string
  domain: string
  zone: [name: string, type: RecordType, ...values: string[]][]
  /** Undefined when only the other record is to be complained about. */
  says: RegExp | undefined
  found?: [pointing: unknown, texts?: unknown]
}

const places: Case[] = [
  {
    sentence: 'an alias of something else',
    domain: 'www.one.test',
    zone: [['www.one.test', 'CNAME', 'elsewhere.one.test.']],
    says: new RegExp(`^www\\.one\\.test is an alias of elsewhere\\.one\\.test, expected ${EDGE};`),
    found: [['elsewhere.one.test']],
  },
  {
    sentence: 'an alias of a name whose servers fail',
    domain: 'www.ten.test',
    zone: [
      ['www.ten.test', 'CNAME', 'elsewhere.lame.ten.test.'],
      ['lame.ten.test', 'NS', 'nowhere.ten.test.'],
    ],
    says: new RegExp(
      `^www\\.ten\\.test is an alias of elsewhere\\.lame\\.ten\\.test, expected ${EDGE}; and elsewhere\\.lame\\.ten\\.test could not be looked up: `,
    ),
    found: [['elsewhere.lame.ten.test']],
  },
  {
    sentence: 'an address of somebody else',
    domain: 'www.two.test',
    zone: [['www.two.test', 'A', '198.51.100.7']],
    says: new RegExp(
      `^www\\.two\\.test has the address 198\\.51\\.100\\.7, expected those of ${EDGE}: 192\\.0\\.2\\.1, 2001:db8::1;`,
    ),
    found: [['198.51.100.7']],
  },
  {
    sentence: 'one right address and two others',
    domain: 'three.test',
    zone: [['three.test', 'A', '192.0.2.1', '198.51.100.7', '198.51.100.8']],
    says: /^three\.test has the addresses 192\.0\.2\.1, 198\.51\.100\.7, 198\.51\.100\.8, expected only those of /,
    found: [['192.0.2.1', '198.51.100.7', '198.51.100.8']],
  },
  {
    sentence: 'an alias of an alias that leads here',
    domain: 'www.four.test',
    zone: [
      ['www.four.test', 'CNAME', 'hop.four.test.'],
      ['hop.four.test', 'CNAME', `${PROXY}.`],
    ],
    says: undefined,
    found: [['hop.four.test', PROXY]],
  },
  {
    sentence: 'an alias in capitals',
    domain: 'www.five.test',
    zone: [['www.five.test', 'CNAME', `${PROXY.toUpperCase()}.`]],
    says: undefined,
    found: [[PROXY]],
  },
  {
    sentence: 'addresses in place of an alias',
    domain: 'six.test',
    zone: [['six.test', 'A', '192.0.2.1']],
    says: undefined,
    found: [['192.0.2.1']],
  },
  {
    sentence: 'an alias of a root whose addresses are those of the service',
    domain: 'www.seven.test',
    zone: [
      ['www.seven.test', 'CNAME', 'seven.test.'],
      ['seven.test', 'AAAA', '2001:db8:0::1'],
    ],
    says: undefined,
    found: [['seven.test']],
  },
  {
    sentence: 'aliases in a circle',
    domain: 'www.eight.test',
    zone: [
      ['www.eight.test', 'CNAME', 'round.eight.test.'],
      ['round.eight.test', 'CNAME', 'www.eight.test.'],
    ],
    says: new RegExp(
      `^www\\.eight\\.test is an alias of round\\.eight\\.test, expected ${EDGE}; and round\\.eight\\.test could not be looked up: its CNAME records lead in a circle;`,
    ),
  },
  {
    sentence: 'a thousand addresses',
    domain: 'nine.test',
    zone: [['nine.test', 'A', ...Array.from({ length: 100 }, (_, number) => `198.51.100.${number}`)]],
    says: /^nine\.test has the addresses 198\.51\.100\.\d+, [\d., ]+ and 96 more, expected /,
  },
]

const proofs: Case[] = [
  {
    sentence: 'a value of somebody else',
    domain: 'www.eleven.test',
    zone: [['_slipway.www.eleven.test', 'TXT', 'verify=1']],
    says: /^_slipway\.www\.eleven\.test has the TXT value "verify=1", expected "slipway-[0-9a-f]{32}"\. It is/,
    found: [[PROXY], ['verify=1']],
  },
  {
    sentence: 'six of them',
    domain: 'www.twelve.test',
    zone: [['_slipway.www.twelve.test', 'TXT', 'a', 'b', 'c', 'd', 'e', 'f']],
    says: /has the TXT values "[a-f]", "[a-f]", "[a-f]", "[a-f]" and 2 more, expected/,
  },
  {
    sentence: 'one that is there under the root in place of the www',
    domain: 'www.thirteen.test',
    zone: [['_slipway.thirteen.test', 'TXT', 'x']],
    says: /^_slipway\.www\.thirteen\.test has no TXT record, expected/,
    found: [[PROXY], []],
  },
  {
    sentence: 'one that is very long',
    domain: 'www.fourteen.test',
    zone: [['_slipway.www.fourteen.test', 'TXT', 'x'.repeat(3000)]],
    says: /has the TXT value "x{299}…, expected/,
    found: [[PROXY], [`${'x'.repeat(300)}…`]],
  },
]

describe('a domain says what is wrong with', requires('knot', 'unbound'), () => {
  let internet: TestDns
  let town: DomainFixture
  before(async () => {
    internet = await startTestDns()
    town = await DomainFixture.build(internet)
  })
  after(async () => {
    await town[Symbol.asyncDispose]()
    await internet[Symbol.asyncDispose]()
  })

  const checked = async (person: TestUser, { domain, zone }: Case) => {
    await town.add(person, domain)
    for (const [name, type, ...values] of zone) await internet.zone.set(name, type, ...values)
    town.pass(4 * SECOND_MS)
    return town.domains.check(person.account, domain)
  }

  for (const wrong of places) {
    test(`where it leads: ${wrong.sentence}`, async () => {
      const { reason, records } = await checked(await town.person(), wrong)
      assert.match(reason!, wrong.says ?? /^_slipway\.\S+ has no TXT record/)
      if (wrong.found) assert.deepEqual(records[0]!.found, wrong.found[0])
      if (wrong.says === undefined) assert.deepEqual([records[0]!.right, records[1]!.right], [true, false])
      else assert.notEqual(records[0]!.right, true)
    })
  }

  for (const wrong of proofs) {
    test(`its proof: ${wrong.sentence}`, async () => {
      await town.point(wrong.domain)
      const { reason, records } = await checked(await town.person(), wrong)
      assert.match(reason!, wrong.says!)
      if (wrong.found)
        assert.deepEqual(
          records.map(({ found }) => found),
          wrong.found,
        )
    })
  }

  test('its proof without repeating what steers a terminal', async () => {
    await town.point('www.bell.test')
    const { reason, records } = await checked(await town.person(), {
      sentence: '',
      domain: 'www.bell.test',
      zone: [['_slipway.www.bell.test', 'TXT', '\u001b[31mred\u0007']],
      says: undefined,
    })
    assert.match(reason!, /"�\[31mred�"/)
    assert.deepEqual(records[1]!.found, ['�[31mred�'])
  })

  test('its DNS, when nothing answers', async () => {
    await using cutOff = await DomainFixture.build({ ...internet, servers: '127.0.0.1:1' })
    const person = await cutOff.person()
    await cutOff.add(person, 'www.silent.test')
    await cutOff.sweep()
    const { reason, records, checkedAt, nextCheckAt } = await cutOff.record(person, 'www.silent.test')
    assert.match(
      reason!,
      /^www\.silent\.test could not be looked up: .*; _slipway\.www\.silent\.test could not be looked up: /,
    )
    assert.deepEqual(
      records.map(({ found }) => found),
      [null, null],
    )
    assert.equal(checkedAt, new Date(cutOff.clock.now).toISOString())
    assert.equal(
      nextCheckAt,
      new Date(cutOff.clock.now + MINUTE_MS).toISOString(),
      'later than one that answers',
    )
  })
})
