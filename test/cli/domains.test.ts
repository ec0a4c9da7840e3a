import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { domainUrl } from '../../protocol/domain-url.ts'
import type { CliSession } from './cli-harness.ts'
import { errorResponse } from './fake-server.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

const ADD = 'POST /api/v1/domains'
const CHECK = 'GET /api/v1/domains/www.example.test'
const LIST = 'GET /api/v1/domains'

const TABLE = `TYPE   NAME          VALUE
CNAME  www           domains.sites.test
TXT    _slipway.www  slipway-0123
`

const EXPECTED = 'domains.sites.test'
const PROOF = 'slipway-0123'

/** A scripted response: a record with status 200 or 201, or a status and body. */
type ScriptedReply = DomainRecord | [status: number, body: unknown, headers?: Record<string, string>]

/** A domain that was just added to the site `otter`: `www.example.test`. */
function pending(more: Partial<DomainRecord> = {}): DomainRecord {
  return {
    domain: 'www.example.test',
    siteSlug: 'otter',
    status: 'pending',
    records: [
      { type: 'CNAME', name: 'www', value: EXPECTED, found: null, right: null },
      { type: 'TXT', name: '_slipway.www', value: PROOF, found: null, right: null },
    ],
    reason: 'Waiting for both DNS records',
    redirectsTo: null,
    alternate: null,
    certificate: { status: 'none', issuedAt: null, expiresAt: null, renewsAt: null, problem: null },
    createdAt: '2030-01-01T00:00:00.000Z',
    verifiedAt: null,
    checkedAt: null,
    nextCheckAt: '2030-01-01T00:00:10.000Z',
    ...more,
  }
}

/** The record after a check that found these values in DNS, by default the right ones. */
function checked({
  cname = [EXPECTED],
  txt = [PROOF],
  ...more
}: Partial<DomainRecord> & DnsAnswers = {}): DomainRecord {
  const answers = [cname, txt]
  const records = pending().records.map((one, index) => {
    return { ...one, found: answers[index]!, right: answers[index]!.includes(one.value) }
  })
  return pending({ records, checkedAt: '2030-01-01T00:00:05.000Z', ...more })
}

interface DnsAnswers {
  cname?: string[]
  txt?: string[]
}

function active(more: Partial<DomainRecord> = {}): DomainRecord {
  return checked({ status: 'active', reason: null, verifiedAt: '2030-01-01T00:00:09.000Z', ...more })
}

const certificate = (more: Partial<DomainRecord['certificate']>) => ({
  certificate: { ...pending().certificate, status: 'pending' as const, ...more },
})
const issued = active(certificate({ status: 'active', expiresAt: '2030-04-01T00:00:00.000Z' }))
const taken: ScriptedReply = errorResponse(409, 'DOMAIN_TAKEN')
const limited: ScriptedReply = [...errorResponse(429, 'RATE_LIMITED'), { 'Retry-After': '1800' }]

/**
 * A signed-in CLI whose folder remembers the site `otter`, and a server that answers each "METHOD /path" with its
 * scripted responses in order and repeats the last one.
 */
async function startDomainCli(turns: Record<string, ScriptedReply[]>) {
  const fixture = await startScriptedCli()
  fixture.remember('otter')
  fixture.cli.env.SLIPWAY_KEY = KEY
  const remaining = new Map(Object.entries(turns).map(([call, list]) => [call, [...list]]))
  fixture.server.reply(/./, ({ method, path }) => {
    const list = remaining.get(`${method} ${path}`)
    const turn = list && list.length > 1 ? list.shift() : list?.[0]
    if (turn === undefined) return errorResponse(404, 'NOT_FOUND')
    return Array.isArray(turn) ? turn : [method === 'POST' ? 201 : 200, turn]
  })
  return fixture
}

/** Runs `domains add` for a domain that is pending, unless the responses say otherwise. */
async function add(turns: Record<string, ScriptedReply[]> = {}, session: CliSession = {}) {
  await using fixture = await startDomainCli({ [ADD]: [pending()], ...turns })
  const run = await fixture.cli.run(['domains', 'add', 'www.example.test'], session)
  const { port } = new URL(fixture.server.url)
  return { ...run, port, bodies: fixture.bodies(), pauses: fixture.cli.pauses }
}

/** The same on a terminal, where it waits while the checks have these results. */
const addAndWait = (checks: ScriptedReply[], session: CliSession = {}) =>
  add({ [CHECK]: checks }, { typed: [], ...session })

describe('domains add', () => {
  it('prints the two records in the form of DNS providers, and ends without waiting if there is no terminal', async () => {
    const { code, stdout, stderr, bodies } = await add()
    assert.equal(code, 0)
    assert.equal(stdout, TABLE)
    assert.match(stderr, /at the DNS provider of example\.test:/)
    assert.match(stderr, /becomes active automatically[\s\S]+slipway domains check www\.example\.test\n$/)
    assert.deepEqual(bodies, [{ domain: 'www.example.test', siteSlug: 'otter' }])
  })

  it('prints what the server says about who can help, where it has no custom domains', async () => {
    const error = { error: 'None here', code: 'DOMAINS_UNAVAILABLE', status: 409, hint: 'Ask the operator.' }
    const { code, stderr } = await add({ [ADD]: [[409, error]] })
    assert.deepEqual([code, stderr], [6, 'Error: None here\n  Ask the operator.\n'])
  })

  it('waits on a terminal until the domain has its certificate, prints each step once, and then the address', async () => {
    const first = checked({ cname: [] })
    const { code, stdout, stderr } = await addAndWait([
      first,
      first,
      checked({ cname: ['elsewhere.test'] }),
      checked(),
      active(certificate({})),
      issued,
    ])
    assert.equal(code, 0)
    assert.equal(stdout, `${TABLE}https://www.example.test/\n`)
    const text = plain(stderr)
    assert.equal(text.match(/✓ TXT _slipway\.www is correct\n/g)?.length, 1)
    assert.match(
      text,
      /✗ CNAME www of www\.example\.test: expected domains\.sites\.test, found elsewhere\.test/,
    )
    assert.match(text, /✓ CNAME www is correct\n[\s\S]*✓ www\.example\.test is active\n/)
    assert.match(text, /is active\n[\s\S]*✓ www\.example\.test has its certificate\n/)
    assert.match(text, /Waiting for CNAME www and TXT _slipway\.www\. Next check in 5 s\. Ctrl-C stops/)
    assert.match(text, /Waiting for the certificate of www\.example\.test/)
  })

  it('does not wait with --no-wait or --json, which prints only the record', async () => {
    await using fixture = await startDomainCli({ [ADD]: [pending({ alternate: 'example.test' })] })
    const typed = ['n']
    const noWait = await fixture.cli.run(['domains', 'add', 'www.example.test', '--no-wait'], { typed })
    assert.equal(noWait.stdout, TABLE)
    const json = await fixture.cli.run(['domains', 'add', 'www.example.test', '--json'], { typed: [] })
    assert.deepEqual(JSON.parse(json.stdout), pending({ alternate: 'example.test' }))
    assert.ok(fixture.server.log.every((call) => call === ADD))
  })

  it('uses at most half of the hourly requests of the Free plan, and ends after two hours', async () => {
    const { code, stderr, pauses } = await addAndWait([checked()])
    assert.equal(code, 0)
    assert.match(
      stderr,
      /Stopped waiting: the domain isn't active yet\.\nwww\.example\.test becomes active automatically/,
    )
    for (const [start] of pauses.entries()) {
      let [checks, time] = [0, 0]
      for (const pause of pauses.slice(start)) {
        time += pause
        if (time <= 3_600_000) checks++
      }
      assert.ok(checks <= 30, `${checks} checks within an hour`)
    }
    const hours = pauses.reduce((sum, pause) => sum + pause, 0) / 3_600_000
    assert.ok(hours > 1 && hours < 3, `${hours} hours`)
  })

  it('ends at the rate limit with the time of its reset', async () => {
    const { code, stderr } = await addAndWait([checked(), limited])
    assert.equal(code, 0)
    assert.match(stderr, /Hourly limit reached\. Try again at 1 Jan, 01:30\.\n/)
    assert.match(stderr, /becomes active automatically[\s\S]+slipway domains check www\.example\.test\n$/)
  })

  it('explains after Ctrl-C that the service continues, and how to check', async () => {
    const stop = new AbortController()
    const { code, stderr } = await addAndWait([checked()], {
      signal: stop.signal,
      onStderr: (text) => {
        if (text.includes('CNAME www is correct')) stop.abort()
      },
    })
    assert.equal(code, 130)
    assert.match(plain(stderr), /Error: Stopped waiting\n {2}www\.example\.test becomes active automatically/)
    assert.match(stderr, /slipway domains check www\.example\.test\n$/)
  })

  it('continues when some checks fail, and gives up when all of them fail', async () => {
    const unavailable: ScriptedReply = errorResponse(503, 'UNAVAILABLE')
    const some = await addAndWait([unavailable, unavailable, unavailable, active()])
    assert.equal(some.code, 0)
    const { code, stderr } = await addAndWait([unavailable])
    assert.equal(code, 5)
    assert.match(stderr, /The server says UNAVAILABLE/)
  })

  it('explains why it waits when the records are right, and the error of the CA', async () => {
    const reason = (minute: string) => checked({ reason: `Another account had it until 00:${minute}` })
    const { stderr } = await addAndWait([
      ...['10', '11', '12', '13', '14'].map(reason),
      active(certificate({ problem: 'CAA forbids it' })),
      issued,
    ])
    assert.equal(stderr.match(/Another account had it until/g)?.length, 1)
    assert.match(plain(stderr), /✗ No certificate yet: CAA forbids it\n/)
  })

  it('continues with a domain that was added to this site before, and to no other', async () => {
    const there = [pending(), active(), pending({ siteSlug: 'badger' })]
    await using fixture = await startDomainCli({ [ADD]: [taken], [CHECK]: there })
    const run = () => fixture.cli.run(['domains', 'add', 'www.example.test'])
    assert.equal((await run()).stdout, TABLE)
    const again = await run()
    assert.match(again.stdout, /^http:\/\/www\.example\.test:\d+\/\n$/)
    assert.equal(again.stderr, 'www.example.test is active\n')
    const other = await run()
    assert.equal(other.code, 6)
    assert.match(other.stderr, /The server says DOMAIN_TAKEN/)
    assert.match((await add({ [ADD]: [taken] })).stderr, /The server says DOMAIN_TAKEN/)
  })

  describe('the counterpart of a www or root domain', () => {
    const root = pending({
      domain: 'example.test',
      redirectsTo: 'www.example.test',
      records: [
        { type: 'ALIAS', name: '@', value: 'domains.sites.test', found: null, right: null },
        { type: 'TXT', name: '_slipway', value: 'slipway-4567', found: null, right: null },
      ],
    })
    const turns = {
      [ADD]: [pending({ alternate: 'example.test' }), root],
      [CHECK]: [active()],
      'GET /api/v1/domains/example.test': [{ ...root, status: 'active' as const }],
    }

    it('is offered: yes adds it with its records and waits for both', async () => {
      const { stdout, stderr, bodies } = await add(turns, { typed: ['y'] })
      assert.match(stderr, /Redirect example\.test to www\.example\.test\? \[Y\/n\]/)
      assert.match(
        stdout,
        /^CNAME {2}www .*\nTXT .*\nTYPE .*\nALIAS {2}@ .*\nTXT {4}_slipway {2}slipway-4567$/m,
      )
      assert.ok(stderr.indexOf('Add these records') < stderr.indexOf('Redirect example.test'))
      assert.match(stderr, /Some providers call ALIAS records ANAME or CNAME flattening/)
      assert.match(plain(stderr), /✓ example\.test is active and redirects to www\.example\.test\n/)
      assert.match(stdout, /http:\/\/www\.example\.test:\d+\/\n$/)
      assert.deepEqual(bodies.slice(0, 2), [
        { domain: 'www.example.test', siteSlug: 'otter' },
        { domain: 'example.test', siteSlug: 'otter' },
      ])
    })

    it('is not added on no, and printed as a command if there is no terminal', async () => {
      assert.doesNotMatch((await add(turns, { typed: ['n'] })).stdout, /ALIAS/)
      const command = 'slipway domains add example.test --site otter\n'
      const { stderr } = await add(turns)
      assert.ok(stderr.includes(`To redirect example.test to www.example.test: ${command}`))
    })
  })

  it('explains how to free a domain of the plan', async () => {
    const { code, stderr } = await add({ [ADD]: [errorResponse(403, 'DOMAIN_LIMIT_REACHED')] })
    assert.equal(code, 4)
    assert.match(stderr, /List your domains: slipway domains\. Remove one: slipway domains remove DOMAIN/)
  })
})

it('the URL of an active domain is one that can be visited now', () => {
  for (const [status, server, expected] of [
    ['none', 'https://slipway.example', 'https://www.example.test/'],
    ['none', 'https://slipway.example:8443', 'https://www.example.test:8443/'],
    ['pending', 'https://slipway.example', 'http://www.example.test/'],
    ['pending', 'http://slipway.example:8080', 'http://www.example.test:8080/'],
    ['active', 'https://slipway.example', 'https://www.example.test/'],
    ['active', 'http://slipway.example:8080', 'https://www.example.test/'],
  ] as const)
    assert.equal(domainUrl(active(certificate({ status })), server), expected)
})

describe('domains', () => {
  it('lists them with what each waits for, alone and as domains list, and how to add the first one', async () => {
    const reason = 'www.example.test is an alias of elsewhere.test (expected domains.sites.test)'
    const wrong = checked({ reason, cname: ['elsewhere.test'] })
    const list: ScriptedReply = [200, { domains: [issued, pending({ domain: 'example.test' }), wrong] }]
    const none: ScriptedReply = [200, { domains: [] }]
    await using fixture = await startDomainCli({ [LIST]: [list, list, list, none] })
    const { stdout, stderr } = await fixture.cli.run(['domains'])
    assert.match(stdout, /^DOMAIN +SITE +STATUS +CERTIFICATE +NOTE$/m)
    assert.match(stdout, /^www\.example\.test +otter +active +until 1 Apr$/m)
    assert.match(stdout, /^example\.test +otter +pending +– +Waiting for both DNS records$/m)
    assert.match(stdout, /^www\.example\.test +otter +pending +– +waiting for CNAME www$/m)
    assert.match(stderr, /^Details: slipway domains check \S+\n$/)
    assert.equal((await fixture.cli.run(['domains', 'list'])).stdout, stdout)
    assert.equal(JSON.parse((await fixture.cli.run(['domains', '--json'])).stdout).domains.length, 3)
    const add = /Add one: slipway domains add www\.example\.com/
    assert.match((await fixture.cli.run(['domains'])).stderr, add)
  })

  const DATES = { expiresAt: '2030-04-01T00:00:00.000Z', renewsAt: '2030-03-01T00:00:00.000Z' }
  const alias = pending({
    records: [{ type: 'ALIAS', name: '@', value: 'domains.sites.test', found: ['192.0.2.1'], right: true }],
  })
  const findings: [string, DomainRecord, RegExp[]][] = [
    [
      'a record that is wrong, with what is there and what should be',
      checked({ cname: ['elsewhere.test'], reason: 'It leads to elsewhere.test' }),
      [
        /^www\.example\.test is pending\. Once active, it shows otter\.$/m,
        /^✗ CNAME www\n {4}found: {4}elsewhere\.test\n {4}expected: domains\.sites\.test\n✓ TXT _slipway\.www: slipway-0123$/m,
        /^It leads to elsewhere\.test\.$/m,
        /^Last check: 1 Jan, 01:00\nNext check: 1 Jan, 01:00$/m,
      ],
    ],
    [
      'records that are not entered',
      checked({ cname: [], txt: [], nextCheckAt: null, reason: 'Check it when they are there' }),
      [/^✗ CNAME www\n {4}found: {4}nothing$/m, /^Check it when they are there\.$/m],
    ],
    ['an alias that shows as addresses', alias, [/^✓ ALIAS @: 192\.0\.2\.1$/m]],
    [
      'a certificate with its dates',
      active(certificate({ status: 'active', ...DATES })),
      [
        /^www\.example\.test is active and shows otter$/m,
        /^Certificate: valid until 1 Apr, renewed around 1 Mar$/m,
      ],
    ],
    [
      'what keeps a certificate from coming',
      active(certificate({ problem: 'CAA forbids it', renewsAt: '2030-01-01T00:10:00.000Z' })),
      [/^Certificate: being issued\n {4}CAA forbids it\n {4}next attempt: 1 Jan, 01:10$/m],
    ],
    [
      'a certificate that has expired',
      active(certificate({ ...DATES, expiresAt: '2029-12-30T00:00:00.000Z', problem: 'CAA forbids it' })),
      [/^Certificate: expired 30 Dec.*\n {4}CAA forbids it\n {4}next attempt: /m],
    ],
    [
      'where a domain redirects to',
      active({ redirectsTo: 'example.test' }),
      [/is active and redirects to example\.test$/m, /^Certificate: not issued by this service$/m],
    ],
  ]
  for (const [name, record, lines] of findings) {
    it(`check shows ${name}`, async () => {
      await using fixture = await startDomainCli({ [CHECK]: [record] })
      const { stdout } = await fixture.cli.run(['domains', 'check', 'www.example.test'])
      for (const line of lines) assert.match(stdout, line)
    })
  }

  it('check and remove list the domains when the given one is unknown', async () => {
    await using fixture = await startDomainCli({})
    for (const args of [['check'], ['remove', '--yes']]) {
      const { code, stderr } = await fixture.cli.run(['domains', ...args, 'www.example.test'])
      assert.equal(code, 2)
      assert.match(stderr, /www\.example\.test is not one of your domains\n {2}List them: slipway domains\n/)
    }
  })

  it('remove asks', async () => {
    await using fixture = await startDomainCli({
      'DELETE /api/v1/domains/www.example.test': [[200, { domain: 'www.example.test', deleted: true }]],
    })
    const remove = (...more: string[]) => ['domains', 'remove', 'www.example.test', ...more]
    const wrong = await fixture.cli.run(remove(), { typed: [''] })
    assert.match(wrong.stderr, /Nothing was deleted/)
    assert.equal((await fixture.cli.run(remove())).code, 2)
    assert.deepEqual(fixture.server.log, [])
    const { code, stderr } = await fixture.cli.run(remove(), { typed: ['y'] })
    assert.equal(code, 0)
    assert.match(plain(stderr), /✓ Removed www\.example\.test\. Delete its DNS records as well\.\n$/)
    const json = await fixture.cli.run(remove('--yes', '--json'))
    assert.deepEqual(JSON.parse(json.stdout), { domain: 'www.example.test', deleted: true })
    assert.equal(json.stderr, '')
  })
})

/** Removes control sequences for the cursor and colors. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove.
  return text.replace(/\u001b\[\d*[mK]/g, '').replaceAll('\r', '')
}
