import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { ErrorCode } from '../../protocol/api/errors.ts'
import { paxPart, TAR_END, tarHeader, tarPart } from '../archive/tar-file.ts'
import { numbers } from '../support/random.ts'
import { type Account, Api, blobFolder, toTarget } from './api.ts'
import { sha256, toManifest } from './content.ts'
import {
  buildTar,
  buildTarParts,
  isPublished,
  lacking,
  lacksOnly,
  send,
  type Waiting,
  waitingFor,
} from './one-bundle.ts'
import { ServiceOnSmallDisk } from './small-disk.ts'

const KIB = 2 ** 10
const MIB = 2 ** 20

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

/** The disk has these bytes of a version, and no others. */
async function hasOnly({ versionId }: Waiting, contents: (string | Buffer)[]): Promise<void> {
  const names = await readdir(join(blobFolder(api), 'staged', versionId)).catch(() => [])
  assert.deepEqual(names.map((name) => name.slice(0, 64)).sort(), contents.map(sha256).sort())
}

const large = randomBytes(300 * KIB)
const SITE = { 'good.txt': 'good', 'next.txt': 'next', 'large.bin': large, 'late.txt': 'late' }
const [good, , , late] = buildTarParts(SITE) as [Buffer, Buffer, Buffer, Buffer]
const nothing = Buffer.alloc(0)

const sparse = (): Buffer => tarPart({ name: 'next.txt', type: 'S', data: nothing })
const flipped = (bytes: Buffer): Buffer =>
  Buffer.from(bytes.map((byte, at) => (at === 700 ? byte ^ 1 : byte)))

const refusals: [sentence: string, part: () => Buffer, code: ErrorCode, says: RegExp][] = [
  [
    'is too long',
    () => tarPart({ name: 'next.txt', data: Buffer.from('next!') }),
    'SIZE_MISMATCH',
    /'next\.txt' has 4 bytes in the manifest, but 5/,
  ],
  [
    'is too short',
    () => tarPart({ name: 'next.txt', data: Buffer.from('nex') }),
    'SIZE_MISMATCH',
    /next\.txt.*3/,
  ],
  ['is empty', () => tarPart({ name: 'next.txt', data: nothing }), 'SIZE_MISMATCH', /next\.txt.*0/],
  [
    'is large and says another size',
    () => tarPart({ name: 'large.bin', data: large.subarray(1) }),
    'SIZE_MISMATCH',
    /large\.bin/,
  ],
  [
    'says that it has 5 GiB',
    () => tarHeader({ name: 'next.txt', declares: 5 * 2 ** 30 }),
    'PAYLOAD_TOO_LARGE',
    /33554432/,
  ],
  [
    'has other bytes',
    () => tarPart({ name: 'next.txt', data: Buffer.from('nexT') }),
    'HASH_MISMATCH',
    /^'next\.txt': .*SHA-256/,
  ],
  [
    'is large and has one other bit',
    () => tarPart({ name: 'large.bin', data: flipped(large) }),
    'HASH_MISMATCH',
    /^'large\.bin'/,
  ],
  [
    'is not in the manifest',
    () => tarPart({ name: 'who.txt' }),
    'VALIDATION_ERROR',
    /^who\.txt: is not in the manifest/,
  ],
  ['climbs out', () => tarPart({ name: '../next.txt' }), 'VALIDATION_ERROR', /^\.\.\/next\.txt/],
  ['begins at the root', () => tarPart({ name: '/next.txt' }), 'VALIDATION_ERROR', /^\/next\.txt/],
  ['differs in case', () => tarPart({ name: 'NEXT.txt' }), 'VALIDATION_ERROR', /^NEXT\.txt/],
  ['is named like a part of objects', () => tarPart({ name: '__proto__' }), 'VALIDATION_ERROR', /__proto__/],
  ['has a name that ends the line', () => tarPart({ name: 'a\nb' }), 'VALIDATION_ERROR', /^a\?b/],
  ['comes a second time', () => good, 'VALIDATION_ERROR', /^good\.txt: is in the bundle twice/],
  [
    'is a hard link',
    () => tarPart({ name: 'next.txt', type: '1', data: nothing }),
    'VALIDATION_ERROR',
    /next.*hard link/,
  ],
  [
    'is a link',
    () => tarPart({ name: 'next.txt', type: '2', data: nothing }),
    'VALIDATION_ERROR',
    /symbolic link/,
  ],
  [
    'is a device',
    () => tarPart({ name: 'next.txt', type: '3', data: nothing }),
    'VALIDATION_ERROR',
    /device/,
  ],
  ['is a pipe', () => tarPart({ name: 'next.txt', type: '6', data: nothing }), 'VALIDATION_ERROR', /pipe/],
  ['is sparse', sparse, 'VALIDATION_ERROR', /sparse/],
  [
    'is of no known kind',
    () => tarPart({ name: 'next.txt', type: 'z' }),
    'VALIDATION_ERROR',
    /cannot be published/,
  ],
  ['is no tar', () => Buffer.alloc(1024, 'x'), 'VALIDATION_ERROR', /not a tar/],
  [
    'has a changed header',
    () => flipped(tarPart({ name: 'x', data: Buffer.alloc(300) })).fill('y', 0, 1),
    'VALIDATION_ERROR',
    /checksum/,
  ],
  [
    'has a name that is not UTF-8',
    () => tarPart({ name: Buffer.from([0x61, 0xff]) }),
    'VALIDATION_ERROR',
    /UTF-8/,
  ],
  [
    'has a path of 501 characters',
    () => Buffer.concat([paxPart({ path: 'x'.repeat(501) }), tarPart({})]),
    'VALIDATION_ERROR',
    /500/,
  ],
  [
    'has a broken extended header',
    () => tarPart({ type: 'x', data: Buffer.from('99 path') }),
    'VALIDATION_ERROR',
    /header/,
  ],
  [
    'has an extended header of 2 MiB',
    () => tarHeader({ type: 'x', declares: 2 * MIB }),
    'PAYLOAD_TOO_LARGE',
    /extended header/,
  ],
]

describe('what came whole stays, nothing is kept of the rest, and all can be sent again, when a file', () => {
  for (const [sentence, part, code, says] of refusals) {
    test(sentence, async () => {
      const waiting = await waitingFor(owner, SITE)
      const { json } = await send(api, waiting, Buffer.concat([good, part(), TAR_END]))
      assert.equal(json.code, code, json.error)
      assert.match(json.error, says)
      assert.deepEqual(await lacking(owner, waiting), ['large.bin', 'late.txt', 'next.txt'])
      await hasOnly(waiting, ['good'])
      const { 'good.txt': _, ...rest } = SITE
      assert.equal((await send(api, waiting, buildTar(rest))).status, 200)
      await isPublished(api, owner, waiting, SITE)
    })
  }
})

describe('a bundle that does not end as it should', () => {
  const ends: [sentence: string, body: () => Buffer, left: string[], says: RegExp][] = [
    ['without its end', () => Buffer.concat([good, late]), ['large.bin', 'next.txt'], /cut off/],
    [
      'in a header',
      () => Buffer.concat([good, late.subarray(0, 100)]),
      ['large.bin', 'late.txt', 'next.txt'],
      /cut off/,
    ],
    [
      'in a file',
      () => Buffer.concat([good, late.subarray(0, 514)]),
      ['large.bin', 'late.txt', 'next.txt'],
      /late\.txt: .*cut off/,
    ],
    [
      'with another tar behind it',
      () => Buffer.concat([good, TAR_END, late]),
      ['large.bin', 'late.txt', 'next.txt'],
      /follows its end/,
    ],
    ['before it begins', () => nothing, ['good.txt', 'large.bin', 'late.txt', 'next.txt'], /cut off/],
  ]
  for (const [sentence, body, left, says] of ends) {
    test(`but ${sentence} is refused, and what came whole stays`, async () => {
      const waiting = await waitingFor(owner, SITE)
      const { json } = await send(api, waiting, body())
      assert.equal(json.code, 'VALIDATION_ERROR')
      assert.match(json.error, says)
      assert.deepEqual(await lacking(owner, waiting), left)
    })
  }

  test('but with the connection keeps what came whole, wherever that is', async (context) => {
    const next = numbers(context)
    const waiting = await waitingFor(owner, SITE)
    const body = buildTar(SITE)
    const head = [
      `PUT ${toTarget(waiting.bundle.url)} HTTP/1.1`,
      'Host: localhost',
      'Content-Type: application/x-tar',
      `Content-Length: ${body.length}`,
      '\r\n',
    ].join('\r\n')
    for (let round = 0; round < 20; round++)
      await breakAfter(head, body.subarray(0, next(body.length - 3000)))
    await api.cutOff(Buffer.concat([Buffer.from(head), body.subarray(0, -TAR_END.length - late.length)]))
    await lacksOnly(owner, waiting, ['late.txt'])
    await isLeftWith(waiting, ['good', 'next', large])
    assert.equal((await send(api, waiting, Buffer.concat([late, TAR_END]))).status, 200)
    await isPublished(api, owner, waiting, SITE)
  })

  /** Sends these bytes and lets the connection break when they have gone. */
  function breakAfter(head: string, body: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ port: api.port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve())
      socket.write(head)
      socket.write(body, () => socket.resetAndDestroy())
    })
  }

  /** The same as `hasOnly`, once what was cut off has ended. */
  async function isLeftWith(waiting: Waiting, contents: (string | Buffer)[]): Promise<void> {
    const folder = join(blobFolder(api), 'staged', waiting.versionId)
    for (let round = 0; round < 1000 && (await readdir(folder)).length > contents.length; round++) {
      await setImmediate()
    }
    await hasOnly(waiting, contents)
  }
})

describe('a bundle over its limit', () => {
  test('is refused before its bytes come when it says so', async () => {
    const waiting = await waitingFor(owner, SITE)
    const tar = buildTar(SITE)
    let asked = 0
    const slow = Readable.from(
      (async function* () {
        for (; asked < 600; asked++) yield Buffer.alloc(64 * KIB)
      })(),
      { objectMode: false },
    )
    const answer = await send(api, waiting, slow, { 'content-length': `${32 * MIB + 1}` }).catch(
      () => undefined,
    )
    if (answer) assert.deepEqual([answer.status, answer.json.code], [413, 'PAYLOAD_TOO_LARGE'])
    slow.destroy()
    assert.equal((await lacking(owner, waiting)).length, 4)
    assert.equal((await send(api, waiting, tar)).status, 200)
  })

  test('is cut off there when it does not, and what came whole stays', async () => {
    const waiting = await waitingFor(owner, SITE)
    const folder = tarPart({ name: 'folder/', type: '5', data: nothing })
    const folders = Buffer.concat(Array.from({ length: 128 }, () => folder))
    let sent = 0
    const endless = Readable.from(
      (async function* () {
        yield good
        for (; sent < 128 * MIB; sent += folders.length) yield folders
      })(),
      { objectMode: false },
    )
    // Who sends so much may miss the answer: the connection ends soon after it.
    const answer = await send(api, waiting, endless).catch(() => undefined)
    if (answer) assert.equal(answer.json.code, 'PAYLOAD_TOO_LARGE')
    endless.destroy()
    assert.ok(sent < 48 * MIB, `${sent} bytes were taken in`)
    await lacksOnly(owner, waiting, ['large.bin', 'late.txt', 'next.txt'])
  })

  test('takes no file that is larger than it may be as a whole', async () => {
    const file = { path: 'huge.bin', size: 40 * MIB, contentType: 'application/octet-stream' }
    const waiting = await waitingFor(owner, SITE, [...toManifest(SITE), file])
    const body = Buffer.concat([good, tarHeader({ name: 'huge.bin', declares: 40 * MIB })])
    const { json } = await send(api, waiting, body)
    assert.equal(json.code, 'PAYLOAD_TOO_LARGE')
    assert.deepEqual(await lacking(owner, waiting), ['huge.bin', 'large.bin', 'late.txt', 'next.txt'])
  })
})

describe('a service in trouble', () => {
  test('says UNAVAILABLE to a bundle that is one too many, however many files it has', async () => {
    await using narrow = await Api.start({ UPLOADS_AT_ONCE: '1' })
    const somebody = await narrow.account()
    const waiting = await waitingFor(somebody, SITE)
    const held = Promise.withResolvers<void>()
    const body = buildTar(SITE)
    const slow = Readable.from(
      (async function* () {
        yield body.subarray(0, 600)
        await held.promise
        yield body.subarray(600)
      })(),
      { objectMode: false },
    )
    const first = send(narrow, waiting, slow)
    let second = await send(narrow, waiting, Buffer.concat([late, TAR_END]))
    for (; second.status === 200; second = await send(narrow, waiting, Buffer.concat([late, TAR_END]))) {
      await setImmediate()
    }
    assert.deepEqual([second.status, second.json.code], [503, 'UNAVAILABLE'])
    held.resolve()
    assert.equal((await first).status, 200)
    await isPublished(narrow, somebody, waiting, SITE)
  })

  test('says INSUFFICIENT_STORAGE when its disk is full, keeps what came whole, and goes on', async () => {
    await using small = await ServiceOnSmallDisk.start(8 * MIB)
    const contents = { 'a.txt': 'small', 'large.bin': Buffer.alloc(10 * MIB, 'x'), 'z.txt': 'late' }
    const { slug, upload } = await small.client.create({ files: toManifest(contents) })
    const target = { ...upload.bundle!, path: '' }
    const answer = await small.put(target, buildTar(contents))
    assert.deepEqual([answer.status, answer.json.code], [507, 'INSUFFICIENT_STORAGE'])
    assert.equal((await small.staged()).length, 1)
    assert.equal((await small.put(target, buildTar({ 'z.txt': 'late' }))).status, 200)
    const finalized = small.client.finalize(slug, upload)
    await assert.rejects(finalized, {
      code: 'UPLOADS_MISSING',
      details: { missing: ['large.bin'], count: 1 },
    })
  })
})
