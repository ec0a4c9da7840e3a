import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { createGzip, gzipSync } from 'node:zlib'
import type { Part } from '../archive/part.ts'
import { tar, tarHeader, tarPart } from '../archive/tar-file.ts'
import { zip } from '../archive/zip-file.ts'
import { numbers } from '../support/random.ts'
import { Api } from './api.ts'
import { assertKeepsNothing, type Kind, make, part, send, TYPES } from './archive-requests.ts'

const MIB = 2 ** 20

let api: Api
before(async () => {
  api = await Api.start({ ANONYMOUS_FILE_BYTES: `${2 * MIB}`, ANONYMOUS_SITE_BYTES: `${3 * MIB}` })
})
after(() => api[Symbol.asyncDispose]())

describe('an archive is refused without leaving files or rows when it', () => {
  const both = (parts: Part[]): [Kind, Buffer][] => [
    ['tar', tar(parts)],
    ['tar.gz', gzipSync(tar(parts))],
    ['zip', zip(parts)],
  ]
  const good = part('index.html', 'good')
  const refusals: [sentence: string, archives: [Kind, Buffer][], code: string, message?: RegExp][] = [
    ['climbs out', both([good, part('../x')]), 'VALIDATION_ERROR', /'\.\.'/],
    ['climbs in between', both([good, part('a/../../x')]), 'VALIDATION_ERROR', /'\.\.'/],
    ['begins at the root', both([good, part('/etc/passwd')]), 'VALIDATION_ERROR', /relative/],
    ['has a backslash', both([good, part('a\\b')]), 'VALIDATION_ERROR', /backslash/],
    ['has a control character', both([good, part('a\nb')]), 'VALIDATION_ERROR', /control/],
    ['has an empty segment', both([good, part('a//b')]), 'VALIDATION_ERROR', /empty segment/],
    ['has a path of 501 characters', both([good, part('x'.repeat(501))]), 'VALIDATION_ERROR', /500/],
    ['has a path twice', both([good, good]), 'VALIDATION_ERROR', /repeats/],
    ['has a path in two writings', both([part('ü'), part('u\u0308')]), 'VALIDATION_ERROR', /repeats/],
    ['has a file that is a folder', both([part('a'), part('a/b')]), 'VALIDATION_ERROR', /folder/],
    ['has no files', both([]), 'VALIDATION_ERROR', /at least 1/],
    ['has only folders', both([part('a/', ''), part('b/c/', '')]), 'VALIDATION_ERROR', /at least 1/],
    [
      'has only excluded files',
      both([part('__MACOSX/x')]),
      'VALIDATION_ERROR',
      /no file that can be published/,
    ],
    ['climbs out with all its files', both([part('../x')]), 'VALIDATION_ERROR', /'\.\.'/],
    ['begins at the root with all its files', both([part('/x')]), 'VALIDATION_ERROR', /relative/],
    [
      'has 1,001 files',
      both(Array.from({ length: 1001 }, (_, number) => part(`${number}.txt`, `${number}`))),
      'PAYLOAD_TOO_LARGE',
      /1000/,
    ],
    [
      'has a link',
      [
        [
          'tar',
          Buffer.concat([
            tarPart(good),
            tarPart({ name: 'link', type: '2', data: Buffer.alloc(0) }),
            Buffer.alloc(1024),
          ]),
        ],
        ['zip', zip([good, { ...part('link', '/etc/passwd'), mode: 0o120777 }])],
      ],
      'VALIDATION_ERROR',
      /link/,
    ],
    [
      'has a device',
      [
        [
          'tar',
          Buffer.concat([
            tarPart(good),
            tarPart({ name: 'null', type: '3', data: Buffer.alloc(0) }),
            Buffer.alloc(1024),
          ]),
        ],
      ],
      'VALIDATION_ERROR',
      /device/,
    ],
    [
      'is encrypted',
      [['zip', zip([good, { ...part('secret'), flags: 1 }])]],
      'VALIDATION_ERROR',
      /encrypted/,
    ],
    [
      'declares a wrong checksum',
      [
        ['zip', zip([good, { ...part('falsified', 'content'), crc32: 1 }])],
        ['zip', zip([good, { ...part('falsified', Buffer.alloc(600_000, 'content')), crc32: 1 }])],
      ],
      'VALIDATION_ERROR',
    ],
    [
      'is truncated',
      [
        ['tar', tar([good, part('b', randomBytes(5000))]).subarray(0, 3000)],
        ['zip', zip([good]).subarray(0, -5)],
        ['tar.gz', gzipSync(tar([good])).subarray(0, -9)],
      ],
      'VALIDATION_ERROR',
    ],
    [
      'is not an archive',
      (Object.keys(TYPES) as Kind[]).map((kind) => [kind, randomBytes(5000)]),
      'VALIDATION_ERROR',
    ],
    ['is empty', (Object.keys(TYPES) as Kind[]).map((kind) => [kind, Buffer.alloc(0)]), 'VALIDATION_ERROR'],
    [
      'is of another kind',
      [
        ['zip', tar([good])],
        ['tar', zip([good])],
        ['tar.gz', tar([good])],
      ],
      'VALIDATION_ERROR',
    ],
    [
      'is JSON',
      [
        ['tar', Buffer.from('{"files":[]}')],
        ['zip', Buffer.from('{"files":[]}')],
      ],
      'VALIDATION_ERROR',
    ],
  ]
  for (const [sentence, archives, code, message] of refusals) {
    test(sentence, async () => {
      const account = await api.account()
      for (const [kind, bytes] of archives) {
        const answer = await assertKeepsNothing(api, account, () =>
          send(api, kind, bytes, { key: account.key }),
        )
        assert.equal(answer.json.code, code, `${kind}: ${answer.text}`)
        if (message) assert.match(answer.json.error, message, kind)
      }
    })
  }

  test('has a file or a site over the limit, which the error names', async () => {
    const account = await api.account()
    const [file, site] = [2 * MIB, 3 * MIB]
    const whole = { 'a.bin': randomBytes(file), 'b.bin': randomBytes(site - file) }
    for (const kind of Object.keys(TYPES) as Kind[]) {
      assert.equal((await send(api, kind, make(kind, whole))).status, 201, kind)
      const over = { file: { 'a.bin': Buffer.alloc(file + 1, 'x') }, site: { ...whole, 'c.bin': 'x' } }
      for (const [what, contents] of Object.entries(over)) {
        const answer = await assertKeepsNothing(api, account, () => send(api, kind, make(kind, contents)))
        assert.equal(answer.status, 413, `${kind} ${what}`)
        assert.match(answer.json.error, new RegExp(`${what === 'file' ? file : site}`))
      }
    }
  })

  test('unpacks to far more than its size: a bomb is refused early', async () => {
    const account = await api.account()
    const zeros = Buffer.alloc(MIB)
    let fed = 0
    const bomb = Readable.from(
      (async function* () {
        yield tarHeader({ name: 'bomb', declares: 2 * MIB })
        for (; fed < 4096; fed++) yield zeros
      })(),
    ).pipe(createGzip({ level: 1 }))
    bomb.on('error', () => undefined)
    const gz = await assertKeepsNothing(api, account, () => send(api, 'tar.gz', bomb).catch(() => undefined))
    if (gz) assert.ok(gz.status === 400 || gz.status === 413, gz.text)
    assert.ok(fed < 2048, `${fed} MiB were taken`)
    const inflating = zip([part('a'), { ...part('bomb', Buffer.alloc(64 * MIB)), size: 1000 }])
    const lie = await assertKeepsNothing(api, account, () => send(api, 'zip', inflating))
    assert.equal(lie.json.code, 'VALIDATION_ERROR')
    const honest = zip([part('bomb', Buffer.alloc(64 * MIB))])
    assert.equal((await assertKeepsNothing(api, account, () => send(api, 'zip', honest))).status, 413)
  })

  test('loses its connection at any byte', async (context) => {
    const account = await api.account()
    const next = numbers(context)
    const contents = { 'index.html': 'home', 'a.bin': randomBytes(400_000), 'b.bin': randomBytes(50_000) }
    for (const kind of Object.keys(TYPES) as Kind[]) {
      const bytes = make(kind, contents)
      const head = [
        'POST /api/v1/publish HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${account.key}`,
        `Content-Type: ${TYPES[kind]}`,
        `Content-Length: ${bytes.length}`,
      ].join('\r\n')
      const requestBytes = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes])
      await assertKeepsNothing(api, account, async () => {
        for (let round = 0; round < 12; round++) {
          const answer = await api.cutOff(requestBytes.subarray(0, 1 + next(requestBytes.length - 1)))
          assert.doesNotMatch(answer, /^HTTP\/1\.1 2/)
        }
      })
    }
  })
})
