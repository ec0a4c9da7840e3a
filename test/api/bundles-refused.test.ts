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
import {
  assertPublished,
  buildTar,
  buildTarParts,
  createPending,
  missingPaths,
  type PendingVersion,
  send,
  waitForMissing,
} from './bundle-fixture.ts'
import { sha256, toManifest } from './content.ts'
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

/** Asserts that exactly these contents of a version are staged on the disk. */
async function hasOnly({ versionId }: PendingVersion, contents: (string | Buffer)[]): Promise<void> {
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

const refusals: [sentence: string, part: () => Buffer, code: ErrorCode, message: RegExp][] = [
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
    'is large and declares another size',
    () => tarPart({ name: 'large.bin', data: large.subarray(1) }),
    'SIZE_MISMATCH',
    /large\.bin/,
  ],
  [
    'declares 5 GiB',
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

describe('complete files of a bundle are kept, the rest is discarded and can be sent again, when a file', () => {
  for (const [sentence, part, code, message] of refusals) {
    test(sentence, async () => {
      const pending = await createPending(owner, SITE)
      const { json } = await send(api, pending, Buffer.concat([good, part(), TAR_END]))
      assert.equal(json.code, code, json.error)
      assert.match(json.error, message)
      assert.deepEqual(await missingPaths(owner, pending), ['large.bin', 'late.txt', 'next.txt'])
      await hasOnly(pending, ['good'])
      const { 'good.txt': _, ...rest } = SITE
      assert.equal((await send(api, pending, buildTar(rest))).status, 200)
      await assertPublished(api, owner, pending, SITE)
    })
  }
})

describe('a bundle that ends', () => {
  const ends: [sentence: string, body: () => Buffer, left: string[], message: RegExp][] = [
    ['without an end record', () => Buffer.concat([good, late]), ['large.bin', 'next.txt'], /cut off/],
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
      'before another tar that follows it',
      () => Buffer.concat([good, TAR_END, late]),
      ['large.bin', 'late.txt', 'next.txt'],
      /follows its end/,
    ],
    ['before its first byte', () => nothing, ['good.txt', 'large.bin', 'late.txt', 'next.txt'], /cut off/],
  ]
  for (const [sentence, body, left, message] of ends) {
    test(`${sentence} is refused, and its complete files are kept`, async () => {
      const pending = await createPending(owner, SITE)
      const { json } = await send(api, pending, body())
      assert.equal(json.code, 'VALIDATION_ERROR')
      assert.match(json.error, message)
      assert.deepEqual(await missingPaths(owner, pending), left)
    })
  }

  test('with its connection keeps its complete files, whatever the last byte', async (context) => {
    const next = numbers(context)
    const pending = await createPending(owner, SITE)
    const body = buildTar(SITE)
    const head = [
      `PUT ${toTarget(pending.bundle.url)} HTTP/1.1`,
      'Host: localhost',
      'Content-Type: application/x-tar',
      `Content-Length: ${body.length}`,
      '\r\n',
    ].join('\r\n')
    for (let round = 0; round < 20; round++)
      await breakAfter(head, body.subarray(0, next(body.length - 3000)))
    await api.cutOff(Buffer.concat([Buffer.from(head), body.subarray(0, -TAR_END.length - late.length)]))
    await waitForMissing(owner, pending, ['late.txt'])
    await isLeftWith(pending, ['good', 'next', large])
    assert.equal((await send(api, pending, Buffer.concat([late, TAR_END]))).status, 200)
    await assertPublished(api, owner, pending, SITE)
  })

  /** Sends these bytes and breaks the connection when they are written. */
  function breakAfter(head: string, body: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ port: api.port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve())
      socket.write(head)
      socket.write(body, () => socket.resetAndDestroy())
    })
  }

  /** Like `hasOnly`, but waits until the interrupted request has ended. */
  async function isLeftWith(pending: PendingVersion, contents: (string | Buffer)[]): Promise<void> {
    const folder = join(blobFolder(api), 'staged', pending.versionId)
    for (let round = 0; round < 1000 && (await readdir(folder)).length > contents.length; round++) {
      await setImmediate()
    }
    await hasOnly(pending, contents)
  }
})

describe('a bundle over its limit', () => {
  test('is refused before its body when Content-Length exceeds it', async () => {
    const pending = await createPending(owner, SITE)
    const tar = buildTar(SITE)
    let chunks = 0
    const slow = Readable.from(
      (async function* () {
        for (; chunks < 600; chunks++) yield Buffer.alloc(64 * KIB)
      })(),
      { objectMode: false },
    )
    const answer = await send(api, pending, slow, { 'content-length': `${32 * MIB + 1}` }).catch(
      () => undefined,
    )
    if (answer) assert.deepEqual([answer.status, answer.json.code], [413, 'PAYLOAD_TOO_LARGE'])
    slow.destroy()
    assert.equal((await missingPaths(owner, pending)).length, 4)
    assert.equal((await send(api, pending, tar)).status, 200)
  })

  test('is cut off at the limit without Content-Length, and its complete files are kept', async () => {
    const pending = await createPending(owner, SITE)
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
    // A client that still sends may miss the response, because the connection ends soon after it.
    const answer = await send(api, pending, endless).catch(() => undefined)
    if (answer) assert.equal(answer.json.code, 'PAYLOAD_TOO_LARGE')
    endless.destroy()
    assert.ok(sent < 48 * MIB, `${sent} bytes were taken in`)
    await waitForMissing(owner, pending, ['large.bin', 'late.txt', 'next.txt'])
  })

  test('refuses a file that is larger than a bundle', async () => {
    const file = { path: 'huge.bin', size: 40 * MIB, contentType: 'application/octet-stream' }
    const pending = await createPending(owner, SITE, [...toManifest(SITE), file])
    const body = Buffer.concat([good, tarHeader({ name: 'huge.bin', declares: 40 * MIB })])
    const { json } = await send(api, pending, body)
    assert.equal(json.code, 'PAYLOAD_TOO_LARGE')
    assert.deepEqual(await missingPaths(owner, pending), ['huge.bin', 'large.bin', 'late.txt', 'next.txt'])
  })
})

describe('an overloaded service', () => {
  test('answers UNAVAILABLE to a bundle over the limit of concurrent uploads, however many files it has', async () => {
    await using narrow = await Api.start({ UPLOADS_AT_ONCE: '1' })
    const account = await narrow.account()
    const pending = await createPending(account, SITE)
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
    const first = send(narrow, pending, slow)
    let second = await send(narrow, pending, Buffer.concat([late, TAR_END]))
    for (; second.status === 200; second = await send(narrow, pending, Buffer.concat([late, TAR_END]))) {
      await setImmediate()
    }
    assert.deepEqual([second.status, second.json.code], [503, 'UNAVAILABLE'])
    held.resolve()
    assert.equal((await first).status, 200)
    await assertPublished(narrow, account, pending, SITE)
  })

  test('answers INSUFFICIENT_STORAGE when its disk is full, keeps complete files, and stays available', async () => {
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
