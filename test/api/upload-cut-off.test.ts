import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { numbers } from '../support/random.ts'
import { type Account, Api, expectFailure, toTarget } from './api.ts'
import { toEntry } from './content.ts'
import { assertNothingKept, createPendingUpload, type PendingUpload, send } from './upload-fixture.ts'

const KIB = 2 ** 10

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

describe('an interrupted upload', () => {
  /** The bytes of the request. */
  function requestBytes({ target }: PendingUpload, bytes: Buffer, chunked: boolean): Buffer {
    const head = [
      `PUT ${toTarget(target.url)} HTTP/1.1`,
      'Host: localhost',
      `Content-Type: ${target.headers['Content-Type']}`,
      chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes.length}`,
    ].join('\r\n')
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`)
    const body = chunked ? Buffer.concat([size, bytes, Buffer.from('\r\n0\r\n\r\n')]) : bytes
    return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body])
  }

  /** Sends these bytes and breaks the connection. */
  function breakAfter(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ port: api.port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve())
      socket.write(bytes, () => socket.resetAndDestroy())
    })
  }

  for (const chunked of [false, true]) {
    test(`leaves nothing stored, interrupted at any byte${chunked ? ' of its chunks' : ''}`, async () => {
      const bytes = Buffer.from('every byte of this counts')
      const upload = await createPendingUpload(owner, toEntry('a.txt', bytes))
      const sent = requestBytes(upload, bytes, chunked)
      for (let at = 1; at < sent.length; at++) {
        const answer = await api.cutOff(sent.subarray(0, at))
        assert.doesNotMatch(answer, /^HTTP\/1\.1 2/, `cut off after ${at} of ${sent.length} bytes`)
      }
      await assertNothingKept(api, owner, upload)
      assert.equal((await send(api, upload.target, bytes)).status, 200)
    })
  }

  test('leaves nothing stored after a broken connection, however large it is', async (context) => {
    const bytes = randomBytes(600 * KIB)
    const upload = await createPendingUpload(owner, toEntry('a.bin', bytes))
    const sent = requestBytes(upload, bytes, false)
    const next = numbers(context)
    for (let round = 0; round < 40; round++) await breakAfter(sent.subarray(0, 1 + next(sent.length - 1)))
    await assertNothingKept(api, owner, upload)
    assert.equal((await send(api, upload.target, bytes)).status, 200)
    await owner.client.finalize(upload.slug, { versionId: upload.versionId })
    assert.deepEqual((await api.visit(upload.siteUrl, '/a.bin')).body, bytes)
  })

  test('does not affect concurrent ones', async () => {
    const [first, second] = [randomBytes(400 * KIB), randomBytes(400 * KIB)]
    const { slug, siteUrl, upload } = await owner.client.create({
      files: [toEntry('1', first), toEntry('2', second)],
    })
    const [one, other] = upload.uploads
    const cut = { slug, siteUrl, versionId: upload.versionId, target: one! }
    const sent = requestBytes(cut, first, false)
    await Promise.all([breakAfter(sent.subarray(0, 300 * KIB)), send(api, other!, second)])
    const error = await expectFailure(owner.client.finalize(slug, upload), 'UPLOADS_MISSING')
    assert.deepEqual(error.details, { missing: ['1'], count: 1 })
  })
})
