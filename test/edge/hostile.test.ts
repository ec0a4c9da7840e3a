import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { randomBelow } from '../support/random.ts'
import { EdgeFixture } from './fixture.ts'

const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000)
const TARGETS = 6000

const NAMES = [
  'index.html',
  '404.html',
  'about.html',
  'app.js',
  'docs/index.html',
  'docs/404.html',
  'docs/a b.txt',
  'caf\u00e9/men\u00fc.txt',
  '_headers',
  '_redirects',
]

/** Parts that exposed bugs in other servers, and parts of real names. */
const PIECES = [
  ...NAMES,
  ...[
    '/',
    '//',
    '\\',
    '.',
    '..',
    '../../',
    '..%2f',
    '%2e%2e/',
    '%2e',
    '%2f',
    '%5c',
    '%00',
    '%0d%0a',
    '%09',
    '%20',
    '+',
  ],
  ...[
    '%',
    '%2',
    '%zz',
    '%ff',
    '%c0%ae',
    '%u002e',
    '%25',
    '%252e',
    '%A0',
    '%EF%BB%BF',
    '%cc%81',
    '%F0%9F%98%80',
  ],
  ...['?', '&', '=', ';', ':', '@', '*', '~', '!', "'", '(', '$', ',', '|', '^', '{', '<', '"', '`', '['],
  ...[
    'docs',
    'docs/',
    'evil.example',
    'http://',
    'C:',
    'etc/passwd',
    'slipway.db',
    'blobs',
    '_slipway/password',
  ],
  ...['toString', '__proto__', 'constructor', '.html', 'index', '404', 'a', 'aaaaaaaaaaaaaaaa'],
]

describe(`hostile targets, seed ${SEED}`, () => {
  let edge: EdgeFixture
  let slug: string
  before(async () => {
    edge = await EdgeFixture.start()
    slug = await edge.publish(Object.fromEntries(NAMES.map((name) => [name, `<<${name}>>`])))
    const other = await edge.publish({ 'secret.txt': '<<another site>>' })
    await edge.get(other, '/secret.txt')
  })
  after(() => edge[Symbol.asyncDispose]())

  test('get files of the manifest or 404, never an error or a redirect to another host', async () => {
    const pick = randomBelow(SEED)
    let served = 0
    for (let count = 0; count < TARGETS; count += 20) {
      const targets = Array.from({ length: 20 }, () => hostile(pick))
      const answers = await sendTargets(targets)
      answers.forEach(({ status, location, body }, index) => {
        const what = `${JSON.stringify(targets[index])} with seed ${SEED}`
        assert.ok([200, 301, 400, 404].includes(status), `${status} for ${what}`)
        if (location !== undefined) {
          assert.match(location, /^\/(?![/\\])[!-[\]-~]*(\?[!-~]*)?$/, what)
          assert.equal(new URL(location, 'http://here.test').host, 'here.test', what)
        }
        if (status === 200) {
          served++
          assert.ok(NAMES.includes(body.slice(2, -2)), `${body} for ${what}`)
          assert.doesNotMatch(body, /^<<_/, what)
        } else assert.doesNotMatch(body, /^<<(?!(docs\/)?404\.html)/, what)
      })
    }
    assert.ok(served > TARGETS / 100, `only ${served} were names`)
    assert.deepEqual(edge.logged, [])
    assert.equal((await edge.get(slug)).text, '<<index.html>>')
  })

  /** Each on its own connection, as raw bytes, because clients normalize targets. */
  function sendTargets(
    targets: string[],
  ): Promise<{ status: number; location: string | undefined; body: string }[]> {
    return Promise.all(
      targets.map(async (target) => {
        const host = edge.host(slug)
        const answer = await edge.raw(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
        const [head = '', ...rest] = answer.split('\r\n\r\n')
        const location = /\r\nLocation: (.*)\r\n/.exec(head)?.[1]
        const body = Buffer.from(rest.join('\r\n\r\n'), 'latin1').toString()
        return { status: Number(head.slice(9, 12)), location, body }
      }),
    )
  }

  function hostile(pick: (below: number) => number): string {
    let target = pick(50) === 0 ? '' : '/'
    for (let pieces = pick(6); pieces >= 0; pieces--) {
      const piece = PIECES[pick(PIECES.length)]!
      target += pick(3) === 0 ? encodeURI(piece) : piece.replaceAll(' ', '%20')
      if (pick(4) === 0) target += '/'
    }
    return target.replace(/[^!-~]/g, (character) => encodeURIComponent(character))
  }

  test('hostile hosts get a response too', async () => {
    const pick = randomBelow(SEED + 1)
    const pieces = [
      'sites.test',
      '.',
      '--',
      'a',
      '-',
      '0'.repeat(26),
      ':',
      '8080',
      '[',
      ']',
      '@',
      '%00',
      '..',
      'xn--',
      slug,
      '_',
      '*',
    ]
    for (let count = 0; count < 500; count++) {
      const host = Array.from({ length: 1 + pick(6) }, () => pieces[pick(pieces.length)]).join('')
      const answer = await edge.raw(`GET /about HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      const status = Number(answer.slice(9, 12))
      assert.ok([200, 400, 404].includes(status), `${status} for ${host} with seed ${SEED}`)
      if (status === 200) assert.match(host, new RegExp(`^${slug}\\.sites\\.test\\.?(:\\d*)?$`))
    }
  })

  test('a connection with invalid bytes is closed, and the next one is served', async () => {
    const pick = randomBelow(SEED + 2)
    for (let count = 0; count < 100; count++) {
      const socket = connect(edge.port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.resume()
      const bytes = Buffer.from(Array.from({ length: 1 + pick(200) }, () => pick(256)))
      socket.end(
        Buffer.concat([Buffer.from(pick(2) ? 'GET / HTTP/1.1\r\n' : ''), bytes, Buffer.from('\r\n\r\n')]),
      )
      await once(socket, 'close')
    }
    assert.equal((await edge.get(slug)).status, 200)
  })
})
