import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainRecord } from '../../protocol/api/domains.ts'
import { activeRecord, found, type PeerReply, pendingRecord, startDomainCli } from './domain-desk.ts'
import { failure } from './peer.ts'

const ADD = 'POST /api/v1/domains'
const LOOK = 'GET /api/v1/domains/www.example.test'
const LIST = 'GET /api/v1/domains'

const TABLE = `TYPE   NAME          VALUE
CNAME  www           domains.sites.test
TXT    _slipway.www  slipway-0123
`

const right = (more: Partial<DomainRecord> = {}) =>
  found(pendingRecord(more), ['domains.sites.test'], ['slipway-0123'])
const certificate = (more: Partial<DomainRecord['certificate']>) => ({
  certificate: {
    status: 'pending' as const,
    issuedAt: null,
    expiresAt: null,
    renewsAt: null,
    problem: null,
    ...more,
  },
})
const limited = (): PeerReply => [...failure(429, 'RATE_LIMITED'), { 'Retry-After': '1800' }]

describe('domains add', () => {
  it('prints the two records as a form for DNS wants them, says where they go, and ends where nobody watches', async () => {
    await using all = await startDomainCli({ [ADD]: [pendingRecord()] })
    const { code, stdout, stderr } = await all.desk.run(['domains', 'add', 'www.example.test'])
    assert.equal(code, 0)
    assert.equal(stdout, TABLE)
    assert.match(stderr, /at whoever runs the DNS of example\.test:/)
    assert.match(stderr, /goes on by itself[\s\S]+slipway domains check www\.example\.test\n$/)
    assert.deepEqual(all.bodies(), [{ domain: 'www.example.test', siteSlug: 'otter' }])
  })

  it('waits on a terminal until the domain has its certificate, says each step once, and ends with the address', async () => {
    const first = found(pendingRecord(), [], ['slipway-0123'])
    await using all = await startDomainCli({
      [ADD]: [pendingRecord()],
      [LOOK]: [
        first,
        first,
        found(pendingRecord(), ['elsewhere.test'], ['slipway-0123']),
        right(),
        activeRecord(certificate({})),
        activeRecord(certificate({ status: 'active', expiresAt: '2030-04-01T00:00:00.000Z' })),
      ],
    })
    const { code, stdout, stderr } = await all.desk.run(['domains', 'add', 'www.example.test'], { typed: [] })
    assert.equal(code, 0)
    assert.equal(stdout, `${TABLE}https://www.example.test/\n`)
    const said = plain(stderr)
    assert.equal(said.match(/✓ TXT _slipway\.www is there\./g)?.length, 1)
    assert.match(
      said,
      /✗ CNAME www of www\.example\.test is elsewhere\.test, but has to be domains\.sites\.test/,
    )
    assert.match(
      said,
      /✓ CNAME www is there\.\n[\s\S]*✓ www\.example\.test is active\.\n[\s\S]*✓ www\.example\.test has its certificate\.\n/,
    )
    assert.match(
      said,
      /Waiting for CNAME www and TXT _slipway\.www; the next look is in 5 s\. Ctrl-C ends only/,
    )
    assert.match(said, /Waiting for the certificate of www\.example\.test/)
  })

  it('does not wait for a certificate that the service does not make', async () => {
    await using all = await startDomainCli({ [ADD]: [pendingRecord()], [LOOK]: [activeRecord()] })
    const { stdout } = await all.desk.run(['domains', 'add', 'www.example.test'], { typed: [] })
    assert.equal(stdout, `${TABLE}http://www.example.test:${new URL(all.peer.url).port}/\n`)
  })

  it('does not wait with --no-wait, nor with --json, which prints the record alone', async () => {
    await using all = await startDomainCli({ [ADD]: [pendingRecord({ alternate: 'example.test' })] })
    const typed = ['n']
    const noWait = await all.desk.run(['domains', 'add', 'www.example.test', '--no-wait'], { typed })
    assert.equal(noWait.stdout, TABLE)
    const json = await all.desk.run(['domains', 'add', 'www.example.test', '--json'], { typed: [] })
    assert.deepEqual(JSON.parse(json.stdout), pendingRecord({ alternate: 'example.test' }))
    assert.ok(all.peer.log.every((call) => call === ADD))
  })

  it('asks so seldom that an hour of waiting leaves half of what the Free plan has, and ends after two', async () => {
    await using all = await startDomainCli({ [ADD]: [pendingRecord()], [LOOK]: [right()] })
    const { code, stderr } = await all.desk.run(['domains', 'add', 'www.example.test'], { typed: [] })
    assert.equal(code, 0)
    assert.match(stderr, /That takes long\.\nwww\.example\.test goes on by itself/)
    for (const [start] of all.desk.pauses.entries()) {
      let [looks, time] = [0, 0]
      for (const pause of all.desk.pauses.slice(start)) {
        time += pause
        if (time <= 3_600_000) looks++
      }
      assert.ok(looks <= 30, `${looks} looks within an hour`)
    }
    const hours = all.desk.pauses.reduce((sum, pause) => sum + pause, 0) / 3_600_000
    assert.ok(hours > 1 && hours < 3, `${hours} hours`)
  })

  it('ends at the rate limit with the time from which the server takes requests again', async () => {
    await using all = await startDomainCli({ [ADD]: [pendingRecord()], [LOOK]: [right(), limited()] })
    const { code, stderr } = await all.desk.run(['domains', 'add', 'www.example.test'], { typed: [] })
    assert.equal(code, 0)
    assert.match(stderr, /takes no more requests of yours before 2030-01-01 00:30 UTC\.\n/)
    assert.match(stderr, /goes on by itself[\s\S]+slipway domains check www\.example\.test\n$/)
  })

  it('says after Ctrl-C that it goes on by itself, and how to look', async () => {
    await using all = await startDomainCli({ [ADD]: [pendingRecord()], [LOOK]: [right()] })
    const stop = new AbortController()
    const { code, stderr } = await all.desk.run(['domains', 'add', 'www.example.test'], {
      typed: [],
      signal: stop.signal,
      onSaid: (said) => {
        if (said.includes('CNAME www is there')) stop.abort()
      },
    })
    assert.equal(code, 1)
    assert.match(plain(stderr), /Error: Stopped waiting\n {2}www\.example\.test goes on by itself/)
    assert.match(stderr, /slipway domains check www\.example\.test\n$/)
  })

  it('goes on waiting when the server is away for some looks, and gives up when it stays away', async () => {
    const away: PeerReply = failure(503, 'UNAVAILABLE')
    await using all = await startDomainCli({
      [ADD]: [pendingRecord()],
      [LOOK]: [away, away, away, activeRecord()],
    })
    assert.equal((await all.desk.run(['domains', 'add', 'www.example.test'], { typed: [] })).code, 0)
    await using gone = await startDomainCli({ [ADD]: [pendingRecord()], [LOOK]: [away] })
    const { code, stderr } = await gone.desk.run(['domains', 'add', 'www.example.test'], { typed: [] })
    assert.equal(code, 1)
    assert.match(stderr, /The peer says UNAVAILABLE/)
  })

  it('says why it waits where the records are right, and what the CA has against a certificate', async () => {
    const reason = (minute: string) => right({ reason: `Another account had it until 00:${minute}` })
    await using all = await startDomainCli({
      [ADD]: [pendingRecord()],
      [LOOK]: [
        ...['10', '11', '12', '13', '14'].map(reason),
        activeRecord(certificate({ problem: 'CAA forbids it' })),
        activeRecord(certificate({ status: 'active', expiresAt: '2030-04-01T00:00:00.000Z' })),
      ],
    })
    const { stderr } = await all.desk.run(['domains', 'add', 'www.example.test'], { typed: [] })
    assert.equal(stderr.match(/Another account had it until/g)?.length, 1)
    assert.match(plain(stderr), /✗ No certificate yet: CAA forbids it\n/)
  })

  it('goes on where it was when the domain is there already for this site, and for no other', async () => {
    const taken: PeerReply = failure(409, 'DOMAIN_TAKEN')
    const there = [pendingRecord(), pendingRecord({ siteSlug: 'badger' })]
    await using all = await startDomainCli({ [ADD]: [taken], [LOOK]: there })
    assert.equal((await all.desk.run(['domains', 'add', 'www.example.test'])).stdout, TABLE)
    const other = await all.desk.run(['domains', 'add', 'www.example.test'])
    assert.equal(other.code, 1)
    assert.match(other.stderr, /The peer says DOMAIN_TAKEN/)
    await using none = await startDomainCli({ [ADD]: [taken] })
    const foreign = await none.desk.run(['domains', 'add', 'www.example.test'])
    assert.match(foreign.stderr, /The peer says DOMAIN_TAKEN/)
  })

  it('asks for no records when the domain is active already', async () => {
    await using all = await startDomainCli({
      [ADD]: [failure(409, 'DOMAIN_TAKEN')],
      [LOOK]: [activeRecord()],
    })
    const { code, stdout, stderr } = await all.desk.run(['domains', 'add', 'www.example.test'])
    assert.equal(code, 0)
    assert.equal(stdout, `http://www.example.test:${new URL(all.peer.url).port}/\n`)
    assert.equal(stderr, 'www.example.test is active.\n')
  })

  describe('the other of www and root', () => {
    const root = pendingRecord({
      domain: 'example.test',
      redirectsTo: 'www.example.test',
      records: [
        { type: 'ALIAS', name: '@', value: 'domains.sites.test', found: null, right: null },
        { type: 'TXT', name: '_slipway', value: 'slipway-4567', found: null, right: null },
      ],
    })
    const turns = {
      [ADD]: [pendingRecord({ alternate: 'example.test' }), root],
      [LOOK]: [activeRecord()],
      'GET /api/v1/domains/example.test': [
        { ...root, status: 'active' as const, redirectsTo: 'www.example.test' },
      ],
    }

    it('is offered: yes adds both records to the table and waits for both', async () => {
      await using all = await startDomainCli(turns)
      const { stdout, stderr } = await all.desk.run(['domains', 'add', 'www.example.test'], { typed: ['y'] })
      assert.match(stderr, /Should example\.test lead to www\.example\.test\? \[Y\/n\]/)
      assert.match(stdout, /^CNAME {2}www .*\nTXT .*\nALIAS {2}@ .*\nTXT {4}_slipway {6}slipway-4567$/m)
      assert.match(stderr, /ALIAS is called ANAME or CNAME flattening by some/)
      assert.match(plain(stderr), /✓ example\.test is active and leads to www\.example\.test\./)
      assert.match(stdout, /http:\/\/www\.example\.test:\d+\/\n$/)
      assert.deepEqual(all.bodies().slice(0, 2), [
        { domain: 'www.example.test', siteSlug: 'otter' },
        { domain: 'example.test', siteSlug: 'otter' },
      ])
    })

    it('is left alone on a no', async () => {
      await using all = await startDomainCli(turns)
      const { stdout } = await all.desk.run(['domains', 'add', 'www.example.test'], { typed: ['n'] })
      assert.doesNotMatch(stdout, /ALIAS/)
    })

    it('is a command to copy where nobody is asked', async () => {
      await using all = await startDomainCli(turns)
      const { stderr } = await all.desk.run(['domains', 'add', 'www.example.test'])
      assert.match(
        stderr,
        /To have example\.test lead to www\.example\.test: slipway domains add example\.test --site otter\n/,
      )
    })
  })

  it('says how to make room when the plan has none', async () => {
    await using all = await startDomainCli({ [ADD]: [failure(403, 'DOMAIN_LIMIT_REACHED')] })
    const { code, stderr } = await all.desk.run(['domains', 'add', 'www.example.test'])
    assert.equal(code, 1)
    assert.match(stderr, /See them: slipway domains\. To make room: slipway domains remove DOMAIN/)
  })
})

describe('domains', () => {
  it('lists them, alone and as domains list', async () => {
    const until = certificate({ status: 'active', expiresAt: '2030-04-01T00:00:00.000Z' })
    const list: PeerReply = [
      200,
      { domains: [activeRecord(until), pendingRecord({ domain: 'example.test' })] },
    ]
    await using all = await startDomainCli({ [LIST]: [list] })
    const { stdout } = await all.desk.run(['domains'])
    assert.match(stdout, /^DOMAIN +SITE +STATE +CERTIFICATE +REMARK$/m)
    assert.match(stdout, /^www\.example\.test +otter +active +until 2030-04-01$/m)
    assert.match(stdout, /^example\.test +otter +pending +– +Waiting for both DNS records to be entered$/m)
    assert.equal((await all.desk.run(['domains', 'list'])).stdout, stdout)
    assert.equal(JSON.parse((await all.desk.run(['domains', '--json'])).stdout).length, 2)
  })

  it('says in the list what each waits for, and where more is told', async () => {
    const reason = 'www.example.test is an alias of elsewhere.test, expected domains.sites.test'
    const wrong = found(pendingRecord({ reason }), ['elsewhere.test'], ['slipway-0123'])
    await using all = await startDomainCli({ [LIST]: [[200, { domains: [wrong] }]] })
    const { stdout, stderr } = await all.desk.run(['domains'])
    assert.match(stdout, /^www\.example\.test +otter +pending +– +waits for CNAME www$/m)
    assert.equal(stderr, 'More: slipway domains check www.example.test\n')
  })

  it('says how to add the first one', async () => {
    await using all = await startDomainCli({ [LIST]: [[200, { domains: [] }]] })
    assert.match((await all.desk.run(['domains'])).stderr, /Add one: slipway domains add www\.example\.com/)
  })

  const findings: [string, DomainRecord, RegExp[]][] = [
    [
      'a record that is wrong, with what is there and what should be',
      found(
        pendingRecord({ reason: 'The CNAME leads to elsewhere.test' }),
        ['elsewhere.test'],
        ['slipway-0123'],
      ),
      [
        /^www\.example\.test is pending; then it shows otter$/m,
        /^✗ CNAME www\n {4}found: {4}elsewhere\.test\n {4}expected: domains\.sites\.test\n✓ TXT _slipway\.www: slipway-0123$/m,
        /^The CNAME leads to elsewhere\.test\.$/m,
        /^Looked up last: 2030-01-01 00:00 UTC\nLooked up next: 2030-01-01 00:00 UTC$/m,
      ],
    ],
    [
      'once when it is looked up next',
      pendingRecord({ reason: 'It is looked up again at 2030-01-01 00:00:10 UTC' }),
      [/^It is looked up again at 2030-01-01 00:00:10 UTC\.\n(?!.*Looked up next)/m],
    ],
    [
      'records that nobody has entered',
      found(pendingRecord({ nextCheckAt: null, reason: 'Check it when they are there' }), [], []),
      [/^✗ CNAME www\n {4}found: {4}nothing$/m, /^Check it when they are there\.$/m],
    ],
    [
      'an alias that shows as addresses',
      pendingRecord({
        records: [
          { type: 'ALIAS', name: '@', value: 'domains.sites.test', found: ['192.0.2.1'], right: true },
        ],
      }),
      [/^✓ ALIAS @: 192\.0\.2\.1$/m],
    ],
    [
      'a certificate with its dates',
      activeRecord(
        certificate({
          status: 'active',
          expiresAt: '2030-04-01T00:00:00.000Z',
          renewsAt: '2030-03-01T00:00:00.000Z',
        }),
      ),
      [
        /^www\.example\.test is active and shows otter$/m,
        /^Certificate: until 2030-04-01 00:00 UTC, renewed about 2030-03-01 00:00 UTC$/m,
      ],
    ],
    [
      'what keeps a certificate from coming',
      activeRecord(certificate({ problem: 'CAA forbids it', renewsAt: '2030-01-01T00:10:00.000Z' })),
      [/^Certificate: on its way\n {4}CAA forbids it\n {4}tried again: 2030-01-01 00:10 UTC$/m],
    ],
    [
      'where a domain leads to',
      activeRecord({ redirectsTo: 'example.test' }),
      [/^www\.example\.test is active and leads to example\.test$/m, /^Certificate: not from this service$/m],
    ],
  ]
  for (const [name, record, lines] of findings) {
    it(`check tells ${name}`, async () => {
      await using all = await startDomainCli({ [LOOK]: [record] })
      const { stdout } = await all.desk.run(['domains', 'check', 'www.example.test'])
      for (const line of lines) assert.match(stdout, line)
    })
  }

  it('check and remove say which domains there are when it is none of them', async () => {
    await using all = await startDomainCli({})
    for (const args of [['check'], ['remove', '--yes']]) {
      const { code, stderr } = await all.desk.run(['domains', ...args, 'www.example.test'])
      assert.equal(code, 1)
      assert.match(
        stderr,
        /www\.example\.test is not among your domains\n {2}Those that are: slipway domains\n/,
      )
    }
  })

  it('remove asks to type the name', async () => {
    await using all = await startDomainCli({
      'DELETE /api/v1/domains/www.example.test': [[200, { domain: 'www.example.test', deleted: true }]],
    })
    const remove = (...more: string[]) => ['domains', 'remove', 'www.example.test', ...more]
    const wrong = await all.desk.run(remove(), { typed: ['example.test'] })
    assert.match(wrong.stderr, /That is not its name, so nothing was removed/)
    assert.equal((await all.desk.run(remove())).code, 2)
    assert.deepEqual(all.peer.log, [])
    const { code, stderr } = await all.desk.run(remove(), { typed: ['www.example.test'] })
    assert.equal(code, 0)
    assert.match(plain(stderr), /✓ www\.example\.test is removed\. Take its records out of DNS too\.\n$/)
    const json = await all.desk.run(remove('--yes', '--json'))
    assert.deepEqual(JSON.parse(json.stdout), { domain: 'www.example.test', deleted: true })
    assert.equal(json.stderr, '')
  })

  const unclear: [string[], RegExp][] = [
    [['domains', 'www.example.test'], /Did you mean: slipway domains add www\.example\.test\n/],
    [['domains', 'chekc', 'www.example.test'], /Did you mean: slipway domains check\n/],
    [['domains', 'add'], /Such as: slipway domains add www\.example\.com\n/],
    [['domains', 'add', 'a.test', 'b.test'], /"b\.test" is more than domains can take/],
  ]
  for (const [args, hint] of unclear) {
    it(`says what was meant by slipway ${args.join(' ')}`, async () => {
      await using all = await startDomainCli({})
      const { code, stderr } = await all.desk.run(args)
      assert.equal(code, 2)
      assert.match(stderr, hint)
    })
  }
})

/** Without what draws over lines and paints them. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to be taken out.
  return text.replace(/\u001b\[\d*[mK]/g, '').replaceAll('\r', '')
}
