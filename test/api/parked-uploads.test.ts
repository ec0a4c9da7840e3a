import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { tarPart } from '../archive/tar-file.ts'
import { noise } from '../edge/fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Account, Api, blobFolder, expectFailure } from './api.ts'
import { toEntry } from './content.ts'
import { createPendingUpload, type PendingUpload, send } from './upload-fixture.ts'

// Limits what one address can store on the disk: each file once, and twice while it is uploaded again.

let api: Api
let owner: Account
before(async () => {
  api = await Api.start()
  owner = await api.account()
})
after(() => api[Symbol.asyncDispose]())

const SIZE = 600_000
const BYTES = noise(SIZE)
const HALF = BYTES.subarray(0, SIZE / 2)

/** A body that stops halfway until `release` is called. */
function stopping(first: Buffer, rest: Buffer) {
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>()
  async function* pieces() {
    yield first
    await held
    yield rest
  }
  return { body: Readable.from(pieces(), { objectMode: false }), goOn }
}

function staged({ versionId }: PendingUpload): string[] {
  try {
    return readdirSync(join(blobFolder(api), 'staged', versionId))
  } catch {
    return []
  }
}

describe('a newer upload of a file replaces one in progress', () => {
  test('even among many, of which the last one succeeds', async () => {
    const upload = await createPendingUpload(owner, toEntry('a.bin', BYTES))
    const bodies = Array.from({ length: 12 }, () => stopping(HALF, BYTES.subarray(SIZE / 2)))
    const answers = []
    for (const { body } of bodies) {
      const before = new Set(staged(upload))
      answers.push(send(api, upload.target, body))
      await waitFor(() => staged(upload).some((name) => !before.has(name)))
    }
    for (const answer of answers.slice(0, -1)) {
      const { status, json } = await answer
      assert.deepEqual([status, json.code], [410, 'UPLOAD_EXPIRED'])
      assert.match(json.error, /newer upload/)
    }
    for (const { goOn } of bodies) goOn()
    assert.equal((await answers.at(-1)!).status, 200)
    await waitFor(() => staged(upload).length === 1)
    await owner.client.finalize(upload.slug, { versionId: upload.versionId })
    assert.ok((await api.visit(upload.siteUrl, '/a.bin')).body.equals(BYTES))
  })

  test('and replaced ones leave no file when their connections end', async () => {
    const upload = await createPendingUpload(owner, toEntry('a.bin', BYTES))
    const { pathname, search } = new URL(upload.target.url)
    const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${upload.target.headers['Content-Type']}\r\nContent-Length: ${SIZE}\r\n\r\n`
    const sockets = Array.from({ length: 12 }, () => connect(api.port, '127.0.0.1'))
    let answered = 0
    for (const socket of sockets) socket.once('data', () => answered++)
    for (const socket of sockets) socket.write(`${head}beginning`)
    await waitFor(() => answered === sockets.length - 1)
    for (const socket of sockets) socket.destroy()
    await waitFor(() => staged(upload).length === 0)
  })

  test('and keeps an earlier complete copy until the new one is complete', async () => {
    const upload = await createPendingUpload(owner, toEntry('a.bin', BYTES))
    assert.equal((await send(api, upload.target, BYTES)).status, 200)
    const [first, second] = [stopping(HALF, HALF), stopping(HALF, BYTES)]
    const older = send(api, upload.target, first.body)
    await waitFor(() => staged(upload).length === 2)
    const newer = send(api, upload.target, second.body)
    assert.equal((await older).status, 410)
    for (const { goOn } of [first, second]) goOn()
    assert.equal((await newer).json.code, 'SIZE_MISMATCH')
    await waitFor(() => staged(upload).length === 1)
    await owner.client.finalize(upload.slug, { versionId: upload.versionId })
  })

  test('also in a bundle, by another bundle or a single upload', async () => {
    const { slug, siteUrl, upload } = await owner.client.create({ files: [toEntry('a.bin', BYTES)] })
    const [target] = upload.uploads
    const version = { slug, siteUrl, versionId: upload.versionId, target: target! }
    const part = tarPart({ name: 'a.bin', data: BYTES })
    const bundle = { ...upload.bundle!, path: '' }
    const bodies = [1, 2].map(() => stopping(part.subarray(0, SIZE / 2), part.subarray(SIZE / 2)))
    const answers = []
    for (const { body } of bodies) {
      const before = new Set(staged(version))
      answers.push(send(api, bundle, body))
      await waitFor(() => staged(version).some((name) => !before.has(name)))
    }
    assert.deepEqual([(await answers[0])!.status, (await answers[0])!.json.code], [410, 'UPLOAD_EXPIRED'])
    assert.equal((await send(api, target!, BYTES)).status, 200)
    assert.equal((await answers[1])!.status, 410)
    for (const { goOn } of bodies) goOn()
    await waitFor(() => staged(version).length === 1)
  })
})

test('uploads to a finalized version are refused before their body', async () => {
  const upload = await createPendingUpload(owner, toEntry('a.bin', BYTES))
  await send(api, upload.target, BYTES)
  await owner.client.finalize(upload.slug, { versionId: upload.versionId })
  const { body, goOn } = stopping(BYTES.subarray(0, 1), BYTES.subarray(1))
  const late = await send(api, upload.target, body, { 'content-length': `${SIZE}` })
  assert.deepEqual([late.status, late.json.code], [410, 'UPLOAD_EXPIRED'])
  goOn()
})

test('an upload in progress is refused when its version is deleted', async () => {
  const upload = await createPendingUpload(owner, toEntry('a.bin', BYTES))
  const { body, goOn } = stopping(HALF, BYTES.subarray(SIZE / 2))
  const late = send(api, upload.target, body)
  await waitFor(() => staged(upload).length === 1)
  await owner.client.deleteVersion(upload.slug, upload.versionId)
  goOn()
  assert.deepEqual([(await late).status, (await late).json.code], [410, 'UPLOAD_EXPIRED'])
  await expectFailure(owner.client.finalize(upload.slug, { versionId: upload.versionId }), 'NOT_FOUND')
  assert.deepEqual(staged(upload), [])
})
